//! Formats that need nothing but a shared writer: NDJSON, CSV, Markdown.

use std::io::{self, Write};

use super::lines::Shared;
use super::model::{Format, Overall};
use super::text::total;
use crate::gc::facts::{Exit, Target};
use crate::report::csv::CsvReport;
use crate::report::json::{NdjsonReport, overall_line};
use crate::report::markdown::MarkdownReport;
use crate::report::model::{Filter, Report};
use crate::report::units::Units;

/// The lines of all processes as they come, and a line with the totals at the end.
pub(crate) struct Ndjson {
    out: Shared,
    filter: Filter,
}

impl Ndjson {
    pub(crate) fn new(out: Box<dyn Write>, filter: Filter) -> Ndjson {
        Ndjson { out: Shared::new(out), filter }
    }
}

impl Format for Ndjson {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        Box::new(NdjsonReport::new(self.out.lines(String::new())).filtered(self.filter.clone()))
    }

    fn end(&mut self, overall: &Overall, exit: &Exit) -> io::Result<()> {
        self.out.line(&overall_line(overall, exit)?)
    }
}

/// The rows of all processes as they come, under one header.
pub(crate) struct Csv {
    out: Shared,
    filter: Filter,
    begun: bool,
}

impl Csv {
    pub(crate) fn new(out: Box<dyn Write>, filter: Filter) -> Csv {
        Csv { out: Shared::new(out), filter, begun: false }
    }
}

impl Format for Csv {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        let report = CsvReport::new(self.out.lines(String::new()), self.filter.clone());
        let header = !std::mem::replace(&mut self.begun, true);
        Box::new(if header { report } else { report.without_header() })
    }

    fn end(&mut self, _overall: &Overall, _exit: &Exit) -> io::Result<()> {
        Ok(())
    }
}

/// A section for each process when it ends, and one with the totals at the end.
pub(crate) struct Markdown {
    out: Shared,
    units: Units,
}

impl Markdown {
    pub(crate) fn new(out: Box<dyn Write>, units: Units) -> Markdown {
        Markdown { out: Shared::new(out), units }
    }
}

impl Format for Markdown {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        Box::new(MarkdownReport::new(self.out.lines(String::new()), self.units).one_of_several())
    }

    fn end(&mut self, overall: &Overall, _exit: &Exit) -> io::Result<()> {
        self.out.line(&format!("### gcwatch: all processes\n\n{}", total(overall, true)))
    }
}
