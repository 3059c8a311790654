//! Opens and closes sampling windows: the profiler is loaded for a window and detached after it. The session stays open
//! all the time, so that no collection is missed or counted twice.
//!
//! During a background collection the runtime would delay an attach until its end, and walk the whole heap at each
//! collection meanwhile. So gcwatch does not attach while the stream shows a background collection.
//!
//! The stream says which windows were taken, so a replay knows them, too. Each window says how many before it were
//! skipped.

use std::pin::Pin;
use std::time::Duration;

use dotnet_diagnostics_client::{Client, Error, HResult};
use netcore_profiler::{hresult, wire};
use tokio::time::Instant;

use super::profiler::{self, Ready};
use super::refusal::Refusal;
use super::stream::Detail;
use crate::gc::facts::{Sample, WindowLength};
use crate::gc::record::Level;
use crate::sys::Lease;

/// How long a background collection may delay a window before the window is skipped.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// How long a background collection that the stream does not show yet may delay the runtime's answer.
const BACKGROUND_GC_TIMEOUT: Duration = Duration::from_millis(20);
/// A window for a number of collections is closed after this time, whether they came or not.
const MAX_WINDOW: Duration = Duration::from_secs(5);
/// A profiler that leaves is detached after 0.3 s as a rule, after steps of 5 s if the runtime found it in use.
const LEAVING_TIMEOUT: Duration = Duration::from_secs(16);
/// A runtime that has just started accepts no profiler yet, and the stream shows a collection with its next flush.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// The profiler connects before the runtime answers.
const ARRIVAL_TIMEOUT: Duration = Duration::from_millis(500);

/// When to ask again where the runtime gave no answer to an attach for a heap graph.
const GRAPH_INTERVAL: Duration = Duration::from_secs(2);

type Answer<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

enum State<'a> {
    Closed,
    /// The runtime was asked to attach the profiler.
    Entering(Answer<'a>),
    Open {
        /// `None`: until the watch steps back.
        until: Option<Instant>,
        /// The window ends when this many collections with roots were seen, counted from the start of the watch.
        roots: Option<u64>,
    },
    /// The profiler was told to leave.
    Leaving {
        until: Instant,
    },
}

/// When a window opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpensAfter {
    /// As soon as the interval is over.
    Interval,
    /// At the end of the first gen2 collection after that. The next one, which would block in a window, is then
    /// farthest away. `seen`: gen2 collections so far.
    Gen2 { seen: u64 },
    /// Only when a heap graph is wanted.
    Graph,
}

/// Opens and closes the sampling windows of one watch.
pub(crate) struct Sampler<'a> {
    sample: Sample,
    detail: Detail,
    ready: Ready,
    control: &'a Client,
    state: State<'a>,
    /// The number of the last window, taken or not.
    number: u32,
    /// How many windows were skipped because of background collections.
    busy: u32,
    /// When the next window is due.
    due: Instant,
    /// When to try to open it.
    try_at: Instant,
    /// The watch ends: no window follows.
    over: bool,
    opens: OpensAfter,
    /// A heap graph is wanted or is being taken: a window opens at once, and stays open.
    held: bool,
}

/// What the stream has shown so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamState {
    /// Collections with roots.
    pub(crate) roots: u64,
    /// Collections of generation 2 that have ended.
    pub(crate) full: u64,
    /// A background collection runs.
    pub(crate) background: bool,
}

/// What became of a window that was due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SampleOutcome {
    Nothing,
    /// A window was skipped because of a background collection.
    Busy,
    /// The runtime refused a window. The text is a warning with the reason.
    Refused(String),
    /// The runtime refused the profiler, which was to be loaded for a heap graph. The text says why.
    NoGraph(String),
}

impl<'a> Sampler<'a> {
    /// The first window is due at once.
    pub(crate) fn new(sample: Sample, detail: Detail, ready: Ready, control: &'a Client) -> Sampler<'a> {
        Sampler {
            sample,
            detail,
            ready,
            control,
            state: State::Closed,
            number: 0,
            busy: 0,
            due: Instant::now(),
            try_at: Instant::now(),
            over: false,
            opens: OpensAfter::Interval,
            held: false,
        }
    }

    /// Loads the profiler only for a heap graph.
    pub(crate) fn for_graph(ready: Ready, control: &'a Client) -> Sampler<'a> {
        let sample = Sample {
            each: WindowLength::Gcs(wire::Window::GRAPH),
            every: GRAPH_INTERVAL,
            between: Level::Basic,
        };
        let detail = Detail {
            blocks: false,
            names: true,
            allocations: None,
            between: None,
            counters: false,
            graph: true,
        };
        Sampler { opens: OpensAfter::Graph, ..Sampler::new(sample, detail, ready, control) }
    }

    /// Whether the profiler has to be there for a heap graph.
    pub(crate) fn hold(&mut self, held: bool) {
        if held && !self.held && self.is_closed() {
            self.try_at = Instant::now();
        }
        self.held = held;
    }

    /// The lease of the profiler, while it is loaded.
    pub(crate) fn open_lease(&mut self) -> Option<&mut Lease> {
        matches!(self.state, State::Open { .. }).then(|| self.ready.lease())
    }

    /// Each window opens right after a collection of generation 2 has ended.
    #[must_use]
    pub(crate) fn after_gen2(mut self) -> Sampler<'a> {
        self.opens = OpensAfter::Gen2 { seen: 0 };
        self
    }

    /// The profiler is already loaded, in a window without an end until [`Sampler::step_back`].
    #[must_use]
    pub(crate) fn staying(mut self) -> Sampler<'a> {
        self.number = 1;
        self.state = State::Open { until: None, roots: None };
        self.next(Instant::now());
        self
    }

    /// Closes a window without an end. Ordinary windows follow. `full`: collections of generation 2 seen so far.
    /// Returns whether there was such a window.
    pub(crate) async fn step_back(&mut self, full: u64) -> bool {
        let stays = matches!(self.state, State::Open { until: None, .. }) && !self.held;
        if stays {
            self.opens = OpensAfter::Gen2 { seen: full };
            self.leave(Instant::now()).await;
        }
        stays
    }

    /// When to call [`Sampler::act`] next, even if nothing happens.
    pub(crate) fn wake(&self) -> Option<Instant> {
        match &self.state {
            State::Closed if self.opens == OpensAfter::Graph && !self.held => None,
            State::Closed if Instant::now() < self.try_at => Some(self.try_at).filter(|_| !self.over),
            // The stream shows the collection that the window waits for.
            State::Closed if self.held || matches!(self.opens, OpensAfter::Gen2 { .. }) => None,
            // A background collection delays the window: the stream shows its end, or it takes too long.
            State::Closed => Some(self.due + MAX_DELAY).filter(|_| !self.over),
            State::Entering(_) => None,
            State::Open { .. } if self.held && !self.over => None,
            State::Open { until, .. } => *until,
            State::Leaving { until } => Some(*until),
        }
    }

    /// Opens or closes a window if that is due.
    pub(crate) async fn act(&mut self, seen: StreamState) -> SampleOutcome {
        let StreamState { roots, full, background } = seen;
        let now = Instant::now();
        if !self.held && self.opens == OpensAfter::Graph && self.is_closed() {
            return SampleOutcome::Nothing;
        }
        if let OpensAfter::Gen2 { seen } = &mut self.opens
            && !self.held
        {
            let waits = matches!(self.state, State::Closed) && now >= self.try_at;
            if waits && full <= *seen {
                return SampleOutcome::Nothing;
            }
            if !waits {
                *seen = full;
            }
        }
        match &self.state {
            State::Closed if !self.over && now >= self.try_at => {
                if !background {
                    // Closes the connection of a profiler that came too late for its own window.
                    self.ready.lease().forget_arrivals().await;
                    self.enter(now);
                } else if self.opens == OpensAfter::Interval && !self.held && now >= self.due + MAX_DELAY {
                    return self.too_busy(now);
                }
            }
            State::Open { until, roots: last }
                if self.over
                    || !self.held
                        && (until.is_some_and(|until| now >= until)
                            || last.is_some_and(|last| roots >= last)) =>
            {
                self.leave(now).await;
            }
            State::Leaving { until } if now >= *until => {
                tracing::debug!("window {}: the profiler has not left in time", self.number);
                self.closed(now);
            }
            _ => {}
        }
        SampleOutcome::Nothing
    }

    fn too_busy(&mut self, now: Instant) -> SampleOutcome {
        tracing::debug!("window {}: skipped, as a background collection runs", self.number + 1);
        self.skip(now);
        self.busy += 1;
        SampleOutcome::Busy
    }

    fn skip(&mut self, now: Instant) {
        self.number += 1;
        self.next(now);
    }

    /// Plans the next window. `began`: when the last one began, or should have.
    fn next(&mut self, began: Instant) {
        self.due = began + self.sample.every;
        self.try_at = self.due;
    }

    fn enter(&mut self, now: Instant) {
        // `self.number` grows only when the window is taken or skipped.
        let number = self.number + 1;
        let ms = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let (gcs, length_ms) = match self.sample.each {
            WindowLength::Gcs(n) => (n, 0),
            WindowLength::Time(time) => (0, ms(time)),
        };
        let every_ms = ms(self.sample.every);
        let window = wire::Window { number, gcs, length_ms, every_ms, busy: self.busy };
        let config = self.ready.config(self.detail, None, Some(window));
        let library = self.ready.library();
        let control = self.control;
        tracing::debug!("window {number}: attaching the profiler");
        self.try_at = now;
        self.state = State::Entering(Box::pin(async move {
            let (clsid, config) = (profiler::clsid(), config.as_bytes());
            control.attach_profiler(BACKGROUND_GC_TIMEOUT, clsid, &library, config).await
        }));
    }

    /// Waits until the runtime answers, or the profiler has left. Cancel safe.
    pub(crate) async fn happens(&mut self) -> SamplerEvent {
        match &mut self.state {
            State::Closed => std::future::pending().await,
            State::Entering(answer) => SamplerEvent::Answered(answer.await),
            State::Open { .. } | State::Leaving { .. } => {
                self.ready.lease().gone().await;
                SamplerEvent::Gone
            }
        }
    }

    /// Handles such an event. `roots`: collections with roots seen so far.
    pub(crate) async fn happened(&mut self, happened: SamplerEvent, roots: u64) -> SampleOutcome {
        let now = Instant::now();
        match happened {
            SamplerEvent::Gone => {
                tracing::debug!("window {}: the profiler has left", self.number);
                self.closed(now);
                SampleOutcome::Nothing
            }
            SamplerEvent::Answered(Ok(())) => {
                self.number += 1;
                self.next(self.try_at);
                self.ready.came(ARRIVAL_TIMEOUT).await;
                tracing::debug!("window {}: the profiler is loaded", self.number);
                let (time, roots) = match self.sample.each {
                    // It is held until the graph is there.
                    WindowLength::Gcs(wire::Window::GRAPH) => (Duration::ZERO, None),
                    WindowLength::Gcs(n) => (MAX_WINDOW, Some(roots.saturating_add(n.into()))),
                    WindowLength::Time(time) => (time, None),
                };
                self.state = State::Open { until: Some(now + time), roots };
                if self.over {
                    self.leave(now).await;
                }
                SampleOutcome::Nothing
            }
            SamplerEvent::Answered(Err(error)) => {
                // A connection of this profiler must not be taken for one of the next.
                self.ready.lease().forget_arrivals().await;
                self.refused(&error, now)
            }
        }
    }

    fn refused(&mut self, error: &Error, now: Instant) -> SampleOutcome {
        tracing::debug!("window {}: not opened: {error}", self.number + 1);
        self.state = State::Closed;
        let again = [
            HResult::NOT_YET_AVAILABLE,
            HResult::RUNTIME_UNINITIALIZED,
            HResult::PROFILER_DETACHING,
            HResult(hresult::STILL_LEAVING as u32),
        ];
        match error.hresult() {
            // The runtime gave no answer: the process is about to end, or no longer works.
            None => {
                self.next(now);
                SampleOutcome::Nothing
            }
            Some(code) if again.contains(&code) => {
                self.try_at = now + RETRY_INTERVAL;
                self.due = self.try_at;
                SampleOutcome::Nothing
            }
            Some(HResult::TIMEOUT_WAITING_FOR_CONCURRENT_GC) if !self.held && now >= self.due + MAX_DELAY => {
                self.too_busy(now)
            }
            // The stream will show the background collection.
            Some(HResult::TIMEOUT_WAITING_FOR_CONCURRENT_GC) => {
                self.try_at = now + RETRY_INTERVAL;
                SampleOutcome::Nothing
            }
            Some(_) if self.opens == OpensAfter::Graph => SampleOutcome::NoGraph(Refusal::of(error).reason),
            Some(_) => {
                self.skip(now);
                let reason = Refusal::of(error).reason;
                let next = "gcwatch tries again at the next window";
                SampleOutcome::Refused(format!("no roots in this window: {reason}; {next}"))
            }
        }
    }

    async fn leave(&mut self, now: Instant) {
        tracing::debug!("window {}: telling the profiler to leave", self.number);
        self.ready.lease().end().await;
        self.state = State::Leaving { until: now + LEAVING_TIMEOUT };
    }

    fn closed(&mut self, now: Instant) {
        self.state = State::Closed;
        // Leaves time for background collections between two windows.
        self.due = self.due.max(now + self.sample.every / 2);
        self.try_at = if self.held { now } else { self.due };
    }

    /// The watch ends: closes the open window, and opens no other.
    pub(crate) async fn end(&mut self) {
        self.over = true;
        if matches!(self.state, State::Open { .. }) {
            self.leave(Instant::now()).await;
        }
    }

    /// Whether the profiler has left.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Sends a heartbeat. Returns whether the profiler has read all before. `None`: no open window, or not known.
    pub(crate) fn beat(&mut self) -> Option<bool> {
        if !matches!(self.state, State::Open { .. }) {
            return None;
        }
        let read = self.ready.lease().all_read();
        self.ready.lease().beat();
        read
    }
}

/// What [`Sampler::happens`] waits for.
#[derive(Debug)]
pub(crate) enum SamplerEvent {
    Answered(Result<(), Error>),
    Gone,
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_client::Endpoint;

    use super::*;

    const BACKGROUND_RUNS: StreamState = StreamState { roots: 0, full: 0, background: true };

    /// An endpoint at which nobody listens.
    fn nobody(dir: &tempfile::TempDir) -> Endpoint {
        let Ok(endpoint) = dir.path().join("nobody").display().to_string().parse();
        endpoint
    }

    /// `client` leads to no process, so an attach fails without an answer of a runtime.
    async fn sampler(client: &Client, sample: Sample) -> Sampler<'_> {
        let ready =
            profiler::prepare(None, None, &std::env::temp_dir()).await.expect("a temporary directory");
        let detail = Detail {
            blocks: false,
            names: false,
            allocations: None,
            between: Some(Level::Basic),
            counters: false,
            graph: false,
        };
        Sampler::new(sample, detail, ready, client)
    }

    #[tokio::test]
    async fn a_background_collection_is_waited_for_and_then_skipped() {
        let dir = tempfile::tempdir().expect("a directory");
        let client = Client::new(nobody(&dir));
        let every = Duration::from_secs(30);
        let mut sampler =
            sampler(&client, Sample { each: WindowLength::Gcs(1), every, between: Level::Basic }).await;
        assert_eq!(sampler.act(BACKGROUND_RUNS).await, SampleOutcome::Nothing);
        let asked = Instant::now();
        assert!(sampler.is_closed(), "nothing is asked of the target");
        let until = sampler.wake().expect("a limit");
        assert!(until <= asked + MAX_DELAY, "the window waits for too long");
        tokio::time::sleep_until(until).await;
        assert_eq!(sampler.act(BACKGROUND_RUNS).await, SampleOutcome::Busy);
        assert_eq!((sampler.number, sampler.busy), (1, 1));
        let next = sampler.wake().expect("another window");
        assert!(next >= until + every, "the next one comes when the interval is over");
        // If the background collection ends in time, the window opens at once.
        sampler.try_at = Instant::now();
        sampler.due = sampler.try_at;
        assert_eq!(sampler.act(BACKGROUND_RUNS).await, SampleOutcome::Nothing);
        assert_eq!(sampler.act(StreamState::default()).await, SampleOutcome::Nothing);
        assert!(!sampler.is_closed());
        let happened = sampler.happens().await;
        assert!(matches!(happened, SamplerEvent::Answered(Err(_))), "no runtime answers");
        assert_eq!(sampler.happened(happened, 0).await, SampleOutcome::Nothing);
        sampler.end().await;
        assert!(sampler.is_closed() && sampler.wake().is_none());
    }

    #[tokio::test]
    async fn after_gen2_a_window_opens_only_when_a_collection_has_ended() {
        let dir = tempfile::tempdir().expect("a directory");
        let client = Client::new(nobody(&dir));
        let every = Duration::from_secs(30);
        let sample = Sample { each: WindowLength::Gcs(1), every, between: Level::Basic };
        let mut sampler = sampler(&client, sample).await.after_gen2();
        let seen = |full, background| StreamState { roots: 0, full, background };
        for _ in 0..3 {
            assert_eq!(sampler.act(seen(0, false)).await, SampleOutcome::Nothing);
            assert!(sampler.is_closed() && sampler.wake().is_none(), "only the stream can open the window");
        }
        // The stream shows the end of the first one when another runs already.
        sampler.due = Instant::now() - MAX_DELAY * 2;
        assert_eq!(sampler.act(seen(1, true)).await, SampleOutcome::Nothing, "the window is not skipped");
        assert!(sampler.is_closed());
        assert_eq!(sampler.act(seen(2, false)).await, SampleOutcome::Nothing);
        assert!(!sampler.is_closed(), "the window opens");
        let happened = sampler.happens().await;
        assert_eq!(sampler.happened(happened, 0).await, SampleOutcome::Nothing);
        // A collection that ends before the next window is due does not count.
        assert_eq!(sampler.act(seen(3, false)).await, SampleOutcome::Nothing);
        sampler.try_at = Instant::now();
        assert_eq!(sampler.act(seen(3, false)).await, SampleOutcome::Nothing);
        assert!(sampler.is_closed());
        assert_eq!(sampler.act(seen(4, false)).await, SampleOutcome::Nothing);
        assert!(!sampler.is_closed());
    }

    #[tokio::test]
    async fn a_window_without_an_end_ends_by_stepping_back() {
        let dir = tempfile::tempdir().expect("a directory");
        let client = Client::new(nobody(&dir));
        let every = Duration::from_secs(30);
        let sample = Sample { each: WindowLength::Gcs(1), every, between: Level::Basic };
        let mut sampler = sampler(&client, sample).await.staying();
        assert_eq!(
            sampler.act(StreamState { roots: 1000, full: 1000, background: false }).await,
            SampleOutcome::Nothing
        );
        assert!(matches!(sampler.state, State::Open { .. }) && sampler.wake().is_none());
        assert!(sampler.step_back(1000).await && !sampler.step_back(1000).await);
        assert!(matches!(sampler.state, State::Leaving { .. }));
        assert_eq!(sampler.happened(SamplerEvent::Gone, 1000).await, SampleOutcome::Nothing);
        assert!(sampler.is_closed() && sampler.number == 1);
        let next = sampler.wake().expect("the next window");
        assert!(next >= Instant::now() + every / 2 - Duration::from_secs(1), "not at once");
    }
}
