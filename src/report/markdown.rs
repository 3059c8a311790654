//! `--format markdown`: for a comment on a pull request or the summary of a CI job.

use std::io::{self, Write};

use super::model::{End, Facts, Report};
use super::share::Share;
use super::style::Terminal;
use super::units::{Units, bytes, count, duration, percent};
use super::verdicts::{total, verdict_lines};
use super::{blocking, child_exit, in_short, missing};
use crate::assertion::Verdict;
use crate::escape::escape_untrusted;
use crate::gc::generation::Generation;
use crate::gc::record::{BlockCount, Gc, Kind};
use crate::gc::summary::{Group, Summary};

/// Rows of the list of the longest pauses.
const MAX_LONGEST: usize = 5;

/// Written at the end, in one go.
pub(crate) struct MarkdownReport<W: Write> {
    out: W,
    units: Units,
    /// The collections with the longest pauses, the longest first.
    worst: Vec<Gc>,
    /// It is a section among others, whose title has the process id.
    pub(super) one_of_several: bool,
}

impl<W: Write> MarkdownReport<W> {
    /// Writes to `out`.
    pub(crate) fn new(out: W, units: Units) -> MarkdownReport<W> {
        MarkdownReport { out, units, worst: Vec::new(), one_of_several: false }
    }
}

fn time(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| duration(ns, true))
}

/// Escapes text of the target, such as a command line, so that it does not become markup.
pub(super) fn plain(text: &str) -> String {
    let mut safe = String::new();
    for c in escape_untrusted(text).chars() {
        if "\\`*_{}[]<>()#+!|~&".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

fn blocks(of: Option<BlockCount>, units: Units) -> String {
    of.map_or_else(|| "-".to_owned(), |b| format!("{} ({})", bytes(b.bytes, units), count(b.blocks)))
}

fn name(generation: Generation, kind: Kind) -> String {
    match kind {
        Kind::Blocking => generation.to_string(),
        other => format!("{generation} {}", other.name()),
    }
}

fn headline(sum: &Summary, facts: &Facts) -> String {
    let mut text = format!("**{}** collection{}", count(sum.gcs), if sum.gcs == 1 { "" } else { "s" });
    if let Some(ns) = facts.watch.duration_ns {
        text += &format!(" in {}", duration(ns, true));
    }
    if sum.gcs > 0 {
        text += &format!(", paused **{}**", duration(sum.pause_ns, true));
        if let Some(share) = sum.pause_percent(facts.watch.duration_ns) {
            let remark = Share::of_all(sum).remark(facts.watch.duration_ns.unwrap_or(0));
            let own = remark.map_or_else(String::new, |remark| format!(", {remark}"));
            text += &format!(" ({}{own})", percent(share));
        }
    }
    text += &format!(", seen at `{}`", facts.watch.level.name());
    if facts.watch.sample.is_some() {
        let windows = facts.watch.windows;
        let seen = sum.roots.as_ref().map_or(0, |roots| roots.gcs);
        text += &format!(" in {} windows: roots are those of {}", count(windows.taken), count(seen));
        if windows.skipped() > 0 {
            text += &format!(" ({} windows skipped)", count(windows.skipped()));
        }
    }
    text
}

fn verdict_table(verdicts: &[Verdict], units: Units) -> Vec<String> {
    let look = Terminal { columns: 400, rows: None, colour: false, live: false, unicode: true };
    let mut lines = vec![
        String::new(),
        format!("**{}**", total(verdicts)),
        String::new(),
        "| | bound | |".into(),
        "|---|---|---|".into(),
    ];
    for v in verdicts {
        let sign = match v.holds {
            Some(true) => "✅ ok",
            Some(false) => "❌ FAIL",
            None => "⚠️ not judged",
        };
        let line = verdict_lines(std::slice::from_ref(v), look, units).swap_remove(0);
        let rest = line.split_once(v.text.as_str()).map_or("", |(_, rest)| rest).trim();
        lines.push(format!("| {sign} | `{}` | {} |", v.text.replace('|', "\\|"), plain(rest)));
    }
    lines
}

impl<W: Write> MarkdownReport<W> {
    fn in_short(&self, facts: &Facts, end: &End<'_>) -> Vec<String> {
        let mut lines = vec![String::new()];
        let findings = in_short::shown(end.findings, self.units, true);
        for (n, finding) in findings.iter().enumerate() {
            lines.push(format!("{}. **{}.** {}.", n + 1, plain(&finding.title), plain(&finding.remedy)));
        }
        match in_short::nothing(facts, end) {
            _ if !findings.is_empty() => lines,
            Some(nothing) => vec![String::new(), format!("In short: {nothing}.")],
            None => Vec::new(),
        }
    }

    fn generations(&self, sum: &Summary) -> Vec<String> {
        let seen = |of: fn(&Group) -> Option<BlockCount>| sum.groups.values().any(|g| of(g).is_some());
        let ranges = seen(|g| g.moved) || seen(|g| g.survived);
        let (names, lines) = if ranges { (" moved | survived |", "---:|---:|") } else { ("", "") };
        let mut table = vec![
            String::new(),
            format!("| generation | count | paused | p50 | p99 | max |{names}"),
            format!("|---|---:|---:|---:|---:|---:|{lines}"),
        ];
        for ((generation, kind), group) in &sum.groups {
            let p = &group.pauses;
            let mut row = format!(
                "| {} | {} | {} | {} | {} | {} |",
                name(*generation, *kind),
                count(group.count),
                duration(p.total(), true),
                time(p.percentile(50.0)),
                time(p.percentile(99.0)),
                time(p.max()),
            );
            if ranges {
                row += &format!(
                    " {} | {} |",
                    blocks(group.moved, self.units),
                    blocks(group.survived, self.units)
                );
            }
            table.push(row);
        }
        table
    }

    fn longest(&self) -> Vec<String> {
        let mut lines = vec![
            String::new(),
            "<details><summary>The longest pauses</summary>".into(),
            String::new(),
            "| # | at | generation | reason | pause | heap |".into(),
            "|---:|---:|---|---|---:|---:|".into(),
        ];
        for gc in &self.worst {
            let generation = match (gc.generation, gc.kind) {
                (Some(generation), Some(kind)) => name(generation, kind),
                _ => "-".to_owned(),
            };
            let size = |b: Option<u64>| b.map_or_else(|| "-".to_owned(), |b| bytes(b, self.units));
            lines.push(format!(
                "| {} | {} | {generation} | {} | {} | {} → {} |",
                gc.number.map_or_else(|| "-".to_owned(), |n| n.to_string()),
                time(gc.at_ns),
                gc.reason.map_or("-", |r| r.names().1),
                time(gc.pause_ns),
                size(gc.heap_before_bytes),
                size(gc.heap_after_bytes),
            ));
        }
        lines.extend([String::new(), "</details>".into()]);
        lines
    }
}

impl<W: Write> Report for MarkdownReport<W> {
    fn gc(&mut self, _facts: &Facts, gc: &Gc) -> io::Result<()> {
        if !gc.complete() || gc.pause_ns.is_none() {
            return Ok(());
        }
        let at = self.worst.partition_point(|other| other.pause_ns >= gc.pause_ns);
        if at < MAX_LONGEST {
            self.worst.insert(at, gc.clone());
            self.worst.truncate(MAX_LONGEST);
        }
        Ok(())
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let title = plain(facts.target.title.as_deref().unwrap_or("process"));
        let sum = end.summary;
        let title = match facts.target.pid.filter(|_| self.one_of_several) {
            Some(pid) => format!("{title} (process {pid})"),
            None => title,
        };
        let mut lines = vec![format!("### gcwatch: {title}"), String::new(), headline(sum, facts)];
        if !end.verdicts.is_empty() {
            lines.extend(verdict_table(end.verdicts, self.units));
        }
        lines.extend(self.in_short(facts, end));
        if sum.gcs > 0 {
            lines.extend(self.generations(sum));
            lines.extend(self.longest());
        }
        let mut notes = Vec::new();
        if let (Some(last), Some(max)) = (sum.heap_after_last_bytes, sum.heap_after_max_bytes) {
            notes.push(format!(
                "heap: {} after the last collection, {} at most",
                bytes(last, self.units),
                bytes(max, self.units)
            ));
        }
        notes.extend(child_exit::told(end.exit.child).map(|text| format!("⚠️ the program {text}")));
        if let Some(reason) = &facts.watch.level_reason {
            notes.push(format!("seen at `{}` only: {}", facts.watch.level.name(), plain(reason)));
        }
        if let Some(stepped_back) = &facts.watch.stepped_back {
            let at = duration(stepped_back.at_ns, true);
            notes.push(format!("stepped back to windows of roots at {at}: {}", plain(&stepped_back.reason)));
        }
        let full = sum.gen2_blocking_with_profiler;
        match facts.watch.sample {
            Some(_) => notes.extend(blocking::in_windows(sum)),
            None if full.count > 0 => notes.push(format!(
                "{} gen2 collections ran blocking because background GC was off at `roots` (`--level basic` leaves it on)",
                count(full.count)
            )),
            None => {}
        }
        if let Some(text) = missing::counts(end.lost) {
            notes.push(format!("⚠️ lost: {text}; what belongs to them is missing here"));
        }
        notes.extend(end.lost.gap.map(|gap| format!("⚠️ incomplete: {}", missing::gap(gap))));
        if sum.incomplete_gcs() > 0 {
            notes.push(format!("{} collections were cut off and count nowhere", count(sum.incomplete_gcs())));
        }
        if !notes.is_empty() {
            lines.push(String::new());
            lines.extend(notes.into_iter().map(|note| format!("- {note}")));
        }
        writeln!(self.out, "{}", lines.join("\n"))?;
        self.out.flush()
    }
}
