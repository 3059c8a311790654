//! One report of several processes: each has its own [`Report`], and all go to one place.

mod each;
mod lines;
mod text;

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use super::overall::Overall;
use super::{End, Facts, LiveState, Report};
use crate::check::Verdict;
use crate::gc::facts::{Exit, Lost, Target};
use crate::gc::record::Gc;
use crate::gc::summary::Summary;

pub(crate) use each::{Csv, Markdown, Ndjson};
pub(crate) use text::Text;

/// The word for the end of a process that was not watched at all.
pub(crate) const NOT_WATCHED: &str = "not-watched";

/// One way of writing several processes down.
pub(crate) trait Format: fmt::Debug {
    /// The report of one more process.
    fn process(&mut self, target: &Target) -> Box<dyn Report>;

    /// A process that could not be watched, and why. It has a report without collections.
    fn not_watched(&mut self, facts: &Facts, _why: &str, end: &End<'_>) -> io::Result<()> {
        let mut report = self.process(&facts.target);
        report.start(facts)?;
        report.end(facts, end)
    }

    /// Once, after the last process.
    fn end(&mut self, overall: &Overall, exit: &Exit) -> io::Result<()>;
}

/// A report of several processes, and what they add up to.
#[derive(Debug)]
pub(crate) struct Together {
    format: Box<dyn Format>,
    overall: Rc<RefCell<Overall>>,
    watched: u64,
}

impl Together {
    pub(crate) fn new(format: Box<dyn Format>) -> Together {
        Together { format, overall: Rc::default(), watched: 0 }
    }

    /// The report of one more process. It counts at its end.
    pub(crate) fn process(&mut self, target: &Target) -> Box<dyn Report> {
        self.watched += 1;
        Box::new(Counted { report: self.format.process(target), overall: Rc::clone(&self.overall) })
    }

    /// A process that could not be watched, and why.
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
        let end = End { summary: &summary, lost: &lost, verdicts, exit };
        self.overall.borrow_mut().add(&end);
        self.overall.borrow_mut().not_watched += 1;
        self.format.not_watched(&facts, why, &end)
    }

    /// How many were watched, whether their reports came to an end or not.
    pub(crate) fn watched(&self) -> u64 {
        self.watched
    }

    /// Once, after the last process.
    pub(crate) fn end(&mut self, exit: &Exit) -> io::Result<()> {
        self.format.end(&self.overall.borrow(), exit)
    }
}

/// A report whose end goes into the sum.
#[derive(Debug)]
struct Counted {
    report: Box<dyn Report>,
    overall: Rc<RefCell<Overall>>,
}

impl Report for Counted {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.report.start(facts)
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.report.gc(facts, gc)
    }

    fn tick_every(&self) -> Option<Duration> {
        self.report.tick_every()
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        self.report.tick(state)
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        self.report.warn(message)
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.overall.borrow_mut().add(end);
        self.report.end(facts, end)
    }
}

/// What a process is called where there are several.
pub(crate) fn label(target: &Target) -> String {
    let title = target.title.as_deref().or(target.executable.as_deref()).unwrap_or("process");
    let title: String = crate::visible::visible(title).chars().take(24).collect();
    match target.pid {
        Some(pid) => format!("{title}[{pid}]"),
        None => title,
    }
}
