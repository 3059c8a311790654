//! Text: each line begins with the label of its process.

use std::io::{self, Write};

use super::lines::Shared;
use super::model::{Format, Overall, VerdictCounts, label};
use crate::gc::facts::{Exit, Target};
use crate::report::model::{End, Facts, Report};
use crate::report::style::Terminal;
use crate::report::text::{TextOptions, TextReport};
use crate::report::units::{count, duration, plural};

/// Lines with a column of labels, a summary for each process when it ends, and a line with the totals.
pub(crate) struct Text {
    out: Shared,
    terminal: Terminal,
    options: TextOptions,
    /// Labels are as wide as the widest so far.
    width: usize,
}

impl Text {
    pub(crate) fn new(out: Box<dyn Write>, terminal: Terminal, options: TextOptions) -> Text {
        // Several processes cannot share the live line.
        Text { out: Shared::new(out), terminal: Terminal { live: false, ..terminal }, options, width: 0 }
    }
}

impl Format for Text {
    fn process(&mut self, target: &Target) -> Box<dyn Report> {
        let label = label(target);
        self.width = self.width.max(label.chars().count());
        let column = format!("{label:<width$} ", width = self.width);
        // In a file the labels take no room from the lines.
        let beside = if self.terminal.rows.is_some() { self.width + 1 } else { 0 };
        let columns = self.terminal.columns.saturating_sub(beside);
        let terminal = Terminal { columns, ..self.terminal };
        let out = self.out.lines(terminal.style().dim(&column));
        Box::new(TextReport::new(out, terminal, self.options.clone()))
    }

    fn not_watched(&mut self, facts: &Facts, why: &str, _end: &End<'_>) -> io::Result<()> {
        self.process(&facts.target).warn(&format!("not watched: {why}"))
    }

    fn end(&mut self, overall: &Overall, _exit: &Exit) -> io::Result<()> {
        let nothing = self.options.quiet && overall.verdicts == VerdictCounts::default();
        if nothing || overall.processes == 0 {
            return Ok(());
        }
        self.out.line(&total(overall, self.terminal.unicode))
    }
}

/// `3 processes: 57 collections, paused 12.0 ms; assertions: 5 hold, 1 does not`.
pub(in crate::report) fn total(all: &Overall, unicode: bool) -> String {
    let processes = if all.processes == 1 { "process" } else { "processes" };
    let mut text = format!("{} {processes}", count(all.processes));
    if all.not_watched > 0 {
        text += &format!(" ({} not watched)", count(all.not_watched));
    }
    text += &format!(": {}, paused {}", plural(all.gcs, "collection"), duration(all.pause_ns, unicode));
    if all.incomplete > 0 {
        text += &format!(", {} incomplete", count(all.incomplete));
    }
    if all.lost.total() > 0 || all.lost.gap.is_some() {
        text += ", data were lost";
    }
    let judged = all.verdicts;
    let parts = [(judged.hold, "hold"), (judged.fail, "do not"), (judged.not_judged, "could not be judged")];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))).collect();
    if !parts.is_empty() {
        text += &format!("; assertions: {}", parts.join(", "));
    }
    text
}
