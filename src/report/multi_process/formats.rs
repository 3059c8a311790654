//! Formats that need nothing but a shared writer: NDJSON, CSV.

use std::io::{self, Write};
use std::mem;

use super::lines::{Lines, Shared};
use super::model::{Format, Overall};
use crate::gc::facts::{Exit, Target};
use crate::report::csv::CsvReport;
use crate::report::json::{NdjsonReport, overall_line};
use crate::report::model::{Filter, Report};

/// A format of which `report` makes the report of one process, and `end` the last line.
struct Simple<R, E> {
    out: Shared,
    report: R,
    end: E,
}

impl<R, E> Format for Simple<R, E>
where
    R: FnMut(Lines) -> Box<dyn Report>,
    E: Fn(&Overall, &Exit) -> io::Result<Option<String>>,
{
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        (self.report)(self.out.lines(String::new()))
    }

    fn end(&mut self, overall: &Overall, exit: &Exit) -> io::Result<()> {
        (self.end)(overall, exit)?.map_or(Ok(()), |line| self.out.line(&line))
    }
}

/// The lines of all processes as they come, and a line with the totals at the end.
pub(crate) fn ndjson(out: Box<dyn Write>, filter: Filter) -> Box<dyn Format> {
    let report = move |lines| Box::new(NdjsonReport::new(lines, filter.clone())) as Box<dyn Report>;
    let end = |all: &Overall, exit: &Exit| overall_line(all, exit).map(Some);
    Box::new(Simple { out: Shared::new(out), report, end })
}

/// The rows of all processes as they come, under one header.
pub(crate) fn csv(out: Box<dyn Write>, filter: Filter) -> Box<dyn Format> {
    let mut header = true;
    let report = move |lines| {
        let mut report = CsvReport::new(lines, filter.clone());
        report.header = mem::take(&mut header);
        Box::new(report) as Box<dyn Report>
    };
    Box::new(Simple { out: Shared::new(out), report, end: |_: &Overall, _: &Exit| Ok(None) })
}
