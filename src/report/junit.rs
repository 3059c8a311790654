//! `--format junit`: the bounds as test cases, so that CI shows them beside the tests.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, TestCase, TestCaseStatus, TestSuite};

use super::missing;
use super::overall::Overall;
use super::together::Format;
use super::units::Units;
use super::{End, Facts, Report, Terminal, verdict_lines};
use crate::check::Verdict;
use crate::gc::facts::{Exit, Target};
use crate::gc::record::Gc;
use crate::visible::visible;

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
}

fn case(verdict: &Verdict, units: Units) -> TestCase {
    let look = Terminal { columns: 400, rows: None, colour: false, live: false, unicode: true };
    let line = verdict_lines(std::slice::from_ref(verdict), look, units).swap_remove(0);
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

impl<W: Write> Report for JunitReport<W> {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    fn gc(&mut self, _facts: &Facts, _gc: &Gc) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        write(&mut self.out, vec![suite(facts, end, self.units)])
    }
}

fn suite(facts: &Facts, end: &End<'_>, units: Units) -> TestSuite {
    let title = facts.target.title.as_deref().unwrap_or("process");
    let mut suite = TestSuite::new(format!("gcwatch {}", visible(title)));
    if let Some(ns) = facts.watch.duration_ns {
        suite.set_time(Duration::from_nanos(ns));
    }
    let mut tell = |name: &str, value: String| {
        suite.add_property(Property::new(name, value));
    };
    tell("level", facts.watch.level.name().to_owned());
    tell("collections", end.summary.gcs.to_string());
    tell("background_gc", facts.watch.background_gc.name().to_owned());
    end.lost.gap.into_iter().for_each(|gap| tell("incomplete", missing::gap(gap)));
    facts.target.pid.into_iter().for_each(|pid| tell("pid", pid.to_string()));
    suite.add_test_cases(end.verdicts.iter().map(|v| case(v, units)));
    suite
}

fn write(out: &mut impl Write, suites: Vec<TestSuite>) -> io::Result<()> {
    let mut report = quick_junit::Report::new("gcwatch");
    report.add_test_suites(suites);
    report.serialize(&mut *out).map_err(io::Error::other)?;
    out.flush()
}

/// A test suite per process.
pub(crate) struct JunitProcesses<W: Write> {
    out: W,
    units: Units,
    suites: Rc<RefCell<Vec<TestSuite>>>,
}

impl<W: Write> fmt::Debug for JunitProcesses<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JunitProcesses").finish_non_exhaustive()
    }
}

impl<W: Write> JunitProcesses<W> {
    /// A document that goes to `out`.
    pub(crate) fn new(out: W, units: Units) -> JunitProcesses<W> {
        JunitProcesses { out, units, suites: Rc::default() }
    }
}

impl<W: Write> Format for JunitProcesses<W> {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        Box::new(Part { units: self.units, suites: Rc::clone(&self.suites) })
    }

    fn end(&mut self, _overall: &Overall, _exit: &Exit) -> io::Result<()> {
        write(&mut self.out, self.suites.take())
    }
}

/// The suite of one process.
#[derive(Debug)]
struct Part {
    units: Units,
    suites: Rc<RefCell<Vec<TestSuite>>>,
}

impl Report for Part {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    fn gc(&mut self, _facts: &Facts, _gc: &Gc) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let mut suite = suite(facts, end, self.units);
        let mut suites = self.suites.borrow_mut();
        // A name with a process id in it would be another one in every run, and its history lost.
        let first = suite.name.to_string();
        let mut n = 1;
        while suites.iter().any(|other| other.name == suite.name) {
            n += 1;
            suite.name = format!("{first} ({n})").into();
        }
        suites.push(suite);
        Ok(())
    }
}
