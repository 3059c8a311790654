//! `--format junit`: the assertions as test cases, which CI shows like tests.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::model::{End, Facts, Report};
use super::multi_process::model::{Format, Overall};
use super::style::Terminal;
use super::units::Units;
use super::verdicts::verdict_lines;
use super::{in_short, missing};
use crate::assertion::Verdict;
use crate::escape::escape_untrusted;
use crate::gc::facts::{Exit, Target};

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

/// One assertion.
#[derive(Debug)]
struct Case {
    name: String,
    /// The element that says so: "failure" where the assertion does not hold, "error" where there is no verdict.
    unsuccessful: Option<&'static str>,
    line: String,
}

/// One process.
#[derive(Debug)]
struct Suite {
    name: String,
    duration_ns: Option<u64>,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
    /// What is wrong, in lines.
    findings: Vec<String>,
}

fn case(verdict: &Verdict, units: Units) -> Case {
    let look = Terminal { columns: 400, rows: None, colour: false, live: false, unicode: true };
    let line = verdict_lines(std::slice::from_ref(verdict), look, units).swap_remove(0);
    let unsuccessful = match verdict.holds {
        Some(true) => None,
        Some(false) => Some("failure"),
        None => Some("error"),
    };
    Case { name: escape_untrusted(&verdict.text), unsuccessful, line: escape_untrusted(&line) }
}

impl<W: Write> Report for JunitReport<W> {
    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        write(&mut self.out, &[suite(facts, end, self.units)])
    }
}

fn suite(facts: &Facts, end: &End<'_>, units: Units) -> Suite {
    let title = facts.target.title.as_deref().unwrap_or("process");
    let mut properties = vec![
        ("level", facts.watch.level.name().to_owned()),
        ("collections", end.summary.gcs.to_string()),
        ("background_gc", facts.watch.background_gc.name().to_owned()),
    ];
    properties.extend(end.lost.gap.map(|gap| ("incomplete", missing::gap(gap))));
    properties.extend(facts.target.pid.map(|pid| ("pid", pid.to_string())));
    Suite {
        name: format!("gcwatch {}", escape_untrusted(title)),
        duration_ns: facts.watch.duration_ns,
        properties,
        cases: end.verdicts.iter().map(|verdict| case(verdict, units)).collect(),
        findings: in_short::shown(end.findings, units, true)
            .into_iter()
            .map(|finding| format!("{}: {}. {}.", finding.id, finding.title, finding.remedy))
            .collect(),
    }
}

/// The numbers of test cases, as attributes.
fn totals<'c>(cases: impl Iterator<Item = &'c Case> + Clone) -> [(&'static str, String); 4] {
    let count = |name| cases.clone().filter(|case| case.unsuccessful == Some(name)).count().to_string();
    [
        ("tests", cases.clone().count().to_string()),
        ("skipped", "0".to_owned()),
        ("failures", count("failure")),
        ("errors", count("error")),
    ]
}

fn write(out: &mut impl Write, suites: &[Suite]) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(&mut *out, b' ', 4);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let totals = totals(suites.iter().flat_map(|suite| &suite.cases));
    xml.create_element("testsuites")
        .with_attribute(("name", "gcwatch"))
        .with_attributes(attributes(&totals))
        .write_inner_content(|xml| suites.iter().try_for_each(|suite| write_suite(xml, suite)))?;
    writeln!(out)?;
    out.flush()
}

fn attributes<'a>(pairs: &'a [(&'static str, String)]) -> impl Iterator<Item = (&'a str, &'a str)> {
    pairs.iter().map(|(name, value)| (*name, value.as_str()))
}

fn write_suite<W: Write>(xml: &mut Writer<W>, suite: &Suite) -> io::Result<()> {
    let totals = totals(suite.cases.iter());
    let mut element = xml
        .create_element("testsuite")
        .with_attribute(("name", suite.name.as_str()))
        .with_attributes(attributes(&totals));
    if let Some(ns) = suite.duration_ns {
        let seconds = format!("{}.{:03}", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000_000);
        element = element.with_attribute(("time", seconds.as_str()));
    }
    element.write_inner_content(|xml| {
        xml.create_element("properties").write_inner_content(|xml| {
            for (name, value) in &suite.properties {
                let property = xml.create_element("property");
                property.with_attributes([("name", *name), ("value", value)]).write_empty()?;
            }
            Ok(())
        })?;
        suite.cases.iter().try_for_each(|case| write_case(xml, case))?;
        if !suite.findings.is_empty() {
            let text = suite.findings.join("\n");
            xml.create_element("system-out").write_text_content(BytesText::new(&text))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn write_case<W: Write>(xml: &mut Writer<W>, case: &Case) -> io::Result<()> {
    let element = xml.create_element("testcase");
    let element = element.with_attributes([("name", case.name.as_str()), ("classname", "gcwatch")]);
    element.write_inner_content(|xml| {
        if let Some(name) = case.unsuccessful {
            xml.create_element(name).with_attribute(("message", case.line.trim())).write_empty()?;
        }
        xml.create_element("system-out").write_text_content(BytesText::new(&case.line))?;
        Ok(())
    })?;
    Ok(())
}

/// A test suite per process.
pub(crate) struct JunitProcesses<W: Write> {
    out: W,
    units: Units,
    suites: Rc<RefCell<Vec<Suite>>>,
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
        write(&mut self.out, &self.suites.take())
    }
}

/// The suite of one process.
#[derive(Debug)]
struct Part {
    units: Units,
    suites: Rc<RefCell<Vec<Suite>>>,
}

impl Report for Part {
    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let mut suite = suite(facts, end, self.units);
        let mut suites = self.suites.borrow_mut();
        // A process id in the name would change it with every run, and CI would lose its history.
        let first = suite.name.clone();
        let mut n = 1;
        while suites.iter().any(|other| other.name == suite.name) {
            n += 1;
            suite.name = format!("{first} ({n})");
        }
        suites.push(suite);
        Ok(())
    }
}
