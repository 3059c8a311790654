//! `--format junit`: the bounds as test cases, so that CI shows them beside the tests.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, TestCase, TestCaseStatus, TestSuite};

use super::units::Units;
use super::{End, Facts, Report, Terminal, verdict_lines};
use crate::check::Verdict;
use crate::gc::record::Gc;

/// One XML document, written at the end.
pub(crate) struct JunitReport<W: Write> {
    out: W,
    units: Units,
}

impl<W: Write> fmt::Debug for JunitReport<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JunitReport").finish_non_exhaustive()
    }
}

impl<W: Write> JunitReport<W> {
    /// A document that goes to `out`.
    pub(crate) fn new(out: W, units: Units) -> JunitReport<W> {
        JunitReport { out, units }
    }

    fn case(&self, verdict: &Verdict) -> TestCase {
        let look = Terminal { columns: 400, rows: None, colour: false, live: false, unicode: true };
        let line = verdict_lines(std::slice::from_ref(verdict), look, self.units).swap_remove(0);
        let status = match verdict.holds {
            Some(true) => TestCaseStatus::success(),
            // "Error" is a test that came to no result, "failure" one that came to a bad one.
            other => {
                let kind = if other.is_none() { NonSuccessKind::Error } else { NonSuccessKind::Failure };
                let mut status = TestCaseStatus::non_success(kind);
                status.set_message(line.trim());
                status
            }
        };
        let mut case = TestCase::new(verdict.text.as_str(), status);
        case.set_classname("gcwatch");
        case.set_system_out(line);
        case
    }
}

impl<W: Write> Report for JunitReport<W> {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    fn gc(&mut self, _facts: &Facts, _gc: &Gc) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let title = facts.target.title.as_deref().unwrap_or("process");
        let mut suite = TestSuite::new(format!("gcwatch {title}"));
        if let Some(ns) = facts.watch.duration_ns {
            suite.set_time(Duration::from_nanos(ns));
        }
        let mut tell = |name: &str, value: String| {
            suite.add_property(Property::new(name, value));
        };
        tell("level", facts.watch.level.name().to_owned());
        tell("collections", end.summary.gcs.to_string());
        tell("background_gc", facts.watch.background_gc.name().to_owned());
        suite.add_test_cases(end.verdicts.iter().map(|v| self.case(v)));
        let mut report = quick_junit::Report::new("gcwatch");
        report.add_test_suite(suite);
        report.serialize(&mut self.out).map_err(io::Error::other)?;
        self.out.flush()
    }
}
