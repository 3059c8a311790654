//! One JSON document. Each collection is written as soon as it ends, and not kept.

use std::io::{self, Write};

use serde::Serialize;

use super::types::assertions::Assertion;
use super::types::collection::Gc as WireGc;
use super::types::document::{self as wire, CUT_OFF, SCHEMA, TOOL};
use super::types::findings as wire_findings;
use super::types::summary::{Summary, Summed};
use super::types::watch::Watch;
use super::wire::{Convert, Wire};
use crate::assertion::Verdict;
use crate::escape::to_json;
use crate::finding::Finding;
use crate::gc::facts::Lost;
use crate::gc::record::Gc;
use crate::gc::summary;
use crate::report::model::{End, Facts, Report};

/// The document of `--format json`. It is valid JSON after any end: where [`Report::end`] is never
/// reached, dropping it closes it with a null summary and the reason "interrupted".
pub(crate) struct JsonReport<W: Write> {
    out: W,
    convert: Convert,
    state: State,
    /// The last facts, to close the document without an end.
    facts: Option<Facts>,
    /// It is one of several documents, and begins with the title and parent of its process.
    pub(super) one_of_several: bool,
}

/// How much of a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    New,
    /// `tool`; the target may still become better known.
    Begun,
    /// Within the list of collections or processes; whether there is one already.
    InList(bool),
    /// All of it.
    Closed,
    /// A write failed: what is out cannot be completed.
    Broken,
}

/// Writes all of a value, or nothing: after half a value a document could not be closed.
pub(super) fn put(out: &mut impl Write, before: &str, value: &impl Serialize, after: &str) -> io::Result<()> {
    let text = to_json(value)?;
    write!(out, "{before}{text}{after}")
}

impl<W: Write> JsonReport<W> {
    /// Writes to `out`.
    pub(crate) fn new(out: W) -> JsonReport<W> {
        JsonReport { out, convert: Convert::default(), state: State::New, facts: None, one_of_several: false }
    }

    /// All of it is written.
    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Completes the document without a summary. Does nothing where it is complete already.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if matches!(self.state, State::Closed | State::Broken) {
            return Ok(());
        }
        let facts = self.facts.take().unwrap_or_default();
        self.attempt(|doc| doc.finish(&facts, None, &[], &[], &Lost::default(), CUT_OFF))
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        let result = write(self).and_then(|()| self.out.flush());
        if result.is_err() {
            self.state = State::Broken;
        }
        result
    }

    fn put(&mut self, before: &str, value: &impl Serialize, after: &str) -> io::Result<()> {
        put(&mut self.out, before, value, after)
    }

    fn put_wired<T: Wire<Of> + Serialize, Of>(
        &mut self,
        before: &str,
        of: &Of,
        after: &str,
    ) -> io::Result<()> {
        let wired: T = self.convert.wire(of);
        self.put(before, &wired, after)
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.state == State::New {
            if self.one_of_several {
                let target = self.facts.as_ref().map(|f| f.target.clone()).unwrap_or_default();
                self.put("{\"title\":", &target.title, ",\n")?;
                self.put("\"parent_pid\":", &target.parent_pid, ",\n\"schema\":")?;
            } else {
                self.out.write_all(b"{\"schema\":")?;
            }
            self.put("", &SCHEMA, ",\n")?;
            self.put("\"tool\":", &TOOL, ",\n")?;
            self.state = State::Begun;
        }
        Ok(())
    }

    fn open_gcs(&mut self, facts: &Facts) -> io::Result<()> {
        self.begin()?;
        if self.state == State::Begun {
            self.put_wired::<wire::Target, _>("\"target\":", &facts.target, ",\n\"gcs\":[")?;
            self.state = State::InList(false);
        }
        Ok(())
    }

    fn finish(
        &mut self,
        facts: &Facts,
        sum: Option<&summary::Summary>,
        verdicts: &[Verdict],
        findings: &[Finding],
        lost: &Lost,
        exit: wire::Exit,
    ) -> io::Result<()> {
        self.open_gcs(facts)?;
        let sum = sum.map(|sum| Summed { sum, duration_ns: facts.watch.duration_ns });
        self.put_wired::<Watch, _>("\n],\n\"watch\":", &facts.watch, ",\n")?;
        self.put_wired::<Option<Summary>, _>("\"summary\":", &sum, ",\n")?;
        let assertions: Vec<Assertion> = self.convert.all(verdicts);
        self.put("\"assertions\":", &assertions, ",\n")?;
        let findings: Vec<wire_findings::Finding> = self.convert.all(findings);
        self.put("\"findings\":", &findings, ",\n")?;
        self.put_wired::<wire::Lost, _>("\"lost\":", lost, ",\n")?;
        self.put("\"exit\":", &exit, "}\n")?;
        self.state = State::Closed;
        Ok(())
    }
}

impl<W: Write> Report for JsonReport<W> {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.facts = Some(facts.clone());
        self.attempt(|doc| doc.begin())
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        if self.facts.as_ref() != Some(facts) {
            self.facts = Some(facts.clone());
        }
        self.attempt(|doc| {
            doc.open_gcs(facts)?;
            let separator = if doc.state == State::InList(true) { ",\n" } else { "\n" };
            doc.put_wired::<WireGc, _>(separator, gc, "")?;
            doc.state = State::InList(true);
            Ok(())
        })
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let exit = self.convert.wire(end.exit);
        self.attempt(|doc| doc.finish(facts, Some(end.summary), end.verdicts, end.findings, end.lost, exit))
    }
}

impl<W: Write> Drop for JsonReport<W> {
    fn drop(&mut self) {
        // There is nobody to report a failure to.
        let _ = self.close();
    }
}
