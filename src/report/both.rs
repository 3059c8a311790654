//! Two reports of the same watch.

use std::io;
use std::time::Duration;

use super::model::{End, Facts, LiveState, Report};
use super::multi_process::model::{Format, Overall};
use crate::gc::facts::{Exit, Target};
use crate::gc::record::Gc;

/// A report, and a second one after it. Ticks and warnings are for the first only.
pub(crate) struct Both<T: ?Sized>(pub(crate) Box<T>, pub(crate) Box<T>);

impl Report for Both<dyn Report> {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.0.start(facts)?;
        self.1.start(facts)
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.0.gc(facts, gc)?;
        self.1.gc(facts, gc)
    }

    fn tick_every(&self) -> Option<Duration> {
        self.0.tick_every()
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        self.0.tick(state)
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        self.0.warn(message)
    }

    fn nothing_watched(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.0.nothing_watched(facts, end)?;
        self.1.nothing_watched(facts, end)
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.0.end(facts, end)?;
        self.1.end(facts, end)
    }
}

impl Format for Both<dyn Format> {
    fn process(&mut self, target: &Target) -> Box<dyn Report> {
        Box::new(Both(self.0.process(target), self.1.process(target)))
    }

    fn not_watched(&mut self, facts: &Facts, why: &str, end: &End<'_>) -> io::Result<()> {
        self.0.not_watched(facts, why, end)?;
        self.1.not_watched(facts, why, end)
    }

    fn end(&mut self, overall: &Overall, exit: &Exit) -> io::Result<()> {
        self.0.end(overall, exit)?;
        self.1.end(overall, exit)
    }
}
