//! One line of JSON per collection, between a line about the target and one with the summary.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use super::types::assertions::Assertion;
use super::types::collection::Gc as WireGc;
use super::types::document::{self as wire, SCHEMA, TOOL};
use super::types::findings::Finding;
use super::types::processes::Overall as WireOverall;
use super::types::summary::{Summary, Summed};
use super::types::watch::Watch;
use super::wire::Convert;
use crate::escape::to_json;
use crate::gc::facts;
use crate::gc::record::Gc;
use crate::report::model::{End, Facts, Filter, Report};
use crate::report::multi_process::model::Overall;

/// One line of `--format ndjson`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Line {
    /// The first line.
    Start(Start),
    /// One garbage collection.
    Gc(GcLine),
    /// The last line of a process.
    End(EndLine),
    /// The last line of all, where several processes were watched.
    Overall(OverallLine),
}

/// What is watched, as far as it is known when the watch begins.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    /// Always "gcwatch/1".
    schema: &'static str,
    tool: wire::Tool,
    pid: Option<u32>,
    /// A recording cannot tell this.
    parent_pid: Option<u32>,
    /// What people call the process.
    /// A recording whose target was killed has no end that tells it.
    title: Option<String>,
    target: wire::Target,
    watch: Watch,
}

/// A collection, with the process it belongs to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct GcLine {
    pid: Option<u32>,
    #[serde(flatten)]
    gc: WireGc,
}

/// Everything that was only known at the end.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pid: Option<u32>,
    target: wire::Target,
    watch: Watch,
    summary: Summary,
    /// The verdicts on `--assert`.
    assertions: Vec<Assertion>,
    /// What is wrong, the most important first.
    findings: Vec<Finding>,
    lost: wire::Lost,
    exit: wire::Exit,
}

/// What all processes add up to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OverallLine {
    summary: WireOverall,
    exit: wire::Exit,
}

/// The last line where several processes were watched, without its end.
pub(crate) fn overall_line(all: &Overall, how: &facts::Exit) -> io::Result<String> {
    let mut to = Convert::default();
    to_json(&Line::Overall(OverallLine { summary: to.wire(all), exit: to.wire(how) }))
}

/// Writes and flushes line by line: of a truncated stream only the last line is incomplete.
pub(crate) struct NdjsonReport<W: Write> {
    out: W,
    filter: Filter,
    convert: Convert,
}

impl<W: Write> NdjsonReport<W> {
    /// Writes the collections that `filter` lets through; the summary is that of all.
    pub(crate) fn new(out: W, filter: Filter) -> NdjsonReport<W> {
        NdjsonReport { out, filter, convert: Convert::default() }
    }

    fn put(&mut self, line: &Line) -> io::Result<()> {
        let text = to_json(line)? + "\n";
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Report for NdjsonReport<W> {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        let start = Start {
            schema: SCHEMA,
            tool: TOOL,
            pid: facts.target.pid,
            parent_pid: facts.target.parent_pid,
            title: facts.target.title.clone(),
            target: self.convert.wire(&facts.target),
            watch: self.convert.wire(&facts.watch),
        };
        self.put(&Line::Start(start))
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        if !self.filter.shows(gc) {
            return Ok(());
        }
        let gc = self.convert.wire(gc);
        self.put(&Line::Gc(GcLine { pid: facts.target.pid, gc }))
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let line = EndLine {
            pid: facts.target.pid,
            target: self.convert.wire(&facts.target),
            watch: self.convert.wire(&facts.watch),
            summary: self.convert.wire(&Summed { sum: end.summary, duration_ns: facts.watch.duration_ns }),
            assertions: self.convert.all(end.verdicts),
            findings: self.convert.all(end.findings),
            lost: self.convert.wire(end.lost),
            exit: self.convert.wire(end.exit),
        };
        self.put(&Line::End(line))
    }
}
