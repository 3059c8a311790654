//! Reads one live stream to its end, and ends it in order: profiler out first, then the session.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use dotnet_diagnostics_client::{Client, EventSession, SessionId, Transport};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::session::{Progress, ReportError, Session};
use super::windows::{News, Windows};
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
/// How long the stream may be silent while it stops before we hang up; the runtime then ends the session by itself.
const STOPPING: Duration = Duration::from_secs(10);

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
        let started = Instant::now();
        let id = self.stream.id();
        let mut buffer = vec![0; 256 * 1024];
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let end_at = self.limits.duration.map(|d| started + d);
        let mut last_bytes = started;
        let mut last_tick = started;
        // Without the profiler nobody needs it.
        let beats = self.lease.is_some() || self.windows.is_some();
        let mut why: Option<Ended> = None;
        let mut signalled = false;
        let mut hang_up_at: Option<Instant> = None;
        let mut leave_by: Option<Instant> = None;
        let mut stopping: Option<Stopping<'a>> = None;
        loop {
            let quiet_at = session.holds().then_some(last_bytes + QUIET);
            let mut stop = None;
            if let Some(windows) = &mut self.windows {
                let news = windows.act(session.at_roots, session.background_runs()).await;
                if let Err(e) = tell(session, windows.aside(), news) {
                    stop = Some(Ended::Report(e));
                }
            }
            let window_at = self.windows.as_ref().and_then(Windows::wake);
            let tick_at = session.tick_every().map(|every| last_tick + every);
            let wake = [end_at.filter(|_| why.is_none()), leave_by, hang_up_at, quiet_at, window_at]
                .into_iter()
                .flatten()
                .min();
            // What is due comes before what is there: a flood must not keep the lease from its beat. Events are
            // released in the last place, when the socket has nothing more.
            tokio::select! {
                biased;
                order = orders.order() => match order {
                    Order::End(at_once @ Ended::Again(_)) => return at_once,
                    Order::End(reason) => stop = Some(reason),
                    Order::Signal(signal) if signalled => return Ended::Again(signal),
                    Order::Signal(signal) => {
                        signalled = true;
                        if on_signal(signal) == OnSignal::Stop {
                            stop = Some(Ended::Signal(signal));
                        }
                    }
                },
                _ = beat.tick(), if beats => {
                    if let Some(lease) = &mut self.lease {
                        // A profiler that has gone is found out by what it sends, not here.
                        let _gone = lease.beat().await;
                    }
                    if let Some(windows) = &mut self.windows {
                        windows.beat().await;
                    }
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
                        if leave_by.is_none() {
                            hang_up_at = hang_up_at.map(|_| last_bytes + STOPPING);
                        }
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
                    let now = Instant::now();
                    if hang_up_at.is_some_and(|at| now >= at) {
                        return why.unwrap_or(Ended::Target { whole: false });
                    }
                    if quiet_at.is_some_and(|at| now >= at)
                        && let Err(e) = session.quiet() {
                            stop = Some(Ended::Report(e));
                        }
                    if why.is_none() && end_at.is_some_and(|at| now >= at) {
                        stop = Some(Ended::Duration);
                    }
                }
            }
            if self.limits.gcs.is_some_and(|n| session.counted >= n) {
                stop = stop.or(Some(Ended::Gcs));
            }
            if let (Some(reason), None) = (stop, &why) {
                why = Some(reason);
                hang_up_at = Some(Instant::now() + LEAVING + STOPPING);
                if self.lease.take().is_some() {
                    leave_by = Some(Instant::now() + LEAVING);
                } else if let Some(windows) = &mut self.windows {
                    windows.end().await;
                    leave_by = Some(Instant::now() + LEAVING);
                } else {
                    stopping = Some(stop_session(self.control, id));
                }
            }
            let out = self.windows.as_ref().map_or_else(|| session.told().left(), Windows::is_closed);
            if leave_by.is_some_and(|at| out || Instant::now() >= at) {
                leave_by = None;
                stopping = Some(stop_session(self.control, id));
            }
        }
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
