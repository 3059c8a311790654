//! Reads one live stream to its end, and ends it in order: profiler out first, then the session.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use dotnet_diagnostics_client::{Client, EventSession, SessionId, Transport};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::estimate::Beginning;
use super::life::Life;
use super::session::{Progress, ReportError, Session};
use super::windows::{News, Seen, Windows};
use crate::gc::facts::Gap;
use crate::sys::{Lease, Signal, Signals};

/// Mostly a flush shows where it ends, and what was held back for order goes at once. Where it does not, the next
/// one follows after 100 ms if anything happens; after this much silence nothing has, and the flush is whole.
const QUIET: Duration = Duration::from_secs(1);
/// A runtime writes a flush in a dozen pieces, most of them of some bytes: whoever reads each as it comes is woken as
/// often. So where a flush has only begun, we are away for as long as it takes, and read the rest at once. Not the
/// timer of the loop: there each piece would wake us, too.
const WRITING: Duration = Duration::from_micros(500);
/// More than this, and the rest is not waited for: the socket's buffer holds no more than a few hundred KiB.
const BEGUN: usize = 16 * 1024;
const BEAT: Duration = Duration::from_secs(1);
/// How long the profiler may take to say that it leaves. It goes anyway.
const LEAVING: Duration = Duration::from_millis(1500);

/// When to stop by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    pub(crate) duration: Option<Duration>,
    pub(crate) gcs: Option<u64>,
}

/// Why a watch ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The stream ended by itself; `whole`: with its end tag.
    Target {
        whole: bool,
    },
    Duration,
    Gcs,
    Signal(Signal),
    /// A second signal: at once, without manners.
    Again(Signal),
    /// The command has ended, and this process goes on.
    Command,
    /// Nobody reads the report any more, or it cannot be written.
    Report(io::Error),
}

/// What a watch is told from outside while it runs.
#[derive(Debug)]
pub(crate) enum Order {
    /// What it means is decided by who runs the pump.
    Signal(Signal),
    /// To end, and why.
    End(Ended),
}

/// Where orders come from.
pub(crate) trait Orders {
    /// The next one. Cancel safe.
    fn order(&mut self) -> impl Future<Output = Order>;
}

impl Orders for Signals {
    async fn order(&mut self) -> Order {
        Order::Signal(self.next().await)
    }
}

/// What a signal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnSignal {
    /// End the watch (`attach`).
    Stop,
    /// It is the child's business (`run`).
    GoOn,
}

/// A live watch: the stream, the way to stop it, and the profiler's lease.
pub(crate) struct Pump<'a, T: Transport> {
    pub(crate) stream: EventSession,
    /// Where the session can be stopped.
    pub(crate) control: &'a Client<T>,
    pub(crate) lease: Option<Lease>,
    /// The profiler comes and goes.
    pub(crate) windows: Option<Windows<'a, T>>,
    pub(crate) limits: Limits,
    /// What was read of the stream before.
    pub(crate) beginning: Beginning,
    /// The target as we see it: whether it runs is looked at. `None` where its process is not known for sure.
    pub(crate) pid: Option<u32>,
}

type Stopping<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

impl<'a, T: Transport> Pump<'a, T> {
    /// Runs until the stream is over.
    pub(crate) async fn run(
        &mut self,
        session: &mut Session<'_>,
        orders: &mut impl Orders,
        mut on_signal: impl FnMut(Signal) -> OnSignal,
    ) -> Ended {
        session.live = true;
        let started = self.beginning.since;
        let id = self.stream.id();
        let mut buffer = vec![0; 256 * 1024];
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let end_at = self.limits.duration.map(|d| started + d);
        let mut last_bytes = Instant::now();
        let mut last_tick = last_bytes;
        let mut life = Life::new(self.pid, last_bytes);
        let mut why: Option<Ended> = None;
        let mut signalled = false;
        let mut leave_by: Option<Instant> = None;
        let mut stopping: Option<Stopping<'a>> = None;
        let mut unwritten = None;
        let read_before = std::mem::take(&mut self.beginning.bytes);
        match session.bytes(&read_before) {
            Ok(Progress::Goes) => {}
            Ok(Progress::Ended) => return Ended::Target { whole: true },
            Ok(Progress::Broken) => return Ended::Target { whole: false },
            Err(e) => unwritten = Some(Ended::Report(e)),
        }
        drop(read_before);
        loop {
            let quiet_at = session.holds().then_some(last_bytes + QUIET);
            let mut stop = unwritten.take();
            if let Some(windows) = &mut self.windows {
                if session.stepped_back()
                    && windows.step_back(session.full).await
                    && let Some((say, line)) = windows.aside().zip(session.step_back_line())
                {
                    say(&format!("gcwatch: {line}"));
                }
                let (roots, full) = (session.at_roots, session.full);
                let news = windows.act(Seen { roots, full, background: session.background_runs() }).await;
                if let Err(e) = tell(session, windows.aside(), news) {
                    stop = Some(Ended::Report(e));
                }
            }
            let window_at = self.windows.as_ref().and_then(Windows::wake);
            let tick_at = session.tick_every().map(|every| last_tick + every);
            let silent_at = life.wake(Instant::now());
            let wake = [end_at.filter(|_| why.is_none()), leave_by, silent_at, quiet_at, window_at]
                .into_iter()
                .flatten()
                .min();
            // What is due comes before what is there: a flood must not keep the lease from its beat. Events are
            // released in the last place, when the socket has nothing more.
            tokio::select! {
                biased;
                order = orders.order() => match order {
                    Order::End(at_once @ Ended::Again(_)) => {
                        unanswered(session, &life, started);
                        return at_once;
                    }
                    Order::End(reason) => stop = Some(reason),
                    Order::Signal(signal) if signalled => {
                        unanswered(session, &life, started);
                        return Ended::Again(signal);
                    }
                    Order::Signal(signal) => {
                        signalled = true;
                        if on_signal(signal) == OnSignal::Stop {
                            stop = Some(Ended::Signal(signal));
                        }
                    }
                },
                _ = beat.tick() => {
                    // No write to a target waits for it: one that is stopped reads nothing.
                    let mut read = self.lease.as_ref().and_then(Lease::all_read);
                    if let Some(lease) = &self.lease {
                        lease.beat();
                    }
                    if let Some(windows) = &mut self.windows {
                        read = windows.beat();
                    }
                    life.look(read, Instant::now());
                }
                () = async { if let Some(at) = tick_at { sleep_until(at).await } }, if tick_at.is_some() => {
                    last_tick = Instant::now();
                    let elapsed_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    if let Err(e) = session.tick(elapsed_ns) {
                        stop = Some(Ended::Report(e));
                    }
                }
                () = async { if let Some(s) = &mut stopping { s.await } }, if stopping.is_some() => stopping = None,
                happened = async {
                    match &mut self.windows {
                        Some(windows) => windows.happens().await,
                        None => std::future::pending().await,
                    }
                } => if let Some(windows) = &mut self.windows {
                    let news = windows.happened(happened, session.at_roots).await;
                    if let Err(e) = tell(session, windows.aside(), news) {
                        stop = Some(Ended::Report(e));
                    }
                },
                read = self.stream.read(&mut buffer) => match read {
                    Ok(n) if n > 0 => {
                        let mut progress = session.bytes(&buffer[..n]);
                        if matches!(progress, Ok(Progress::Goes)) && session.holds() && session.flush_ended() {
                            progress = session.quiet().map(|()| Progress::Goes);
                        }
                        if n < BEGUN && session.flush_runs() {
                            std::thread::sleep(WRITING);
                        }
                        last_bytes = Instant::now();
                        life.sent(last_bytes);
                        match progress {
                            Ok(Progress::Goes) => {}
                            Ok(Progress::Ended) => return why.unwrap_or(Ended::Target { whole: true }),
                            Ok(Progress::Broken) => return why.unwrap_or(Ended::Target { whole: false }),
                            Err(e) => stop = Some(Ended::Report(e)),
                        }
                    }
                    // A runtime that was killed resets the connection; that too is the end.
                    Ok(_) | Err(_) => return why.unwrap_or(Ended::Target { whole: false }),
                },
                () = async { if let Some(at) = wake { sleep_until(at).await } }, if wake.is_some() => {
                    if quiet_at.is_some_and(|at| Instant::now() >= at)
                        && let Err(e) = session.quiet() {
                            stop = Some(Ended::Report(e));
                        }
                }
            }
            // Not with the timer above: a target that sends without a break would keep it from its turn.
            let now = Instant::now();
            if life.is_silent(session.collects(), now) {
                // The runtime ends the session by itself when nobody reads it.
                session.has_gap(if life.sends(now) {
                    Gap::Left
                } else {
                    Gap::Silent { since_ns: since(started, life.last()) }
                });
                return why.unwrap_or(Ended::Target { whole: false });
            }
            if why.is_none() && stop.is_none() && end_at.is_some_and(|at| now >= at) {
                stop = Some(Ended::Duration);
            }
            if self.limits.gcs.is_some_and(|n| session.counted >= n) {
                stop = stop.or(Some(Ended::Gcs));
            }
            if let (Some(reason), None) = (stop, &why) {
                why = Some(reason);
                life.ask(Instant::now());
                if self.lease.take().is_some() {
                    leave_by = Some(Instant::now() + LEAVING);
                } else if let Some(windows) = &mut self.windows {
                    windows.end().await;
                    leave_by = Some(Instant::now() + LEAVING);
                } else {
                    stopping = Some(stop_session(self.control, id));
                }
            }
            let out = self.windows.as_ref().map_or_else(|| session.stream_info().left(), Windows::is_closed);
            if leave_by.is_some_and(|at| out || Instant::now() >= at) {
                leave_by = None;
                stopping = Some(stop_session(self.control, id));
            }
        }
    }
}

fn since(started: Instant, then: Instant) -> u64 {
    u64::try_from(then.saturating_duration_since(started).as_nanos()).unwrap_or(u64::MAX)
}

/// We go at once. Where the target was asked to end its session before, and has not answered, the report says so.
fn unanswered(session: &mut Session<'_>, life: &Life, started: Instant) {
    if let Some(last) = life.unanswered_since() {
        session.has_gap(Gap::Silent { since_ns: since(started, last) });
    }
}

/// What a window came to, as far as the stream does not tell it.
fn tell(session: &mut Session<'_>, aside: Option<fn(&str)>, news: News) -> Result<(), ReportError> {
    let busy = news == News::Busy;
    let warning = match news {
        News::Nothing => return Ok(()),
        News::Busy => None,
        News::Refused(warning) => warning,
    };
    session.window_skipped(busy);
    match (warning, aside) {
        (Some(warning), Some(aside)) => aside(&format!("gcwatch: {warning}")),
        (Some(warning), None) => session.warn(&warning)?,
        (None, _) => {}
    }
    Ok(())
}

/// Asks the runtime to end the session. A target that is gone needs none of it.
fn stop_session<T: Transport>(control: &Client<T>, id: SessionId) -> Stopping<'_> {
    Box::pin(async move {
        if let Err(e) = control.stop_tracing(id).await {
            tracing::debug!("stop: {e}");
        }
    })
}
