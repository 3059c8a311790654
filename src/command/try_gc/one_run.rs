//! One run of a variant: starts it, watches it at level `basic`, and measures it.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use regex::Regex;
use tokio::process::Child;
use tokio::time::Instant;

use super::kept_output::KeptOutput;
use crate::assertion::{Side, Wanted, named};
use crate::command::child::{PassedToChild, no_runtime};
use crate::command::request;
use crate::exit::{Code, Failure};
use crate::experiment::{Measure, Run, Seen, Source, Variant, without_collections};
use crate::gc::facts::{Facts, LiveState};
use crate::gc::record::{Gc, Reason};
use crate::sys::{self, Signal, Signals};
use crate::watch::aggregator::Results;
use crate::watch::control::{Control, Ended, NotWatched, OnSignal, Order, unless_ended};
use crate::watch::launch::{self, Launched, NextOrExit, Program, Streams, Suspended};
use crate::watch::observer::Observer;
use crate::watch::port_guard::GuardedPort;
use crate::watch::run::{self, Outcome, WatchSource};

/// How often to look at the memory of the process. Its peak only grows, so the last look is nearly exact.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// How long a program that could not be watched may take to end by itself.
const EARLY_END_TIMEOUT: Duration = Duration::from_secs(2);
/// The runtime's reason for a collection because the gen0 budget was used up.
const BUDGET_USED_UP: Reason = Reason(0);

/// How a run ended.
pub(super) enum RunEnd {
    Ended(Box<Observed>),
    /// A signal came. The program has ended.
    Interrupted(Signal),
}

/// What one run has shown.
pub(super) struct Observed {
    pub(super) run: Run,
    pub(super) seen: Seen,
    /// The program's exit code; 128 + n after signal n.
    pub(super) exit: i32,
    /// The last lines that it printed.
    pub(super) said: Vec<String>,
    pub(super) printed_metric: bool,
    pub(super) runtime_version: Option<String>,
    /// Events were lost.
    pub(super) lost: bool,
}

/// Runs variants.
pub(super) struct Watcher<'a> {
    measures: Vec<Measure>,
    wanted: Vec<Wanted>,
    metric: Option<&'a Regex>,
    show_output: bool,
}

/// Remembers that a signal came, and passes it on to the program.
struct Interruptible<'s> {
    to_child: PassedToChild<'s>,
    came: Option<Signal>,
}

impl Control for Interruptible<'_> {
    async fn order(&mut self) -> Order {
        let order = self.to_child.order().await;
        if let Order::Signal(signal) = order {
            self.came.get_or_insert(signal);
        }
        order
    }

    fn on_signal(&mut self, signal: Signal) -> OnSignal {
        self.to_child.on_signal(signal)
    }
}

impl<'a> Watcher<'a> {
    pub(super) fn new(measures: &[Measure], metric: Option<&'a Regex>, show_output: bool) -> Watcher<'a> {
        let names = measures.iter().filter(|measure| measure.source == Source::Collections);
        let wanted = named(names.map(|measure| measure.name.as_str()));
        Watcher { measures: measures.to_vec(), wanted, metric, show_output }
    }

    /// Runs a variant to its end. The first signal goes to the program, the second one kills it.
    ///
    /// # Errors
    /// It cannot be started or watched.
    pub(super) async fn run(&self, variant: &Variant, signals: &mut Signals) -> Result<RunEnd, Failure> {
        // Declared first, so that it is dropped after everything that uses the port.
        let guarded = GuardedPort::make()?;
        let program =
            Program { command: &variant.command, variables: &variant.variables.0, streams: Streams::Piped };
        let started = Instant::now();
        let mut launched = launch::launch(program, guarded.place().clone())?;
        let output = KeptOutput::of(&mut launched.child, self.metric, self.show_output);
        let to_child = PassedToChild { signals, pid: launched.pid };
        let mut control = Interruptible { to_child, came: None };
        let watched = self.watch(launched, variant, started, &mut control).await;
        let said = output.end().await;
        if let Some(signal) = control.came {
            return Ok(RunEnd::Interrupted(signal));
        }
        match watched {
            Ok(mut observed) => {
                observed.printed_metric = said.metric.is_some();
                self.set(&mut observed.run, Source::Own, said.metric);
                observed.said = said.last_lines.into();
                Ok(RunEnd::Ended(Box::new(observed)))
            }
            Err(failure) => Err(said.last_lines.into_iter().fold(failure, Failure::seen)),
        }
    }

    async fn watch(
        &self,
        mut launched: Launched,
        variant: &Variant,
        started: Instant,
        control: &mut Interruptible<'_>,
    ) -> Result<Observed, Failure> {
        let next = match unless_ended(control, None, launched.next_or_exit()).await {
            Ok(next) => next?,
            Err(not_watched) => {
                kill(&mut launched.child).await;
                return Err(not_watched.into_failure());
            }
        };
        let suspended = match next {
            NextOrExit::Runtime(suspended) => suspended,
            NextOrExit::Exited(status) if status.success() => {
                return Err(no_runtime(&variant.command, launched.through_sdk));
            }
            NextOrExit::Exited(status) => return Ok(self.observed(None, status, started.elapsed())),
        };
        let mut observer = Collect::new(&self.wanted, &suspended);
        let (mut child, others) = launched.release_all_others();
        let source = WatchSource::Suspended(&suspended);
        let watched = run::run(&request::basic(), source, &mut observer, control).await;
        observer.look();
        let ended = wait(&mut child, watched, control).await;
        let elapsed = started.elapsed();
        others.end().await;
        let (outcome, status) = ended?;
        Ok(self.observed(outcome.map(|outcome| (outcome, observer)), status, elapsed))
    }

    /// Puts the values of a run together. `seen`: what the watch has brought, unless the program ended before.
    fn observed(&self, seen: Option<(Outcome, Collect)>, status: ExitStatus, elapsed: Duration) -> Observed {
        let mut run: Run = vec![None; self.measures.len()];
        let exit = sys::exit_code(status);
        let Some((outcome, observer)) = seen else {
            self.set(&mut run, Source::Wall, Some(elapsed.as_nanos() as f64));
            return Observed {
                run,
                seen: Seen::default(),
                exit,
                said: Vec::new(),
                printed_metric: false,
                runtime_version: None,
                lost: false,
            };
        };
        let wall = elapsed.saturating_sub(outcome.suspended_for);
        self.set(&mut run, Source::Wall, Some(wall.as_nanos() as f64));
        self.set(&mut run, Source::Peak, observer.peak_bytes.map(|bytes| bytes as f64));
        let Results { facts, lost, .. } = &outcome.results;
        let values = observer.side.values(lost, &facts.watch);
        let collections = self.measures.iter().zip(&mut run).filter(|(m, _)| m.source == Source::Collections);
        let is_idle = observer.side.summary.gcs == 0 && lost.total() == 0;
        for ((measure, to), value) in collections.zip(values) {
            *to = value.or_else(|| without_collections(measure).filter(|_| is_idle));
        }
        let gc = &facts.target.gc;
        let version = facts.target.runtime_version.as_deref();
        Observed {
            run,
            seen: Seen {
                version: version.and_then(|version| version.split('.').next()?.parse().ok()),
                server: gc.server,
                concurrent: gc.concurrent,
                heaps: gc.heaps,
                budget_gcs: observer.side.summary.reasons.get(&BUDGET_USED_UP).map_or(0, |gcs| gcs.count),
                most_allocated_bytes: observer.most_allocated_bytes,
            },
            exit,
            said: Vec::new(),
            printed_metric: false,
            runtime_version: version.map(str::to_owned),
            lost: lost.total() > 0,
        }
    }

    fn set(&self, run: &mut Run, source: Source, value: Option<f64>) {
        let of_source = self.measures.iter().zip(run).filter(|(measure, _)| measure.source == source);
        of_source.for_each(|(_, to)| *to = value);
    }
}

/// Waits for the end of a program whose watch has ended.
async fn wait(
    child: &mut Child,
    watched: Result<Outcome, NotWatched>,
    control: &mut Interruptible<'_>,
) -> Result<(Option<Outcome>, ExitStatus), Failure> {
    let outcome = match watched {
        Ok(outcome) if !matches!(outcome.ended, Ended::Again(_)) => outcome,
        Err(NotWatched::Failed(failure)) => {
            // A program that cannot start with its settings ends soon.
            if let Ok(status) = tokio::time::timeout(EARLY_END_TIMEOUT, child.wait()).await
                && let Some(status) = status.ok().filter(|status| !status.success())
            {
                return Ok((None, status));
            }
            kill(child).await;
            return Err(failure);
        }
        again => {
            kill(child).await;
            let failure = Failure::new(Code::INTERRUPTED, "a second signal came");
            return Err(again.err().map_or(failure, NotWatched::into_failure));
        }
    };
    match unless_ended(control, None, child.wait()).await {
        Ok(status) => Ok((Some(outcome), status?)),
        Err(not_watched) => {
            kill(child).await;
            Err(not_watched.into_failure())
        }
    }
}

/// Ends the program at once.
async fn kill(child: &mut Child) {
    if let Err(e) = child.kill().await {
        tracing::debug!("could not end the program: {e}");
    }
}

/// Adds the collections of a run up.
struct Collect {
    side: Side,
    pid: Option<u32>,
    peak_bytes: Option<u64>,
    most_allocated_bytes: Option<u64>,
}

impl Collect {
    fn new(wanted: &[Wanted], suspended: &Suspended) -> Collect {
        Collect {
            side: Side::new(wanted),
            pid: suspended.pid(),
            peak_bytes: None,
            most_allocated_bytes: None,
        }
    }

    /// Looks at the memory of the process.
    fn look(&mut self) {
        self.peak_bytes = self.peak_bytes.max(self.pid.and_then(sys::peak_memory_bytes));
    }
}

impl Observer for Collect {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    fn gc(&mut self, _facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.side.add(gc);
        if gc.complete() {
            self.most_allocated_bytes = self.most_allocated_bytes.max(gc.allocated.map(|all| all.bytes));
        }
        Ok(())
    }

    fn tick_every(&self) -> Option<Duration> {
        Some(LOOK_INTERVAL)
    }

    fn tick(&mut self, _state: &LiveState) -> io::Result<()> {
        self.look();
        Ok(())
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        tracing::debug!("{message}");
        Ok(())
    }
}
