//! Reads one live stream to its end. It ends a watch in order: first the profiler leaves, then the session ends.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use dotnet_diagnostics_client::nettrace::raw::RawReader;
use dotnet_diagnostics_client::{Client, EventSession};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout};

use super::control::{Control, Ended, OnSignal, Order};
use super::estimate::Beginning;
use super::graph::during::DuringWatch;
use super::life::Life;
use super::processor::{ObserverError, Progress, StreamProcessor};
use super::profiler::LeaseName;
use super::request::Limits;
use super::sampler::{SampleOutcome, Sampler, SamplerEvent, StreamState};
use crate::exit::{Code, Failure};
use crate::gc::facts::{Gap, TakenGraph};
use crate::sys::Lease;

/// Events are held for their order until their flush has ended. Mostly the stream shows where it ends. If it does not:
/// the next flush comes after 100 ms if anything happens, so after this much silence the flush is complete.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// A runtime writes a flush in a dozen pieces, most of a few bytes, and each piece wakes its reader. So when a flush
/// has only begun, this thread sleeps until it is written, and then reads the rest in one piece. It does not wait in
/// the loop, because there each piece would wake it, too.
const FLUSH_WRITE_TIME: Duration = Duration::from_micros(500);
/// After more bytes than this the thread does not sleep: the socket's buffer holds only a few hundred KiB.
const MAX_FLUSH_HEAD_BYTES: usize = 16 * 1024;
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait for the profiler's goodbye. The profiler leaves in any case.
const GOODBYE_TIMEOUT: Duration = Duration::from_millis(1500);
/// How long to wait for the end of a graph when the process has ended.
const LAST_GRAPH_TIMEOUT: Duration = Duration::from_secs(2);
const BUFFER_BYTES: usize = 256 * 1024;

/// An open session, and what belongs to it.
pub(crate) struct Connection<'a> {
    pub(crate) stream: EventSession,
    /// The client that can stop the session.
    pub(crate) control: &'a Client,
    pub(crate) lease: Option<Lease>,
    /// Set until the graph of `--graph-at` is there.
    pub(crate) lease_name: Option<LeaseName>,
    /// Set if the profiler is loaded in windows.
    pub(crate) sampler: Option<Sampler<'a>>,
    /// What was already read of the stream.
    pub(crate) beginning: Beginning,
    /// The target's process id, to see whether it runs. `None`: not known for certain.
    pub(crate) pid: Option<u32>,
}

type StopAnswer<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// The phases of a watch.
enum Phase<'a> {
    /// The loop reads the stream until something ends the watch.
    Watching,
    /// The profiler was told to leave. Its goodbye comes in the stream.
    ProfilerLeaves { until: Instant },
    /// The runtime was asked to end the session, and sends the rest of the stream. `None`: it has answered.
    SessionEnds(Option<StopAnswer<'a>>),
}

/// What the loop waits for.
enum Event {
    Order(Order),
    HeartbeatDue,
    TickDue,
    StopAnswered,
    Sampler(SamplerEvent),
    /// The graph of `--graph-at` is written, or cannot be any more.
    Graph(Result<TakenGraph, Failure>),
    /// This many bytes were read.
    Read(usize),
    /// The connection has ended.
    Disconnected,
    /// A deadline has come.
    Deadline,
}

/// The loop of one live watch.
pub(crate) struct Pump<'a> {
    connection: Connection<'a>,
    limits: Limits,
    phase: Phase<'a>,
    /// `--graph-at`.
    graph: Option<DuringWatch>,
    /// Why the watch must end, until it begins to end.
    stop: Option<Ended>,
    /// Why the watch is ending, once it is.
    why: Option<Ended>,
    signalled: bool,
    life: Life,
    started: Instant,
    last_read: Instant,
    last_tick: Instant,
    heartbeat: Interval,
}

impl<'a> Pump<'a> {
    /// `stop`: an order to end that has already come.
    pub(crate) fn new(
        connection: Connection<'a>,
        limits: Limits,
        graph: Option<DuringWatch>,
        stop: Option<Ended>,
    ) -> Pump<'a> {
        let now = Instant::now();
        let mut heartbeat = interval(HEARTBEAT_INTERVAL);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Pump {
            phase: Phase::Watching,
            graph,
            stop,
            why: None,
            signalled: false,
            life: Life::new(connection.pid, now),
            started: connection.beginning.since,
            last_read: now,
            last_tick: now,
            heartbeat,
            connection,
            limits,
        }
    }

    /// Runs until the stream has ended.
    pub(crate) async fn run(
        mut self,
        processor: &mut StreamProcessor<'_>,
        control: &mut impl Control,
    ) -> Ended {
        let mut buffer = vec![0; BUFFER_BYTES];
        let read_before = std::mem::take(&mut self.connection.beginning.bytes);
        if let Some(ended) = self.ended_by(processor.bytes(&read_before)) {
            return ended;
        }
        drop(read_before);
        let ended = self.watch(processor, control, &mut buffer).await;
        // A process that has ended may have sent its whole graph.
        if let Some(graph) = self.graph.as_mut().filter(|graph| graph.is_coming())
            && let Ok(done) = timeout(LAST_GRAPH_TIMEOUT, graph.done()).await
            && let Err(e) = processor.graph_done(done)
        {
            return Ended::Observer(e);
        }
        ended
    }

    async fn watch(
        &mut self,
        processor: &mut StreamProcessor<'_>,
        control: &mut impl Control,
        buffer: &mut [u8],
    ) -> Ended {
        loop {
            self.ask_for_graph(processor).await;
            self.sample(processor).await;
            let event = self.next_event(processor, control, buffer).await;
            if let Some(ended) = self.handle(event, buffer, processor, control).await {
                return ended;
            }
            if let Some(ended) = self.given_up(processor) {
                return ended;
            }
            self.check_limits(processor);
            self.advance(processor).await;
        }
    }

    /// Asks for the graph of `--graph-at` when a collection has met a condition and the profiler is there.
    async fn ask_for_graph(&mut self, processor: &mut StreamProcessor<'_>) {
        let Some(graph) = self.graph.as_mut().filter(|graph| !graph.is_over()) else {
            self.connection.lease_name = None;
            return;
        };
        let (sampler, lease) = (&mut self.connection.sampler, &mut self.connection.lease);
        if processor.graph_is_impossible() {
            graph.give_up();
        }
        let mut said = Ok(());
        if processor.observer.wants_graph().is_some() && graph.met() {
            said = processor.graph_is_due();
        }
        if graph.is_wanted()
            && matches!(self.phase, Phase::Watching)
            && let Some(lease) = lease.as_mut().or_else(|| sampler.as_mut()?.open_lease())
            && let Err(failure) = graph.ask(lease, &processor.aggregator.facts.target).await
        {
            said = said.and(processor.graph_done(Err(failure)));
        }
        if let Some(sampler) = sampler {
            sampler.hold(graph.needs_profiler());
        }
        self.stop_on_error(said);
    }

    /// Opens and closes the sampling windows that are due.
    async fn sample(&mut self, processor: &mut StreamProcessor<'_>) {
        let Some(sampler) = &mut self.connection.sampler else { return };
        let counts = processor.aggregator.counts;
        if processor.aggregator.stepped_back() {
            sampler.step_back(counts.gen2).await;
        }
        let background = processor.aggregator.background_runs();
        let state = StreamState { roots: counts.with_roots, full: counts.gen2, background };
        let outcome = sampler.act(state).await;
        self.apply_outcome(processor, outcome);
    }

    fn apply_outcome(&mut self, processor: &mut StreamProcessor<'_>, outcome: SampleOutcome) {
        match outcome {
            SampleOutcome::Nothing => {}
            SampleOutcome::Busy => processor.aggregator.window_skipped(true),
            SampleOutcome::NoGraph(reason) => {
                self.graph.iter_mut().for_each(DuringWatch::give_up);
                let refused = Failure::new(Code::UNSUPPORTED, reason);
                let said = processor.graph_done(Err(refused));
                self.stop_on_error(said);
            }
            SampleOutcome::Refused(warning) => {
                processor.aggregator.window_skipped(false);
                let warned = processor.observer.warn(&warning);
                self.stop_on_error(warned);
            }
        }
    }

    /// An observer that fails ends the watch.
    fn stop_on_error(&mut self, result: Result<(), ObserverError>) {
        if let Err(e) = result {
            self.stop = Some(Ended::Observer(e));
        }
    }

    async fn next_event(
        &mut self,
        processor: &StreamProcessor<'_>,
        control: &mut impl Control,
        buffer: &mut [u8],
    ) -> Event {
        let now = Instant::now();
        let tick_at = processor.observer.tick_every().map(|every| self.last_tick + every);
        let deadlines = [
            self.duration_ends_at().filter(|_| self.why.is_none() && !self.graph_is_coming()),
            self.goodbye_due_at(),
            self.life.wake(now),
            self.flush_due_at(processor),
            self.connection.sampler.as_ref().and_then(Sampler::wake),
        ];
        let deadline = deadlines.into_iter().flatten().min();
        let Connection { stream, sampler, .. } = &mut self.connection;
        // Timers come before the socket: a flood of events must not delay the heartbeat of the lease. The deadline for
        // held events comes last, when the socket has nothing more.
        tokio::select! {
            biased;
            order = control.order() => Event::Order(order),
            _ = self.heartbeat.tick() => Event::HeartbeatDue,
            () = at(tick_at) => Event::TickDue,
            () = stop_answer(&mut self.phase) => Event::StopAnswered,
            event = sampler_event(sampler) => Event::Sampler(event),
            read = stream.read(buffer) => match read {
                Ok(n @ 1..) => Event::Read(n),
                // A runtime that was killed resets the connection.
                Ok(0) | Err(_) => Event::Disconnected,
            },
            // After the stream, which the runtime keeps for a limited time only.
            done = graph_done(&mut self.graph) => Event::Graph(done),
            () = at(deadline) => Event::Deadline,
        }
    }

    /// Handles an event. Returns how the watch ended, if it did.
    async fn handle(
        &mut self,
        event: Event,
        buffer: &[u8],
        processor: &mut StreamProcessor<'_>,
        control: &mut impl Control,
    ) -> Option<Ended> {
        match event {
            Event::Order(order) => return self.obey(order, processor, control),
            Event::HeartbeatDue => self.send_heartbeat(),
            Event::TickDue => {
                self.last_tick = Instant::now();
                let ticked = processor.tick(nanoseconds(self.started.elapsed()));
                self.stop_on_error(ticked);
            }
            Event::StopAnswered => self.phase = Phase::SessionEnds(None),
            Event::Sampler(event) => {
                if let Some(sampler) = &mut self.connection.sampler {
                    let outcome = sampler.happened(event, processor.aggregator.counts.with_roots).await;
                    self.apply_outcome(processor, outcome);
                }
            }
            Event::Graph(done) => {
                if let (Some(sampler), Some(graph)) = (&mut self.connection.sampler, &self.graph) {
                    sampler.hold(graph.needs_profiler());
                }
                let said = processor.graph_done(done);
                self.stop_on_error(said);
            }
            Event::Read(n) => return self.read(&buffer[..n], processor),
            Event::Disconnected => return Some(self.ended(false)),
            Event::Deadline => {
                if self.flush_due_at(processor).is_some_and(|at| Instant::now() >= at) {
                    let released = processor.release_held();
                    self.stop_on_error(released);
                }
            }
        }
        None
    }

    fn obey(
        &mut self,
        order: Order,
        processor: &mut StreamProcessor<'_>,
        control: &mut impl Control,
    ) -> Option<Ended> {
        let at_once = match order {
            Order::End(again @ Ended::Again(_)) => again,
            Order::Signal(signal) if self.signalled => Ended::Again(signal),
            Order::End(why) => {
                self.stop = Some(why);
                return None;
            }
            Order::Signal(signal) => {
                self.signalled = true;
                if control.on_signal(signal) == OnSignal::Stop {
                    self.stop = Some(Ended::Signal(signal));
                }
                return None;
            }
        };
        // If the target was already asked to end its session and has not answered, the report says so.
        if let Some(last) = self.life.unanswered_since() {
            processor.aggregator.has_gap(Gap::Silent { since_ns: self.since_start_ns(last) });
        }
        Some(at_once)
    }

    /// Sends heartbeats, and never waits: a stopped target reads nothing.
    fn send_heartbeat(&mut self) {
        let mut all_read = self.connection.lease.as_ref().and_then(Lease::all_read);
        if let Some(lease) = &self.connection.lease {
            lease.beat();
        }
        if let Some(sampler) = &mut self.connection.sampler {
            all_read = sampler.beat();
        }
        self.life.look(all_read, Instant::now());
    }

    fn read(&mut self, bytes: &[u8], processor: &mut StreamProcessor<'_>) -> Option<Ended> {
        let mut progress = processor.bytes(bytes);
        let reader = &processor.decoder.reader;
        if matches!(progress, Ok(Progress::Continues)) && reader.held_events() > 0 && reader.flush_ended() {
            progress = processor.release_held().map(|()| Progress::Continues);
        }
        let reader = &processor.decoder.reader;
        if bytes.len() < MAX_FLUSH_HEAD_BYTES && (reader.within_object() || !reader.flush_ended()) {
            std::thread::sleep(FLUSH_WRITE_TIME);
        }
        self.last_read = Instant::now();
        self.life.sent(self.last_read);
        self.ended_by(progress)
    }

    fn ended_by(&mut self, progress: Result<Progress, ObserverError>) -> Option<Ended> {
        match progress {
            Ok(Progress::Continues) => return None,
            Ok(Progress::Ended) => return Some(self.ended(true)),
            Ok(Progress::Broken) => return Some(self.ended(false)),
            Err(e) => self.stop = Some(Ended::Observer(e)),
        }
        None
    }

    /// The stream has ended. Returns what ended the watch: the target, unless there was another reason before.
    fn ended(&mut self, whole: bool) -> Ended {
        self.why.take().unwrap_or(Ended::Target { whole })
    }

    /// Leaves a target that was asked to end its session and does not. This is checked after every event, because a
    /// target that sends without a break would keep a timer from its turn.
    fn given_up(&mut self, processor: &mut StreamProcessor<'_>) -> Option<Ended> {
        let now = Instant::now();
        if !self.life.is_silent(processor.aggregator.collects(), now) {
            return None;
        }
        // The runtime ends the session by itself when nobody reads it.
        let gap = match self.life.sends(now) {
            true => Gap::Left,
            false => Gap::Silent { since_ns: self.since_start_ns(self.life.last()) },
        };
        processor.aggregator.has_gap(gap);
        Some(self.ended(false))
    }

    fn check_limits(&mut self, processor: &StreamProcessor<'_>) {
        // A graph for which the program has paid already is waited for.
        if self.graph_is_coming() {
            return;
        }
        if self.stop.is_none() && self.duration_ends_at().is_some_and(|at| Instant::now() >= at) {
            self.stop = Some(Ended::Duration);
        }
        if self.stop.is_none() && self.limits.gcs.is_some_and(|n| processor.aggregator.counts.at_level >= n) {
            self.stop = Some(Ended::Gcs);
        }
        if self.stop.is_none() && processor.observer.ends_watch() {
            self.stop = Some(Ended::Condition);
        }
    }

    /// Begins the next phase when it is time.
    async fn advance(&mut self, processor: &StreamProcessor<'_>) {
        // The first reason to end stays.
        if let (Phase::Watching, Some(why)) = (&self.phase, self.stop.take()) {
            self.why = Some(why);
            self.life.ask(Instant::now());
            // The profiler ends the copy of the process when it leaves.
            self.graph.iter_mut().for_each(DuringWatch::give_up);
            let had_lease = self.connection.lease.take().is_some();
            let sampler = self.connection.sampler.as_mut();
            if had_lease || sampler.is_some() {
                if let Some(sampler) = sampler {
                    sampler.end().await;
                }
                self.phase = Phase::ProfilerLeaves { until: Instant::now() + GOODBYE_TIMEOUT };
            } else {
                self.stop_session();
            }
        }
        if let Phase::ProfilerLeaves { until } = self.phase {
            let sampler = self.connection.sampler.as_ref();
            let left = sampler.map_or_else(|| processor.aggregator.stream_info().left(), Sampler::is_closed);
            if left || Instant::now() >= until {
                self.stop_session();
            }
        }
    }

    /// Asks the runtime to end the session. An error is only logged: the target may have gone.
    fn stop_session(&mut self) {
        let (control, id) = (self.connection.control, self.connection.stream.id());
        self.phase = Phase::SessionEnds(Some(Box::pin(async move {
            if let Err(e) = control.stop_tracing(id).await {
                tracing::debug!("cannot stop the session: {e}");
            }
        })));
    }

    fn graph_is_coming(&self) -> bool {
        self.graph.as_ref().is_some_and(DuringWatch::is_coming)
    }

    fn duration_ends_at(&self) -> Option<Instant> {
        self.limits.duration.map(|duration| self.started + duration)
    }

    fn goodbye_due_at(&self) -> Option<Instant> {
        match self.phase {
            Phase::ProfilerLeaves { until } => Some(until),
            Phase::Watching | Phase::SessionEnds(_) => None,
        }
    }

    fn flush_due_at(&self, processor: &StreamProcessor<'_>) -> Option<Instant> {
        (processor.decoder.reader.held_events() > 0).then(|| self.last_read + FLUSH_TIMEOUT)
    }

    fn since_start_ns(&self, then: Instant) -> u64 {
        nanoseconds(then.saturating_duration_since(self.started))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits until this time. `None`: for ever.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

async fn stop_answer(phase: &mut Phase<'_>) {
    match phase {
        Phase::SessionEnds(Some(answer)) => answer.await,
        _ => std::future::pending().await,
    }
}

async fn graph_done(graph: &mut Option<DuringWatch>) -> Result<TakenGraph, Failure> {
    match graph {
        Some(graph) => graph.done().await,
        None => std::future::pending().await,
    }
}

async fn sampler_event(sampler: &mut Option<Sampler<'_>>) -> SamplerEvent {
    match sampler {
        Some(sampler) => sampler.happens().await,
        None => std::future::pending().await,
    }
}
