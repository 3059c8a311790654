//! `--format junit`: test cases, which CI shows and keeps the history of. The assertions are cases, and so are the watch
//! itself and how the program ended. A case is known by the names of suite, process and case: none of them holds a bound, a
//! value or a process id, so a case stays the same one when those change.

mod cases;
mod xml;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::rc::Rc;

use super::in_short;
use super::missing;
use super::model::{End, Facts, Report};
use super::multi_process::model::{Format, Overall};
use super::outcome;
use super::units::Units;
use super::verdicts::in_one_line;
use crate::escape::escape_untrusted;
use crate::gc::facts::{Exit, Target};
use cases::{assertions, program, watch};
use xml::{Suite, write};

/// The class of the cases about a command that started several processes.
const COMMAND: &str = "command";

/// One XML document, written at the end.
pub(crate) struct JunitReport<W: Write> {
    out: W,
    units: Units,
}

impl<W: Write> JunitReport<W> {
    /// A document that goes to `out`.
    pub(crate) fn new(out: W, units: Units) -> JunitReport<W> {
        JunitReport { out, units }
    }
}

impl<W: Write> Report for JunitReport<W> {
    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let mut suite = suite(facts, end, self.units);
        suite.cases.extend(program(end.exit, suite.duration_ns));
        write(&mut self.out, &[suite])
    }
}

/// The suite of one process, without the case of its end.
fn suite(facts: &Facts, end: &End<'_>, units: Units) -> Suite {
    let mut properties = vec![
        ("level", facts.watch.level.name().to_owned()),
        ("collections", end.summary.gcs.to_string()),
        ("background_gc", facts.watch.background_gc.name().to_owned()),
    ];
    properties.extend(end.lost.gap.map(|gap| ("incomplete", missing::gap(gap))));
    properties.extend(facts.target.pid.map(|pid| ("pid", pid.to_string())));
    let mut cases = vec![watch(outcome::fault(facts, end))];
    cases.extend(assertions(end.verdicts, units));
    let mut lines: Vec<String> =
        end.verdicts.iter().map(|verdict| escape_untrusted(&in_one_line(verdict, units))).collect();
    let findings = in_short::shown(end.findings, units, true);
    lines.extend(findings.iter().map(|f| format!("{}: {}. {}.", f.id, f.title, f.remedy)));
    Suite {
        class: escape_untrusted(facts.target.title.as_deref().unwrap_or("process")),
        started_at: facts.watch.started_at,
        duration_ns: facts.watch.duration_ns,
        properties,
        cases,
        lines,
    }
}

/// A test suite for each process, and one for the command that started them.
pub(crate) struct JunitProcesses<W: Write> {
    out: W,
    units: Units,
    /// In the order in which the processes started; `None`: its report has not ended.
    suites: Rc<RefCell<Vec<Option<Suite>>>>,
}

impl<W: Write> JunitProcesses<W> {
    /// A document that goes to `out`.
    pub(crate) fn new(out: W, units: Units) -> JunitProcesses<W> {
        JunitProcesses { out, units, suites: Rc::default() }
    }
}

impl<W: Write> Format for JunitProcesses<W> {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        let mut suites = self.suites.borrow_mut();
        suites.push(None);
        Box::new(Part { units: self.units, suites: Rc::clone(&self.suites), place: suites.len() - 1 })
    }

    fn end(&mut self, _overall: &Overall, exit: &Exit) -> io::Result<()> {
        let mut suites: Vec<Suite> = self.suites.take().into_iter().flatten().collect();
        tell_apart(&mut suites);
        suites.extend(command(&suites, exit));
        write(&mut self.out, &suites)
    }
}

/// Processes of one name get numbers. A process id would change with every run, and CI would lose the history.
fn tell_apart(suites: &mut [Suite]) {
    let mut taken: HashSet<String> = HashSet::new();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    for suite in suites {
        let n = numbers.entry(suite.class.clone()).or_insert(1);
        let name = suite.class.clone();
        while !taken.insert(suite.class.clone()) {
            *n += 1;
            suite.class = format!("{name} ({n})");
        }
    }
}

/// The suite of the command that started the processes; `None`: there is no command, and the suites say all.
fn command(suites: &[Suite], exit: &Exit) -> Option<Suite> {
    let said = suites.iter().flat_map(|suite| &suite.cases).any(|case| case.fault.is_some());
    let fault = outcome::unexplained(exit).filter(|_| !said);
    if exit.child.is_none() && fault.is_none() {
        return None;
    }
    let mut cases = vec![watch(fault)];
    cases.extend(program(exit, None));
    let started_at = suites.iter().filter_map(|suite| suite.started_at).min();
    Some(Suite { class: COMMAND.to_owned(), started_at, cases, ..Suite::default() })
}

/// The suite of one process.
#[derive(Debug)]
struct Part {
    units: Units,
    suites: Rc<RefCell<Vec<Option<Suite>>>>,
    place: usize,
}

impl Report for Part {
    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let suite = suite(facts, end, self.units);
        if let Some(place) = self.suites.borrow_mut().get_mut(self.place) {
            *place = Some(suite);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
