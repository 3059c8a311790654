//! The interface of the output formats: the trait [`Report`] and what it is told about a watch.

use std::io;
use std::time::Duration;

use crate::assertion::Verdict;
use crate::finding::Finding;
use crate::gc::facts::{Exit, Lost};
pub(crate) use crate::gc::facts::{Facts, LiveState};
use crate::gc::generation::Generation;
use crate::gc::record::Gc;
use crate::gc::summary::Summary;

/// Upper bounds, in bytes, of the rows of a histogram of block sizes; the last row has no bound.
pub(crate) const SIZE_BOUNDS: [u64; 8] =
    [1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// How a watch ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) lost: &'a Lost,
    /// One for each assertion, in the order in which they were given.
    pub(crate) verdicts: &'a [Verdict],
    /// What is wrong, the most important first.
    pub(crate) findings: &'a [Finding],
    pub(crate) exit: &'a Exit,
}

/// An output format. The calls come in this order: one `start`; any number of `gc`, `tick` and `warn`; one `end`. Every
/// error is an error of the writer.
pub(crate) trait Report {
    /// The watch runs.
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    /// A collection ended. Its record, complete or incomplete, never changes again.
    fn gc(&mut self, _facts: &Facts, _gc: &Gc) -> io::Result<()> {
        Ok(())
    }

    /// How often the format needs a [tick](Self::tick) now; `None`: never. Each tick may wake a sleeping processor.
    fn tick_every(&self) -> Option<Duration> {
        None
    }

    /// Called every [`tick_every`](Self::tick_every), also when no collection ended.
    fn tick(&mut self, _state: &LiveState) -> io::Result<()> {
        Ok(())
    }

    /// A warning and its remedy, in one line. A format without a place for it writes nothing: then the caller prints
    /// it on stderr.
    fn warn(&mut self, _message: &str) -> io::Result<()> {
        Ok(())
    }

    /// Nothing could be watched or read: the only call. For scripts, a report without collections; people get a message
    /// on stderr.
    fn nothing_watched(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.start(facts)?;
        self.end(facts, end)
    }

    /// The watch ended.
    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()>;
}

/// A report that passes every call on to another one.
pub(crate) trait Forward {
    /// The other report, if it still takes calls.
    fn inner(&self) -> Option<&dyn Report>;

    /// Makes one call of the other report, if it still takes calls.
    fn forward(&mut self, call: &mut dyn FnMut(&mut dyn Report) -> io::Result<()>) -> io::Result<()>;

    /// Called before the other report ends.
    fn ending(&mut self, _end: &End<'_>) -> io::Result<()> {
        Ok(())
    }
}

impl<T: Forward> Report for T {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.forward(&mut |report| report.start(facts))
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.forward(&mut |report| report.gc(facts, gc))
    }

    fn tick_every(&self) -> Option<Duration> {
        self.inner()?.tick_every()
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        self.forward(&mut |report| report.tick(state))
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        self.forward(&mut |report| report.warn(message))
    }

    fn nothing_watched(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.ending(end)?;
        self.forward(&mut |report| report.nothing_watched(facts, end))
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.ending(end)?;
        self.forward(&mut |report| report.end(facts, end))
    }
}

/// Which collections text, CSV and NDJSON write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Only collections that stopped the program at least this long, ns.
    pub(crate) min_pause_ns: Option<u64>,
    /// Only these generations; empty: all.
    pub(crate) generations: Vec<Generation>,
}

impl Filter {
    /// Whether the filter lets a collection through. A figure that is not known hides no collection.
    pub(crate) fn shows(&self, gc: &Gc) -> bool {
        let long = match (self.min_pause_ns, gc.pause_ns) {
            (Some(min), Some(pause)) => pause >= min,
            _ => true,
        };
        let wanted = gc.generation.is_none_or(|generation| self.generations.contains(&generation));
        long && (wanted || self.generations.is_empty())
    }
}
