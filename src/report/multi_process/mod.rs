//! One report of several processes: each has its own [`Report`], and all of them write to one place.

mod formats;
mod lines;
pub(super) mod model;
mod text;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use super::model::{End, Facts, Forward, Report};
use crate::assertion::Verdict;
use crate::gc::facts::{Exit, Lost, Target};
use crate::gc::summary::Summary;
use model::Overall;

pub(crate) use formats::{csv, ndjson};
pub(crate) use model::{Format, NOT_WATCHED, UNREADABLE, label};
pub(crate) use text::Text;
pub(super) use text::total;

/// The report of several processes, and their totals.
pub(crate) struct MultiProcess {
    format: Box<dyn Format>,
    overall: Rc<RefCell<Overall>>,
    watched: u64,
}

impl MultiProcess {
    pub(crate) fn new(format: Box<dyn Format>) -> MultiProcess {
        MultiProcess { format, overall: Rc::default(), watched: 0 }
    }

    /// The report of one more process. It is added to the totals when it ends.
    pub(crate) fn process(&mut self, target: &Target) -> Box<dyn Report> {
        self.watched += 1;
        Box::new(Counted { report: self.format.process(target), overall: Rc::clone(&self.overall) })
    }

    /// Writes a process that could not be watched, and why.
    pub(crate) fn not_watched(
        &mut self,
        target: Target,
        why: &str,
        verdicts: &[Verdict],
        exit: &Exit,
    ) -> io::Result<()> {
        let mut facts = Facts { target, ..Facts::default() };
        facts.watch.level_reason = Some(why.to_owned());
        let (summary, lost) = (Summary::default(), Lost::default());
        let end = End { summary: &summary, lost: &lost, verdicts, findings: &[], exit };
        self.overall.borrow_mut().add(&end);
        self.overall.borrow_mut().not_watched += 1;
        self.format.not_watched(&facts, why, &end)
    }

    /// The number of processes that were watched, whether their reports have ended or not.
    pub(crate) fn watched(&self) -> u64 {
        self.watched
    }

    /// Must be called once, after the last process.
    pub(crate) fn end(&mut self, exit: &Exit) -> io::Result<()> {
        self.format.end(&self.overall.borrow(), exit)
    }
}

/// The report of one process, which adds it to the totals at its end.
struct Counted {
    report: Box<dyn Report>,
    overall: Rc<RefCell<Overall>>,
}

impl Forward for Counted {
    fn inner(&self) -> Option<&dyn Report> {
        Some(self.report.as_ref())
    }

    fn forward(&mut self, call: &mut dyn FnMut(&mut dyn Report) -> io::Result<()>) -> io::Result<()> {
        call(self.report.as_mut())
    }

    fn ending(&mut self, end: &End<'_>) -> io::Result<()> {
        self.overall.borrow_mut().add(end);
        Ok(())
    }
}
