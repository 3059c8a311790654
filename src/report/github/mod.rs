//! `--format github`: workflow commands that GitHub Actions shows as annotations of the step.

mod annotations;

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use super::model::{End, Facts, Report};
use super::multi_process::model::{Format, Overall, label};
use super::units::Units;
use super::verdicts::value_and_remark;
use super::{child_exit, in_short, missing, outcome};
use crate::assertion::{ChangeVerdict, Verdict};
use crate::finding::Severity;
use crate::gc::facts::{Exit, Target};
use annotations::{Annotations, Kind};

/// How annotations are made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GithubOptions {
    pub(crate) units: Units,
    /// Leave out the findings.
    pub(crate) quiet: bool,
}

impl Annotations {
    /// Adds those of one process. `program`: also how it ended.
    fn process(&mut self, facts: &Facts, end: &End<'_>, whose: &str, options: GithubOptions, program: bool) {
        let of = |text: &str| if text.is_empty() { whose.to_owned() } else { format!("{whose}: {text}") };
        for verdict in end.verdicts {
            if let Some((kind, title)) = judged(verdict) {
                self.add(kind, &title, &of(&value_and_remark(verdict, options.units)));
            }
        }
        if let Some(how) = child_exit::told(end.exit.child).filter(|_| program) {
            self.add(Kind::Error, "the program failed", &of(&how));
        }
        if let Some(fault) = outcome::fault(facts, end) {
            // Without assertions, a process of several that could not be watched fails nothing.
            let kind = if program { Kind::Error } else { Kind::Warning };
            self.add(kind, "the watch failed", &of(&fault));
        } else if let Some(gap) = end.lost.gap.map(missing::gap).or_else(|| missing::counts(end.lost)) {
            self.add(Kind::Warning, "incomplete data", &of(&gap));
        }
        if options.quiet {
            return;
        }
        for (finding, words) in end.findings.iter().zip(in_short::all(end.findings, options.units, true)) {
            let kind = match finding.severity {
                Severity::Warning => Kind::Warning,
                Severity::Notice => Kind::Notice,
            };
            self.add(kind, words.id, &of(&format!("{}. {}.", words.title, words.remedy)));
        }
    }
}

/// The annotation about an assertion; `None`: it holds.
fn judged(verdict: &Verdict) -> Option<(Kind, String)> {
    match verdict.holds {
        Some(true) => None,
        Some(false) => Some((Kind::Error, format!("{} does not hold", verdict.text))),
        None => Some((Kind::Warning, format!("{} could not be judged", verdict.text))),
    }
}

/// The annotations of one process, written at the end.
#[derive(Debug)]
pub(crate) struct GithubReport<W: Write> {
    out: W,
    options: GithubOptions,
}

impl<W: Write> GithubReport<W> {
    /// Writes to `out`.
    pub(crate) fn new(out: W, options: GithubOptions) -> GithubReport<W> {
        GithubReport { out, options }
    }
}

impl<W: Write> Report for GithubReport<W> {
    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let mut annotations = Annotations::default();
        let whose = facts.target.title.as_deref().unwrap_or("process");
        annotations.process(facts, end, whose, self.options, true);
        annotations.write(&mut self.out)
    }
}

/// The annotations of several processes, written at the end.
#[derive(Debug)]
pub(crate) struct GithubProcesses<W: Write> {
    out: W,
    options: GithubOptions,
    annotations: Rc<RefCell<Annotations>>,
}

impl<W: Write> GithubProcesses<W> {
    /// Writes to `out`.
    pub(crate) fn new(out: W, options: GithubOptions) -> GithubProcesses<W> {
        GithubProcesses { out, options, annotations: Rc::default() }
    }
}

impl<W: Write> Format for GithubProcesses<W> {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        Box::new(Part { options: self.options, annotations: Rc::clone(&self.annotations) })
    }

    fn end(&mut self, _overall: &Overall, exit: &Exit) -> io::Result<()> {
        let mut annotations = self.annotations.take();
        if let Some(how) = child_exit::told(exit.child) {
            annotations.add(Kind::Error, "the command failed", &how);
        } else if let Some(why) = outcome::unexplained(exit).filter(|_| annotations.has_no_error()) {
            annotations.add(Kind::Error, "the watch failed", &why);
        }
        annotations.write(&mut self.out)
    }
}

/// One of several processes.
#[derive(Debug)]
struct Part {
    options: GithubOptions,
    annotations: Rc<RefCell<Annotations>>,
}

impl Report for Part {
    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let whose = label(&facts.target);
        self.annotations.borrow_mut().process(facts, end, &whose, self.options, false);
        Ok(())
    }
}

/// The annotations of a comparison: an error for each change that must not occur and did, a warning for each that could
/// not be judged. `lines` say how the metrics changed, one for each verdict.
pub(crate) fn change_annotations<'v>(
    judged: impl IntoIterator<Item = &'v ChangeVerdict>,
    lines: &[String],
) -> String {
    let mut annotations = Annotations::default();
    for (verdict, line) in judged.into_iter().zip(lines) {
        let change = line.split_once(verdict.text.as_str()).map_or("", |(_, rest)| rest).trim();
        match verdict.fails {
            Some(false) => {}
            Some(true) => annotations.add(Kind::Error, &verdict.text, &format!("it changed: {change}")),
            None => annotations.add(Kind::Warning, &format!("{} could not be judged", verdict.text), line),
        }
    }
    let mut text = Vec::new();
    // Memory takes all.
    let _written = annotations.write(&mut text);
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests;
