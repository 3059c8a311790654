//! `--at`: watches a process, without the profiler if possible, until a collection meets a condition.

use std::future;
use std::io;

use crate::assertion::{Assertions, StopCondition};
use crate::command::request;
use crate::exit::{Code, Failure};
use crate::gc::facts::Facts;
use crate::gc::record::{Gc, Level};
use crate::sys::Signal;
use crate::target::Found;
use crate::watch::control::{Control, Ended, NotWatched, OnSignal, Order};
use crate::watch::observer::Observer;
use crate::watch::request::WatchRequest;
use crate::watch::run::{self, WatchSource};

/// Watches until one of the conditions is met.
pub(super) async fn condition(conditions: &[StopCondition], found: &Found) -> Result<(), NotWatched> {
    let mut observer = Until(Assertions::default().and_stop_on(conditions, false));
    let request =
        WatchRequest { demanded: Some(observer.0.level().unwrap_or(Level::Basic)), ..request::basic() };
    let outcome = run::run(&request, WatchSource::Running(found), &mut observer, &mut Nobody).await?;
    match outcome.ended {
        Ended::Condition => Ok(()),
        _ => Err(Failure::new(
            Code::NO_TARGET,
            "the process ended before a collection met the condition of --at",
        )
        .into()),
    }
}

/// Shows the collections to the conditions.
struct Until(Assertions);

impl Observer for Until {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    fn gc(&mut self, _facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.0.add(gc);
        Ok(())
    }

    fn ends_watch(&self) -> bool {
        self.0.end_watch()
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        tracing::debug!("{message}");
        Ok(())
    }
}

/// Signals end the whole command, so none comes here.
struct Nobody;

impl Control for Nobody {
    async fn order(&mut self) -> Order {
        future::pending().await
    }

    fn on_signal(&mut self, _signal: Signal) -> OnSignal {
        OnSignal::Stop
    }
}
