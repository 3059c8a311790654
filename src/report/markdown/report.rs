//! The report of one process.

use std::io::{self, Write};
use std::mem;

use super::document::{Block, MAX_BYTES, fit};
use super::figures::{generations, longest};
use super::held::held;
use super::words::{plain, sign, title};
use crate::assertion::Verdict;
use crate::gc::record::Gc;
use crate::gc::summary::Summary;
use crate::report::model::{End, Facts, Report};
use crate::report::share::Share;
use crate::report::units::{Units, bytes, count, duration, percent, plural};
use crate::report::verdicts::{total, value_and_remark};
use crate::report::{blocking, child_exit, in_short, missing, outcome};

/// Rows of the list of the longest pauses.
const MAX_LONGEST: usize = 5;

/// Written at the end, in one go.
pub(crate) struct MarkdownReport<W: Write> {
    out: W,
    units: Units,
    /// The longest document, in bytes.
    max_bytes: usize,
    /// The collections with the longest pauses, the longest first.
    worst: Vec<Gc>,
    /// It is a section among others, whose title has the process id.
    one_of_several: bool,
}

impl<W: Write> MarkdownReport<W> {
    /// Writes to `out`.
    pub(crate) fn new(out: W, units: Units) -> MarkdownReport<W> {
        MarkdownReport { out, units, max_bytes: MAX_BYTES, worst: Vec::new(), one_of_several: false }
    }
}

impl MarkdownReport<Vec<u8>> {
    /// A section of at most so many bytes.
    pub(super) fn of_several(units: Units, max_bytes: usize) -> MarkdownReport<Vec<u8>> {
        MarkdownReport { max_bytes, one_of_several: true, ..MarkdownReport::new(Vec::new(), units) }
    }

    /// What was written.
    pub(super) fn take(&mut self) -> Vec<u8> {
        mem::take(&mut self.out)
    }
}

/// Whether something is not as it must be.
pub(super) fn is_grave(facts: &Facts, end: &End<'_>) -> bool {
    let open = end.verdicts.iter().any(|verdict| verdict.holds != Some(true));
    open || outcome::fault(facts, end).is_some() || child_exit::told(end.exit.child).is_some()
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

/// The verdict and what went wrong beside it, then a row for each assertion. Those that hold come last.
fn verdicts(facts: &Facts, end: &End<'_>, units: Units) -> Vec<Block> {
    let mut lines = Vec::new();
    lines.extend(child_exit::told(end.exit.child).map(|how| format!("❌ **the program {how}**")));
    lines.extend(outcome::fault(facts, end).map(|why| format!("❌ **{}**", plain(&why))));
    let all = end.verdicts;
    if all.is_empty() {
        return vec![Block::of("lines", lines)];
    }
    let rank = |holds: Option<bool>| [Some(false), None, Some(true)].iter().position(|h| *h == holds);
    let mut sorted: Vec<&Verdict> = all.iter().collect();
    sorted.sort_by_key(|verdict| rank(verdict.holds));
    let overall = sorted.first().and_then(|worst| worst.holds);
    lines.push(format!("{} **{}**", sign(overall), total(all)));
    // A line of a paragraph ends with two blanks.
    let lines = vec![lines.join("  \n")];
    let row = |v: &&Verdict| {
        let word = match v.holds {
            Some(true) => "ok",
            Some(false) => "FAIL",
            None => "not judged",
        };
        let text = v.text.replace('|', "\\|");
        format!("| {} {word} | `{text}` | {} |", sign(v.holds), plain(&value_and_remark(v, units)))
    };
    let head = ["| | bound | |", "|---|---|---|"].map(str::to_owned).to_vec();
    let rows = sorted.iter().map(row).collect();
    vec![Block::of("lines", lines), Block { name: "assertions", head, rows, tail: Vec::new() }]
}

impl<W: Write> MarkdownReport<W> {
    fn blocks(&self, facts: &Facts, end: &End<'_>) -> Vec<Block> {
        let (sum, units) = (end.summary, self.units);
        let name = title(facts.target.title.as_deref());
        let heading = match facts.target.pid.filter(|_| self.one_of_several) {
            Some(pid) => format!("#### gcwatch: {name} (process {pid})"),
            None if self.one_of_several => format!("#### gcwatch: {name}"),
            None => format!("### gcwatch: {name}"),
        };
        let mut blocks = vec![Block::of("lines", vec![heading])];
        blocks.extend(verdicts(facts, end, units));
        if outcome::not_watched(facts, end.exit).is_some() {
            return blocks;
        }
        blocks.push(Block::of("lines", vec![headline(sum, facts)]));
        blocks.push(Block::of("warnings", warnings(end)));
        blocks.push(Block::of("findings", self.in_short(facts, end)));
        blocks.extend(held(sum, units));
        if sum.gcs > 0 {
            blocks.push(generations(sum, units));
            blocks.push(longest(&self.worst, units));
        }
        blocks.push(Block::of("notes", notes(sum, facts, units)));
        blocks
    }

    fn in_short(&self, facts: &Facts, end: &End<'_>) -> Vec<String> {
        let findings = in_short::shown(end.findings, self.units, true);
        if findings.is_empty() {
            return in_short::nothing(facts, end)
                .map(|nothing| format!("In short: {nothing}."))
                .into_iter()
                .collect();
        }
        let line = |(n, finding): (usize, &in_short::Shown)| {
            format!("{}. **{}.** {}.", n + 1, plain(&finding.title), plain(&finding.remedy))
        };
        findings.iter().enumerate().map(line).collect()
    }
}

/// What is missing.
fn warnings(end: &End<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(text) = missing::counts(end.lost) {
        lines.push(format!("- ⚠️ lost: {text}; what belongs to them is missing here"));
    }
    lines.extend(end.lost.gap.map(|gap| format!("- ⚠️ incomplete: {}", missing::gap(gap))));
    let cut_off = end.summary.incomplete_gcs();
    if cut_off > 0 {
        lines.push(format!("- cut off, so not counted: {}", plural(cut_off, "collection")));
    }
    lines
}

fn notes(sum: &Summary, facts: &Facts, units: Units) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(last), Some(max)) = (sum.heap_after_last_bytes, sum.heap_after_max_bytes) {
        let (last, max) = (bytes(last, units), bytes(max, units));
        notes.push(format!("heap: {last} after the last collection, {max} at most"));
    }
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
    notes.iter().map(|note| format!("- {note}")).collect()
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
        let text = fit(&self.blocks(facts, end), self.max_bytes);
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}
