//! Several processes: first the verdict and the totals of all, then a section for each.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use super::document::MAX_BYTES;
use super::report::{MarkdownReport, is_grave};
use super::words::sign;
use crate::gc::facts::{Exit, Target};
use crate::gc::record::Gc;
use crate::report::model::{End, Facts, Report};
use crate::report::multi_process::model::{Format, Overall};
use crate::report::multi_process::total;
use crate::report::units::{Units, plural};
use crate::report::verdicts::total_of;
use crate::report::{child_exit, outcome};

/// The longest section, in bytes.
const MAX_SECTION_BYTES: usize = 20_000;
/// Room for what stands above the sections.
const TOP_BYTES: usize = 2_000;

/// The section of a process that has ended.
#[derive(Debug)]
struct Section {
    /// It says that something is not as it must be.
    is_grave: bool,
    text: String,
}

/// The sections that fit into the document.
#[derive(Debug, Default)]
struct Sections {
    kept: Vec<Section>,
    left_out: u64,
}

impl Sections {
    /// Adds one. Where there is no room, the last one goes that has no bad news.
    fn add(&mut self, section: Section) {
        self.kept.push(section);
        let bytes = |kept: &[Section]| kept.iter().map(|section| section.text.len() + 1).sum::<usize>();
        while bytes(&self.kept) > MAX_BYTES - TOP_BYTES {
            let last = self.kept.iter().rposition(|section| !section.is_grave);
            self.kept.remove(last.unwrap_or(self.kept.len() - 1));
            self.left_out += 1;
        }
    }
}

/// Written at the end, in one go.
pub(crate) struct MarkdownProcesses<W: Write> {
    out: W,
    units: Units,
    sections: Rc<RefCell<Sections>>,
}

impl<W: Write> MarkdownProcesses<W> {
    /// Writes to `out`.
    pub(crate) fn new(out: W, units: Units) -> MarkdownProcesses<W> {
        MarkdownProcesses { out, units, sections: Rc::default() }
    }
}

impl<W: Write> Format for MarkdownProcesses<W> {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        let report = MarkdownReport::of_several(self.units, MAX_SECTION_BYTES);
        Box::new(Part { report, sections: Rc::clone(&self.sections) })
    }

    fn end(&mut self, overall: &Overall, exit: &Exit) -> io::Result<()> {
        let Sections { mut kept, left_out } = self.sections.take();
        kept.sort_by_key(|section| !section.is_grave);
        let mut lines = vec!["### gcwatch: all processes".to_owned(), String::new()];
        lines.extend(verdict(overall).into_iter().flat_map(|line| [line, String::new()]));
        let judged = overall.verdicts;
        let fault = outcome::unexplained(exit).filter(|_| judged.fail == 0 && judged.not_judged == 0);
        let how = child_exit::told(exit.child).map(|how| format!("the command {how}"));
        lines.extend(how.or(fault).into_iter().flat_map(|why| [format!("❌ **{why}**"), String::new()]));
        lines.push(total(overall, true));
        if left_out > 0 {
            let these = plural(left_out, "section");
            lines.push(format!(
                "\n⚠️ Left out, because hosts limit the length: {these}. `--format json` has all."
            ));
        }
        writeln!(self.out, "{}", lines.join("\n"))?;
        for section in kept {
            write!(self.out, "\n{}", section.text)?;
        }
        self.out.flush()
    }
}

/// The verdict on all processes; `None` without assertions.
fn verdict(all: &Overall) -> Option<String> {
    let judged = all.verdicts;
    let (fail, open) = (judged.fail, judged.not_judged);
    let number = judged.hold.saturating_add(fail).saturating_add(open);
    let holds = if fail > 0 { Some(false) } else { (open == 0).then_some(true) };
    (number > 0).then(|| format!("{} **{}**", sign(holds), total_of(number, fail, open)))
}

/// The report of one process.
struct Part {
    report: MarkdownReport<Vec<u8>>,
    sections: Rc<RefCell<Sections>>,
}

impl Report for Part {
    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.report.gc(facts, gc)
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.report.end(facts, end)?;
        let text = String::from_utf8_lossy(&self.report.take()).into_owned();
        self.sections.borrow_mut().add(Section { is_grave: is_grave(facts, end), text });
        Ok(())
    }
}
