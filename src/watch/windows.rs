//! `--sample`: the profiler comes for a window, and is out again between two of them. The session stays open all the
//! time, so that no collection is missed and none is counted twice.
//!
//! What became of the windows is read from the stream, as it is in a recording; only a refusal that left no trace
//! there is counted here.

use std::collections::HashSet;
use std::pin::Pin;
use std::time::Duration;

use dotnet_diagnostics_client::{Client, Error, HResult, Transport};
use netcore_profiler::{hresult, wire};
use tokio::time::Instant;

use super::profiler::{self, Ready};
use super::stream::Detail;
use crate::gc::facts::{Each, Sample};
use crate::gc::record::Level;

/// How long a background collection may delay a window; it is skipped then.
const BACKGROUND_GC_WAIT_MS: u32 = 1000;
/// A window for collections is closed after this time, whether they came or not.
const LONGEST: Duration = Duration::from_secs(5);
/// A profiler that leaves is out after 0.3 s as a rule, after steps of 5 s where the runtime found it in use.
const LEAVING: Duration = Duration::from_secs(16);
/// A runtime that has just been started takes no profiler yet.
const NOT_YET: Duration = Duration::from_millis(100);
/// It connects before the runtime answers.
const COMES: Duration = Duration::from_millis(500);

/// What is asked of a sampling watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) sample: Sample,
    /// The level between two windows.
    pub(crate) between: Level,
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

enum State<'a> {
    Closed,
    /// The profiler was asked in.
    Entering(Answer<'a>),
    Open {
        until: Instant,
        /// Collections with roots that end it.
        roots: Option<u64>,
    },
    /// It was asked out.
    Leaving {
        until: Instant,
    },
}

/// The windows of one watch.
pub(crate) struct Windows<'a, T: Transport> {
    sample: Sample,
    detail: Detail,
    ready: Ready,
    control: &'a Client<T>,
    state: State<'a>,
    /// Of the window that came last, taken or not.
    number: u32,
    due: Instant,
    /// No more of them.
    over: bool,
    said: HashSet<String>,
    /// Says something where the report has no place for it.
    aside: Option<fn(&str)>,
}

/// What to do about something that happened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing.
    Nothing,
    /// A window was refused; something to say about it, unless it was said before.
    Refused(Option<String>),
}

impl<'a, T: Transport> Windows<'a, T> {
    /// The first one begins at once.
    pub(crate) fn new(
        plan: Plan,
        detail: Detail,
        ready: Ready,
        control: &'a Client<T>,
        aside: Option<fn(&str)>,
    ) -> Windows<'a, T> {
        Windows {
            sample: plan.sample,
            detail,
            ready,
            control,
            state: State::Closed,
            number: 0,
            due: Instant::now(),
            over: false,
            said: HashSet::new(),
            aside,
        }
    }

    /// When [`Windows::act`] is to be called next, whatever happens.
    pub(crate) fn wake(&self) -> Option<Instant> {
        match &self.state {
            State::Closed => Some(self.due).filter(|_| !self.over),
            State::Entering(_) => None,
            State::Open { until, .. } | State::Leaving { until } => Some(*until),
        }
    }

    /// Opens and closes what is due. `roots`: collections seen with roots so far.
    pub(crate) async fn act(&mut self, roots: u64) {
        let now = Instant::now();
        match &self.state {
            State::Closed if !self.over && now >= self.due => self.enter(now),
            State::Open { until, roots: last } => {
                if self.over || now >= *until || last.is_some_and(|last| roots >= last) {
                    self.leave(now).await;
                }
            }
            State::Leaving { until } if now >= *until => {
                tracing::debug!("window {}: the profiler is still there", self.number);
                self.closed(now);
            }
            _ => {}
        }
    }

    fn enter(&mut self, now: Instant) {
        self.number = self.number.saturating_add(1);
        self.due = now + self.sample.every;
        let ms = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let (gcs, length_ms) = match self.sample.each {
            Each::Gcs(n) => (n, 0),
            Each::Time(time) => (0, ms(time)),
        };
        let window = wire::Window { number: self.number, gcs, length_ms, every_ms: ms(self.sample.every) };
        let config = self.ready.config(self.detail, None, Some(window));
        let library = self.ready.library();
        let control = self.control;
        self.state = State::Entering(Box::pin(async move {
            let (clsid, config) = (profiler::clsid(), config.as_bytes());
            control.attach_profiler(BACKGROUND_GC_WAIT_MS, clsid, &library, config).await
        }));
    }

    /// The runtime has answered, or the profiler is gone. Cancel safe.
    pub(crate) async fn happens(&mut self) -> Happened {
        match &mut self.state {
            State::Closed => std::future::pending().await,
            State::Entering(answer) => Happened::Answered(answer.await),
            State::Open { .. } | State::Leaving { .. } => {
                self.ready.lease().gone().await;
                Happened::Gone
            }
        }
    }

    /// What follows from it. `roots`: collections seen with roots so far.
    pub(crate) async fn happened(&mut self, happened: Happened, roots: u64) -> News {
        let now = Instant::now();
        match happened {
            Happened::Gone => {
                tracing::debug!("window {}: the profiler is out", self.number);
                self.closed(now);
                News::Nothing
            }
            Happened::Answered(Ok(())) => {
                self.ready.came(COMES).await;
                tracing::debug!("window {}: the profiler is in", self.number);
                let (time, roots) = match self.sample.each {
                    Each::Gcs(n) => (LONGEST, Some(roots.saturating_add(n.into()))),
                    Each::Time(time) => (time, None),
                };
                self.state = State::Open { until: now + time, roots };
                if self.over {
                    self.leave(now).await;
                }
                News::Nothing
            }
            Happened::Answered(Err(error)) => self.refused(&error, now),
        }
    }

    fn refused(&mut self, error: &Error, now: Instant) -> News {
        tracing::debug!("window {}: {error}", self.number);
        self.state = State::Closed;
        let again = [
            HResult::NOT_YET_AVAILABLE,
            HResult::RUNTIME_UNINITIALIZED,
            HResult::PROFILER_DETACHING,
            HResult(hresult::STILL_LEAVING as u32),
        ];
        match error.hresult() {
            // The process is about to end, or as good as ended.
            None => {
                self.number -= 1;
                News::Nothing
            }
            Some(code) if again.contains(&code) => {
                self.number -= 1;
                self.due = now + NOT_YET;
                News::Nothing
            }
            // The profiler itself has noted it in the stream.
            Some(HResult::TIMEOUT_WAITING_FOR_CONCURRENT_GC) => News::Nothing,
            Some(_) => {
                let reason = profiler::refusal(error).reason;
                let new = self.said.insert(reason.clone());
                let next = "it is tried again at the next window";
                News::Refused(new.then(|| format!("no roots in this window: {reason}; {next}")))
            }
        }
    }

    async fn leave(&mut self, now: Instant) {
        self.ready.lease().end().await;
        self.state = State::Leaving { until: now + LEAVING };
    }

    fn closed(&mut self, now: Instant) {
        self.state = State::Closed;
        // Background collections shall have their time between two windows, too.
        self.due = self.due.max(now + self.sample.every / 2);
    }

    /// The watch ends: the window that is open is closed, and it is the last.
    pub(crate) async fn end(&mut self) {
        self.over = true;
        if matches!(self.state, State::Open { .. }) {
            self.leave(Instant::now()).await;
        }
    }

    /// The profiler is out.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Says that we are still here.
    pub(crate) async fn beat(&mut self) {
        if matches!(self.state, State::Open { .. }) {
            // One that has gone is found out elsewhere.
            let _gone = self.ready.lease().beat().await;
        }
    }

    /// Where to say something that the report has no place for.
    pub(crate) fn aside(&self) -> Option<fn(&str)> {
        self.aside
    }
}

/// Something that was waited for.
#[derive(Debug)]
pub(crate) enum Happened {
    Answered(Result<(), Error>),
    Gone,
}
