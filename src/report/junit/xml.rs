//! The document. It keeps to what the schemas of Jenkins (`junit-10.xsd`) and of Ant (`JUnit.xsd`) have in common, except
//! that Ant's knows no attributes of `testsuites`.

use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::cases::Case;

/// The cases of one process, or of the command.
#[derive(Debug, Default)]
pub(super) struct Suite {
    /// What the cases are about: the title of the process.
    pub(super) class: String,
    pub(super) started_at: Option<jiff::Timestamp>,
    pub(super) duration_ns: Option<u64>,
    pub(super) properties: Vec<(&'static str, String)>,
    pub(super) cases: Vec<Case>,
    /// The verdicts, and what is wrong.
    pub(super) lines: Vec<String>,
}

/// The numbers of test cases, as attributes.
fn totals<'c>(cases: impl Iterator<Item = &'c Case> + Clone) -> [(&'static str, String); 3] {
    let faults = cases.clone().filter_map(|case| case.fault.as_ref());
    let count = |name| faults.clone().filter(|fault| fault.element == name).count().to_string();
    [("tests", cases.count().to_string()), ("failures", count("failure")), ("errors", count("error"))]
}

fn seconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000_000)
}

/// Writes a document of these suites.
pub(super) fn write(out: &mut impl Write, suites: &[Suite]) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(&mut *out, b' ', 4);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let totals = totals(suites.iter().flat_map(|suite| &suite.cases));
    xml.create_element("testsuites")
        .with_attribute(("name", "gcwatch"))
        .with_attributes(attributes(&totals))
        .write_inner_content(|xml| {
            suites.iter().enumerate().try_for_each(|(id, suite)| write_suite(xml, id, suite))
        })?;
    writeln!(out)?;
    out.flush()
}

fn attributes<'a>(pairs: &'a [(&'static str, String)]) -> impl Iterator<Item = (&'a str, &'a str)> {
    pairs.iter().map(|(name, value)| (*name, value.as_str()))
}

fn write_suite<W: Write>(xml: &mut Writer<W>, id: usize, suite: &Suite) -> io::Result<()> {
    let mut given = vec![
        ("name", format!("gcwatch {}", suite.class)),
        ("package", "gcwatch".to_owned()),
        ("id", id.to_string()),
        // Ant's schema wants one, and this where it is not known. A recording does not tell.
        ("hostname", "localhost".to_owned()),
    ];
    given.extend(totals(suite.cases.iter()));
    given.push(("skipped", "0".to_owned()));
    // Without a zone, as the schema wants it: UTC.
    given.extend(suite.started_at.map(|at| ("timestamp", at.strftime("%Y-%m-%dT%H:%M:%S").to_string())));
    given.push(("time", seconds(suite.duration_ns.unwrap_or(0))));
    xml.create_element("testsuite").with_attributes(attributes(&given)).write_inner_content(|xml| {
        xml.create_element("properties").write_inner_content(|xml| {
            for (name, value) in &suite.properties {
                let property = xml.create_element("property");
                property.with_attributes([("name", *name), ("value", value)]).write_empty()?;
            }
            Ok(())
        })?;
        suite.cases.iter().try_for_each(|case| write_case(xml, &suite.class, case))?;
        xml.create_element("system-out").write_text_content(BytesText::new(&suite.lines.join("\n")))?;
        xml.create_element("system-err").write_empty()?;
        Ok(())
    })?;
    Ok(())
}

fn write_case<W: Write>(xml: &mut Writer<W>, class: &str, case: &Case) -> io::Result<()> {
    let time = seconds(case.duration_ns);
    let element = xml.create_element("testcase").with_attributes([
        ("name", case.name.as_str()),
        ("classname", class),
        ("time", &time),
    ]);
    let Some(fault) = &case.fault else { return element.write_empty().map(drop) };
    element.write_inner_content(|xml| {
        let body: Vec<&str> =
            std::iter::once(&fault.message).chain(&fault.details).map(String::as_str).collect();
        xml.create_element(fault.element)
            .with_attributes([("type", fault.kind), ("message", &fault.message)])
            .write_text_content(BytesText::new(&body.join("\n")))?;
        Ok(())
    })?;
    Ok(())
}
