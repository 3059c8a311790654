//! Connects a watch with its report: shows each collection to the assertions and the rules, and writes it.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::time::Duration;

use super::stderr::say;
use crate::assertion::{Assertions, StopCondition, Verdict};
use crate::finding::{Finding, Rules};
use crate::gc::facts::{Facts, LiveState};
use crate::gc::record::Gc;
use crate::gc::summary::Summary;
use crate::report::{MultiProcess, Report};
use crate::watch::aggregator::Results;
use crate::watch::observer::Observer;

/// The report of a watch.
enum Source {
    Single(Box<dyn Report>),
    /// For one of several processes: the report is made when the target is known.
    Process(Rc<RefCell<MultiProcess>>),
}

/// Writes one watch to its report, and shows its collections to the assertions and the rules.
pub(crate) struct ReportObserver {
    source: Source,
    assertions: Assertions,
    rules: Rules,
    warnings: Warnings,
    /// `--graph-at`.
    graph_at: Vec<StopCondition>,
    /// Which of these was met first, and by which collection.
    graph_met: Option<(usize, Option<u32>)>,
    /// The warnings that were written to stderr already.
    said: HashSet<String>,
    /// The reader of the report has closed the pipe (`| head`), but there are assertions to judge.
    reader_gone: bool,
}

/// Where warnings go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Warnings {
    /// To the report, which shows them (text).
    Report,
    /// To stderr: the other formats cannot hold them.
    Stderr,
    /// Nowhere, in a replay: gcwatch wrote them when the stream was recorded.
    Nowhere,
}

impl ReportObserver {
    pub(crate) fn new(
        report: Box<dyn Report>,
        assertions: &Assertions,
        warnings: Warnings,
    ) -> ReportObserver {
        ReportObserver::with(Source::Single(report), assertions, warnings)
    }

    pub(crate) fn of_process(
        several: Rc<RefCell<MultiProcess>>,
        assertions: &Assertions,
        warnings: Warnings,
    ) -> ReportObserver {
        ReportObserver::with(Source::Process(several), assertions, warnings)
    }

    fn with(source: Source, assertions: &Assertions, warnings: Warnings) -> ReportObserver {
        let assertions = assertions.clone();
        ReportObserver {
            source,
            assertions,
            rules: Rules::default(),
            warnings,
            graph_at: Vec::new(),
            graph_met: None,
            said: HashSet::new(),
            reader_gone: false,
        }
    }

    /// With the conditions of `--graph-at`.
    #[must_use]
    pub(crate) fn with_graph_at(mut self, conditions: &[StopCondition]) -> ReportObserver {
        self.graph_at = conditions.to_vec();
        self
    }

    /// The verdicts on the whole watch.
    pub(crate) fn verdicts(&self, results: &Results) -> Vec<Verdict> {
        self.assertions.judge(&results.summary, &results.lost, &results.facts.watch)
    }

    /// The verdicts if nothing could be watched.
    pub(crate) fn unjudged(&self, why: &'static str) -> Vec<Verdict> {
        self.assertions.unjudged(why)
    }

    /// What is wrong with the collections of the whole watch.
    pub(crate) fn findings(&self, facts: &Facts, summary: &Summary) -> Vec<Finding> {
        self.rules.findings(facts, summary)
    }

    /// Writes to the report. If there are assertions to judge, a closed pipe does not end the watch.
    pub(crate) fn write(&mut self, what: impl FnOnce(&mut dyn Report) -> io::Result<()>) -> io::Result<()> {
        let Source::Single(report) = &mut self.source else { return Ok(()) };
        if self.reader_gone {
            return Ok(());
        }
        match what(report.as_mut()) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe && !self.assertions.is_empty() => {
                self.reader_gone = true;
                Ok(())
            }
            written => written,
        }
    }
}

impl Observer for ReportObserver {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        if let Source::Process(several) = &self.source {
            let report = several.borrow_mut().process(&facts.target);
            self.source = Source::Single(report);
        }
        self.write(|report| report.start(facts))
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.assertions.add(gc);
        self.rules.add(gc);
        if gc.complete() && self.graph_met.is_none() {
            let met = self.graph_at.iter_mut().position(|condition| condition.add(gc));
            self.graph_met = met.map(|nth| (nth, gc.number));
        }
        self.write(|report| report.gc(facts, gc))
    }

    fn ends_watch(&self) -> bool {
        self.assertions.end_watch()
    }

    fn keeps(&self) -> Option<&str> {
        self.assertions.keeps()
    }

    fn wants_graph(&self) -> Option<(&str, Option<u32>)> {
        let (nth, number) = self.graph_met?;
        Some((self.graph_at.get(nth)?.text(), number))
    }

    fn tick_every(&self) -> Option<Duration> {
        match &self.source {
            Source::Single(report) if !self.reader_gone => report.tick_every(),
            _ => None,
        }
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        self.write(|report| report.tick(state))
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        match self.warnings {
            Warnings::Report => return self.write(|report| report.warn(message)),
            Warnings::Stderr if self.said.insert(message.to_owned()) => say(&format!("gcwatch: {message}")),
            Warnings::Stderr | Warnings::Nowhere => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::report::JsonReport;

    #[derive(Debug)]
    struct Closed(ErrorKind);

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn with_assertions_a_closed_pipe_is_ignored_but_a_full_disk_is_not() {
        let owed = Assertions::new("pause.max < 1s".parse().ok());
        let start = |kind, assertions: &Assertions| {
            let report = Box::new(JsonReport::new(Closed(kind)));
            let mut observer = ReportObserver::new(report, assertions, Warnings::Stderr);
            let started = observer.start(&Facts::default()).map_err(|e| e.kind());
            (started, observer.write(|report| report.tick(&LiveState::default())).is_ok())
        };
        assert_eq!(start(ErrorKind::BrokenPipe, &owed), (Ok(()), true));
        assert_eq!(start(ErrorKind::BrokenPipe, &Assertions::default()).0, Err(ErrorKind::BrokenPipe));
        assert_eq!(start(ErrorKind::StorageFull, &owed).0, Err(ErrorKind::StorageFull));
    }
}
