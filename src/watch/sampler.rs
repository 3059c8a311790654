//! `--sample`: the profiler comes for a window, and is out again between two of them. The session stays open all the
//! time, so that no collection is missed and none is counted twice.
//!
//! While a background collection runs, the runtime would make an attach wait for its end, and walk the whole heap at
//! each collection meanwhile. So it is not asked as long as the stream tells of one.
//!
//! Which windows were taken is read from the stream, as it is in a recording, and each tells how many before it were
//! skipped.

use std::pin::Pin;
use std::time::Duration;

use dotnet_diagnostics_client::{Client, Error, HResult, Transport};
use netcore_profiler::{hresult, wire};
use tokio::time::Instant;

use super::profiler::{self, Ready};
use super::refusal::Refusal;
use super::stream::Detail;
use crate::gc::facts::{Sample, WindowLength};

/// How long a background collection may delay a window. Then the window is skipped.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// How long a background collection that the stream has not told of yet may delay the runtime's answer.
const BACKGROUND_GC_TIMEOUT_MS: u32 = 20;
/// A window for collections is closed after this time, whether they came or not.
const MAX_WINDOW: Duration = Duration::from_secs(5);
/// A profiler that leaves is out after 0.3 s as a rule, after steps of 5 s where the runtime found it in use.
const LEAVING_TIMEOUT: Duration = Duration::from_secs(16);
/// A runtime that has just started takes no profiler yet, and the stream tells of a collection with its next flush.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// The profiler connects before the runtime answers.
const ARRIVAL_TIMEOUT: Duration = Duration::from_millis(500);

type Answer<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

enum State<'a> {
    Closed,
    /// The profiler was asked in.
    Entering(Answer<'a>),
    Open {
        /// `None`: until it is told to step back.
        until: Option<Instant>,
        /// Collections with roots that end it.
        roots: Option<u64>,
    },
    /// It was asked out.
    Leaving {
        until: Instant,
    },
}

/// When a window opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpensAfter {
    /// As soon as the interval is over.
    Interval,
    /// At the end of the first gen2 collection after that: the next one, which would block in a window, is then furthest
    /// away. `seen`: gen2 collections so far.
    Gen2 { seen: u64 },
}

/// Opens and closes the sampling windows of one watch.
pub(crate) struct Sampler<'a, T: Transport> {
    sample: Sample,
    detail: Detail,
    ready: Ready,
    control: &'a Client<T>,
    state: State<'a>,
    /// Of the window that came last, taken or not.
    number: u32,
    /// How many were skipped because of background collections.
    busy: u32,
    /// When the next window begins.
    due: Instant,
    /// When it is tried (again).
    try_at: Instant,
    /// No more of them.
    over: bool,
    opens: OpensAfter,
}

/// What the stream has told so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamState {
    /// Collections with roots.
    pub(crate) roots: u64,
    /// Collections of generation 2 that have ended.
    pub(crate) full: u64,
    /// A background collection runs.
    pub(crate) background: bool,
}

/// What to do about something that happened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SampleOutcome {
    Nothing,
    /// A window was skipped because of a background collection.
    Busy,
    /// A window was refused, and why.
    Refused(String),
}

impl<'a, T: Transport> Sampler<'a, T> {
    /// The first one begins at once.
    pub(crate) fn new(
        sample: Sample,
        detail: Detail,
        ready: Ready,
        control: &'a Client<T>,
    ) -> Sampler<'a, T> {
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
        }
    }

    /// Each window begins right after a collection of generation 2 has ended.
    #[must_use]
    pub(crate) fn after_gen2(mut self) -> Sampler<'a, T> {
        self.opens = OpensAfter::Gen2 { seen: 0 };
        self
    }

    /// The profiler is there, in a window that has no end until [`Sampler::step_back`].
    #[must_use]
    pub(crate) fn staying(mut self) -> Sampler<'a, T> {
        self.number = 1;
        self.state = State::Open { until: None, roots: None };
        self.next(Instant::now());
        self
    }

    /// Ends a window without an end; afterwards there are ordinary ones. `full`: collections of generation 2 seen so far.
    /// Whether there was one.
    pub(crate) async fn step_back(&mut self, full: u64) -> bool {
        let stays = matches!(self.state, State::Open { until: None, .. });
        if stays {
            self.opens = OpensAfter::Gen2 { seen: full };
            self.leave(Instant::now()).await;
        }
        stays
    }

    /// When [`Sampler::act`] is to be called next, whatever happens.
    pub(crate) fn wake(&self) -> Option<Instant> {
        match &self.state {
            // A background collection that delays it ends in the stream, or too late.
            State::Closed if Instant::now() < self.try_at => Some(self.try_at).filter(|_| !self.over),
            // The stream tells of the collection that it waits for.
            State::Closed if matches!(self.opens, OpensAfter::Gen2 { .. }) => None,
            State::Closed => Some(self.due + MAX_DELAY).filter(|_| !self.over),
            State::Entering(_) => None,
            State::Open { until, .. } => *until,
            State::Leaving { until } => Some(*until),
        }
    }

    /// Opens and closes what is due.
    pub(crate) async fn act(&mut self, seen: StreamState) -> SampleOutcome {
        let StreamState { roots, full, background } = seen;
        let now = Instant::now();
        if let OpensAfter::Gen2 { seen } = &mut self.opens {
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
                    // One that came too late for an answer learns here that it is not wanted any more.
                    self.ready.lease().forget_arrivals().await;
                    self.enter(now);
                } else if self.opens == OpensAfter::Interval && now >= self.due + MAX_DELAY {
                    return self.too_busy(now);
                }
            }
            State::Open { until, roots: last }
                if self.over
                    || until.is_some_and(|until| now >= until)
                    || last.is_some_and(|last| roots >= last) =>
            {
                self.leave(now).await;
            }
            State::Leaving { until } if now >= *until => {
                tracing::debug!("window {}: the profiler is still there", self.number);
                self.closed(now);
            }
            _ => {}
        }
        SampleOutcome::Nothing
    }

    fn too_busy(&mut self, now: Instant) -> SampleOutcome {
        tracing::debug!("window {}: skipped, a background collection runs", self.number + 1);
        self.skip(now);
        self.busy += 1;
        SampleOutcome::Busy
    }

    fn skip(&mut self, now: Instant) {
        self.number += 1;
        self.next(now);
    }

    /// The window before it began, or would have.
    fn next(&mut self, began: Instant) {
        self.due = began + self.sample.every;
        self.try_at = self.due;
    }

    fn enter(&mut self, now: Instant) {
        // The number is used up when it is clear what becomes of it.
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
        tracing::debug!("window {number}: the profiler is asked in");
        self.try_at = now;
        self.state = State::Entering(Box::pin(async move {
            let (clsid, config) = (profiler::clsid(), config.as_bytes());
            control.attach_profiler(BACKGROUND_GC_TIMEOUT_MS, clsid, &library, config).await
        }));
    }

    /// The runtime has answered, or the profiler is gone. Cancel safe.
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

    /// What follows from it. `roots`: collections seen with roots so far.
    pub(crate) async fn happened(&mut self, happened: SamplerEvent, roots: u64) -> SampleOutcome {
        let now = Instant::now();
        match happened {
            SamplerEvent::Gone => {
                tracing::debug!("window {}: the profiler is out", self.number);
                self.closed(now);
                SampleOutcome::Nothing
            }
            SamplerEvent::Answered(Ok(())) => {
                self.number += 1;
                self.next(self.try_at);
                self.ready.came(ARRIVAL_TIMEOUT).await;
                tracing::debug!("window {}: the profiler is in", self.number);
                let (time, roots) = match self.sample.each {
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
                // Its connection must not be taken for the next one's.
                self.ready.lease().forget_arrivals().await;
                self.refused(&error, now)
            }
        }
    }

    fn refused(&mut self, error: &Error, now: Instant) -> SampleOutcome {
        tracing::debug!("window {}: {error}", self.number + 1);
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
                self.next(now);
                SampleOutcome::Nothing
            }
            Some(code) if again.contains(&code) => {
                self.try_at = now + RETRY_INTERVAL;
                self.due = self.try_at;
                SampleOutcome::Nothing
            }
            Some(HResult::TIMEOUT_WAITING_FOR_CONCURRENT_GC) if now >= self.due + MAX_DELAY => {
                self.too_busy(now)
            }
            // The stream will tell of it.
            Some(HResult::TIMEOUT_WAITING_FOR_CONCURRENT_GC) => {
                self.try_at = now + RETRY_INTERVAL;
                SampleOutcome::Nothing
            }
            Some(_) => {
                self.skip(now);
                let reason = Refusal::of(error).reason;
                let next = "it is tried again at the next window";
                SampleOutcome::Refused(format!("no roots in this window: {reason}; {next}"))
            }
        }
    }

    async fn leave(&mut self, now: Instant) {
        tracing::debug!("window {}: the profiler is asked to leave", self.number);
        self.ready.lease().end().await;
        self.state = State::Leaving { until: now + LEAVING_TIMEOUT };
    }

    fn closed(&mut self, now: Instant) {
        self.state = State::Closed;
        // Background collections shall have their time between two windows, too.
        self.due = self.due.max(now + self.sample.every / 2);
        self.try_at = self.due;
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

    /// Says that we are still here. Whether the profiler has read every beat before; `None`: there is none.
    pub(crate) fn beat(&mut self) -> Option<bool> {
        if !matches!(self.state, State::Open { .. }) {
            return None;
        }
        let read = self.ready.lease().all_read();
        self.ready.lease().beat();
        read
    }
}

/// Something that was waited for.
#[derive(Debug)]
pub(crate) enum SamplerEvent {
    Answered(Result<(), Error>),
    Gone,
}

#[cfg(all(test, unix))]
mod tests {
    use dotnet_diagnostics_client::Endpoint;

    use super::*;
    use crate::gc::record::Level;

    const RUNS: StreamState = StreamState { roots: 0, full: 0, background: true };

    /// Nothing answers there: whoever asks is refused without an answer of a runtime.
    async fn sampler(client: &Client<Endpoint>, sample: Sample) -> Sampler<'_, Endpoint> {
        let ready =
            profiler::prepare(None, None, &std::env::temp_dir()).await.expect("a temporary directory");
        let detail = Detail { blocks: false, names: false, between: Some(Level::Basic) };
        Sampler::new(sample, detail, ready, client)
    }

    #[tokio::test]
    async fn a_background_collection_is_waited_for_and_then_skipped() {
        let dir = tempfile::tempdir().expect("a directory");
        let client = Client::new(Endpoint::socket(dir.path().join("nobody")));
        let every = Duration::from_secs(30);
        let mut sampler =
            sampler(&client, Sample { each: WindowLength::Gcs(1), every, between: Level::Basic }).await;
        assert_eq!(sampler.act(RUNS).await, SampleOutcome::Nothing);
        let asked = Instant::now();
        assert!(sampler.is_closed(), "nothing is asked of the target");
        let until = sampler.wake().expect("a limit");
        assert!(until <= asked + MAX_DELAY, "it waits for too long");
        tokio::time::sleep_until(until).await;
        assert_eq!(sampler.act(RUNS).await, SampleOutcome::Busy);
        assert_eq!((sampler.number, sampler.busy), (1, 1));
        let next = sampler.wake().expect("another window");
        assert!(next >= until + every, "the next one comes when the interval is over");
        // In time it is over: the window is tried at once.
        sampler.try_at = Instant::now();
        sampler.due = sampler.try_at;
        assert_eq!(sampler.act(RUNS).await, SampleOutcome::Nothing);
        assert_eq!(sampler.act(StreamState::default()).await, SampleOutcome::Nothing);
        assert!(!sampler.is_closed());
        let happened = sampler.happens().await;
        assert!(matches!(happened, SamplerEvent::Answered(Err(_))), "nobody is there");
        assert_eq!(sampler.happened(happened, 0).await, SampleOutcome::Nothing);
        sampler.end().await;
        assert!(sampler.is_closed() && sampler.wake().is_none());
    }

    #[tokio::test]
    async fn after_gen2_a_window_begins_only_when_one_has_ended() {
        let dir = tempfile::tempdir().expect("a directory");
        let client = Client::new(Endpoint::socket(dir.path().join("nobody")));
        let every = Duration::from_secs(30);
        let sample = Sample { each: WindowLength::Gcs(1), every, between: Level::Basic };
        let mut sampler = sampler(&client, sample).await.after_gen2();
        let seen = |full, background| StreamState { roots: 0, full, background };
        for _ in 0..3 {
            assert_eq!(sampler.act(seen(0, false)).await, SampleOutcome::Nothing);
            assert!(sampler.is_closed() && sampler.wake().is_none(), "it waits for the stream alone");
        }
        // Another one runs already when the end of the first is told.
        sampler.due = Instant::now() - MAX_DELAY * 2;
        assert_eq!(sampler.act(seen(1, true)).await, SampleOutcome::Nothing, "that is no reason to skip it");
        assert!(sampler.is_closed());
        assert_eq!(sampler.act(seen(2, false)).await, SampleOutcome::Nothing);
        assert!(!sampler.is_closed(), "it begins");
        let happened = sampler.happens().await;
        assert_eq!(sampler.happened(happened, 0).await, SampleOutcome::Nothing);
        // What ends before the next one is due does not count.
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
        let client = Client::new(Endpoint::socket(dir.path().join("nobody")));
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
