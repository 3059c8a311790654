//! The summary at the end of the text.

use super::allocations;
use super::header::{MAX_TITLE, title};
use super::histogram::{shares, sizes};
use super::panel::{Panel, flow};
use super::root_stats;
use crate::gc::facts::{BackgroundGc, Lost};
use crate::gc::generation::Generation;
use crate::gc::record::{BlockCount, GenerationStats, Kind, Level};
use crate::gc::root_kind::{MarkKind, RootFlags, RootKind};
use crate::gc::summary::{INCOMPLETE, Samples, Summary, Tally, condition_words};
use crate::report::model::{End, Facts};
use crate::report::share::Share;
use crate::report::style::{Line, Role, Style, WIDE_COLUMNS, join, wrap};
use crate::report::table::{Cell, Column, table, table_in};
use crate::report::units::{Units, bytes, compact, count, duration, generation_label, percent, plural};
use crate::report::{blocking, child_exit, missing};

/// What the summary is made of.
struct Page<'a> {
    sum: &'a Summary,
    lost: &'a Lost,
    /// The exit code of the child.
    child: Option<i32>,
    facts: &'a Facts,
    style: Style,
    units: Units,
    columns: usize,
}

/// The summary's lines; `legend` explains the marks that were shown.
pub(super) fn summary(
    facts: &Facts,
    end: &End<'_>,
    legend: &[String],
    style: Style,
    units: Units,
    columns: usize,
) -> Vec<String> {
    let page = Page { sum: end.summary, lost: end.lost, child: end.exit.child, facts, style, units, columns };
    let mut lines = Vec::new();
    for line in legend {
        lines.extend(wrap(style, Role::Dim, line, 2, columns));
    }
    if !legend.is_empty() {
        lines.push(String::new());
    }
    lines.extend(page.headline());
    if page.sum.gcs > 0 {
        lines.push(String::new());
        lines.extend(page.generations().into_iter().map(Line::into_string));
        let panels: Vec<Panel> =
            [page.moved(), page.survived(), page.roots(), page.promoted()].into_iter().flatten().collect();
        if !panels.is_empty() {
            lines.push(String::new());
            lines.extend(flow(panels, columns));
        }
        lines.extend(page.root_stats());
    }
    lines.extend(page.allocations());
    lines.push(String::new());
    lines.extend(page.notes());
    lines
}

impl Page<'_> {
    fn time(&self, ns: u64) -> String {
        duration(ns, self.style.unicode)
    }

    fn headline(&self) -> Vec<String> {
        let sum = self.sum;
        let mut first = match sum.gcs {
            0 => "no collections".to_owned(),
            n => plural(n, "collection"),
        };
        if let Some(ns) = self.facts.watch.duration_ns {
            first += &format!(" in {}", self.time(ns));
        }
        let mut parts = vec![Line::of(self.style, Role::Strong, &first)];
        if let Some(longest) = sum.longest {
            let paused = self.paused(sum.pause_ns);
            parts.extend(paused.iter().map(|text| Line::of(self.style, Role::Strong, text)));
            let mut which: Vec<String> = Vec::new();
            which.extend(longest.number.map(|n| format!("#{n}")));
            which.extend(longest.generation.map(|g| format!("gen{}", generation_label(g, longest.kind))));
            which.extend(longest.reason.map(|r| r.names().1.to_owned()));
            let text = format!("max {} ({})", self.time(longest.pause_ns), which.join(" "));
            parts.push(Line::of(self.style, Role::Strong, &text));
        }
        join(self.style, &parts, 2, self.columns)
    }

    /// How long collections stopped the program, in as many parts as a narrow terminal needs.
    fn paused(&self, ns: u64) -> Vec<String> {
        let time = format!("paused {}", self.time(ns));
        let Some(share) = self.sum.pause_percent(self.facts.watch.duration_ns) else { return vec![time] };
        let share = percent(share);
        let Some(own) = self.own_share() else { return vec![format!("{time} ({share})")] };
        let whole = format!("{time} ({share}, {own})");
        if whole.chars().count() + 2 <= self.columns {
            return vec![whole];
        }
        let own = own.split("; ").map(str::to_owned);
        std::iter::once(format!("{time} ({share})")).chain(own).collect()
    }

    /// How much of the pauses can be the program's own work.
    fn own_share(&self) -> Option<String> {
        let remark = Share::of_all(self.sum).remark(self.facts.watch.duration_ns.filter(|&ns| ns > 0)?)?;
        let off = self.sum.blocked_by_watching.count > 0;
        Some(remark + if off { "; background GC is off" } else { "" })
    }

    /// One row per generation and kind.
    fn generations(&self) -> Panel {
        let wide = self.columns >= WIDE_COLUMNS;
        let mut columns = vec![Column::left("gen", 0)];
        columns.extend(["count", "paused", "p50"].map(Column::spread));
        columns.extend(wide.then(|| Column::spread("p90")));
        columns.extend(["p99", "max"].map(Column::spread));
        columns.extend(wide.then(|| Column::spread("of the time")));
        if self.has_blocks() {
            columns.extend([
                Column::spread(""),
                Column::right("moved", 1),
                Column::spread(""),
                Column::right("survived", 1),
            ]);
        }
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        for ((generation, kind), group) in &self.sum.groups {
            let role = if *generation == Generation::GEN2 { Role::Strong } else { Role::Plain };
            let name = generation_label(*generation, Some(*kind));
            rows.push(self.row((name, role), group.count, &group.pauses, group.moved, group.survived, wide));
        }
        if rows.len() > 1 {
            let groups = || self.sum.groups.values();
            rows.push(self.row(
                ("all".to_owned(), Role::Dim),
                groups().map(|g| g.count).sum(),
                &self.sum.pauses(None),
                BlockCount::sum(groups().map(|g| g.moved)),
                BlockCount::sum(groups().map(|g| g.survived)),
                wide,
            ));
        }
        // What moved and survived goes first, then the p99: the longest pause says more.
        let dispensable: &[&[usize]] = if wide { &[] } else { &[&[6, 7], &[8, 9], &[4]] };
        table_in(self.style, &columns, &rows, self.columns.saturating_sub(1), dispensable)
    }

    /// Whether any block was seen; at `basic` none is, and the columns are left out.
    fn has_blocks(&self) -> bool {
        self.sum.groups.values().any(|group| group.moved.is_some() || group.survived.is_some())
    }

    fn row(
        &self,
        (name, role): Cell,
        gcs: u64,
        pauses: &Samples,
        moved: Option<BlockCount>,
        survived: Option<BlockCount>,
        wide: bool,
    ) -> Vec<Cell> {
        let plain = if role == Role::Dim { Role::Dim } else { Role::Plain };
        let known = |ns: Option<u64>| match ns {
            Some(ns) => (self.time(ns), plain),
            None => ("-".to_owned(), Role::Dim),
        };
        let total = (pauses.count() > 0).then(|| pauses.total());
        let mut cells = vec![(name, role), (count(gcs), plain), known(total), known(pauses.percentile(50.0))];
        if wide {
            cells.push(known(pauses.percentile(90.0)));
        }
        cells.extend([known(pauses.percentile(99.0)), known(pauses.max())]);
        if wide {
            let share = self.facts.watch.duration_ns.filter(|&ns| ns > 0).zip(total);
            cells.push(match share {
                Some((duration, total)) => (percent(total as f64 / duration as f64 * 100.0), plain),
                None => ("-".to_owned(), Role::Dim),
            });
        }
        for blocks in [moved, survived].into_iter().filter(|_| self.has_blocks()) {
            match blocks {
                None => cells.extend([(String::new(), plain), ("-".to_owned(), Role::Dim)]),
                Some(BlockCount { blocks: 0, .. }) => {
                    cells.extend([(String::new(), plain), ("0".to_owned(), Role::Dim)]);
                }
                Some(b) => cells.extend([(count(b.blocks), plain), (bytes(b.bytes, self.units), plain)]),
            }
        }
        cells
    }

    fn moved(&self) -> Option<Panel> {
        sizes("moved blocks by size", &self.sum.moved.as_ref()?.sizes, self.units, self.style)
    }

    fn survived(&self) -> Option<Panel> {
        sizes("surviving blocks by size", &self.sum.surviving.as_ref()?.sizes, self.units, self.style)
    }

    /// Roots by kind, and below them the flags that occur.
    fn roots(&self) -> Option<Panel> {
        let roots = self.sum.roots.as_ref()?;
        let columns = [Column::left("roots per GC", 0), Column::right("median", 2), Column::right("max", 2)];
        let row = |name: &str, tally: &Tally| -> Vec<Cell> {
            let cell = |n: Option<u64>| match n {
                None => ("-".to_owned(), Role::Dim),
                Some(0) => ("0".to_owned(), Role::Dim),
                Some(n) => (compact(n, 6), Role::Plain),
            };
            vec![(name.to_owned(), Role::Plain), cell(tally.median()), cell(tally.max())]
        };
        let mut rows: Vec<Vec<Cell>> =
            RootKind::ALL.iter().zip(&roots.by_kind).map(|(kind, tally)| row(kind.name(), tally)).collect();
        rows.push(row("all", &roots.total));
        let flags = RootFlags::ALL.iter().zip(&roots.by_flag).filter(|(_, tally)| tally.max() > Some(0));
        rows.extend(flags.map(|((_, name), tally)| row(&format!("  {name}"), tally)));
        Some(table(self.style, &columns, &rows, self.columns))
    }

    /// Promoted bytes by kind of root, the mean of all collections. Without `overflow`, which `dependent handle` contains.
    fn promoted(&self) -> Option<Panel> {
        let parts: Vec<(String, u64)> = MarkKind::ALL
            .into_iter()
            .zip(self.sum.promoted_by)
            .filter(|(kind, _)| *kind != MarkKind::OVERFLOW)
            .filter_map(|(kind, bytes)| Some((kind.name().replace('_', " "), bytes? / self.sum.gcs.max(1))))
            .collect();
        shares("promoted by, mean of a GC", &parts, self.units, self.style)
    }

    /// The root stats: tables, then lists.
    fn root_stats(&self) -> Vec<String> {
        let (style, units, columns) = (self.style, self.units, self.columns);
        let Some(sum) = self.sum.roots.as_ref().and_then(|r| r.stats.as_ref()) else { return Vec::new() };
        let mut lines = Vec::new();
        let panels: Vec<Panel> =
            [root_stats::methods(sum, columns, style), root_stats::types(sum, units, columns, style)]
                .into_iter()
                .flatten()
                .collect();
        if !panels.is_empty() {
            lines.push(String::new());
            lines.extend(flow(panels, columns));
        }
        let growth = self.sum.growth.rows().unwrap_or_default();
        for list in [
            root_stats::pinned(sum, units, columns, style),
            root_stats::growth(&growth, units, columns, style),
        ] {
            if !list.is_empty() {
                lines.push(String::new());
                lines.extend(list);
            }
        }
        lines
    }

    /// What allocates.
    fn allocations(&self) -> Vec<String> {
        let (style, units, columns) = (self.style, self.units, self.columns);
        let Some(of) = &self.sum.allocations else { return Vec::new() };
        let tables = [allocations::types, allocations::methods];
        let panels: Vec<Panel> =
            tables.into_iter().filter_map(|table| table(of, units, columns, style)).collect();
        let mut lines = vec![String::new()];
        lines.extend(flow(panels, columns));
        lines
    }

    /// Sentences; each begins with its subject.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |about: &str, role: Role, text: String| notes.push((role, format!("{about}: {text}")));
        if let Some(text) = self.why() {
            note("why (share of pauses)", Role::Plain, text);
        }
        if let Some(text) = self.why_gen2() {
            note("gen2 because", Role::Plain, text);
        }
        if let Some(text) = self.phases() {
            note("in the pauses", Role::Plain, text);
        }
        if let Some(text) = root_stats::induced(&self.sum.induced, self.columns, self.style) {
            note("GC.Collect", Role::Plain, text);
        }
        if let (Some(last), Some(max)) = (self.sum.heap_after_last_bytes, self.sum.heap_after_max_bytes) {
            let (last, max) = (bytes(last, self.units), bytes(max, self.units));
            note("heap", Role::Plain, format!("{last} after the last GC, {max} at most"));
        }
        if let Some(text) = self.sizes() {
            note("generations", Role::Plain, text);
        }
        if let Some(allocated) = self.sum.allocated {
            let background = self.sum.groups.keys().any(|(_, kind)| *kind == Kind::Background);
            let version = self.facts.target.runtime_version.as_deref().unwrap_or_default();
            let at_least = if background && version.starts_with("8.") { "at least " } else { "" };
            let total = format!("{at_least}{}", bytes(allocated.bytes, self.units));
            let rate = allocated.per_second().map(|rate| format!(", {}/s", bytes(rate as u64, self.units)));
            note(
                "allocated",
                Role::Plain,
                format!("{total}{} between collections", rate.unwrap_or_default()),
            );
        }
        if let Some(of) = &self.sum.allocations {
            note("samples", Role::Plain, allocations::basis(of, self.units, self.style));
        }
        if let Some(text) = child_exit::told(self.child) {
            note("program", Role::High, text);
        }
        let others = self.sum.other_suspensions;
        if others.count > 0 {
            let times = plural(others.count, "time");
            let text = format!("{times} for other reasons, {}", self.time(others.ns));
            note("also stopped", Role::Plain, text);
        }
        if let Some(text) = self.absent_numbers() {
            note("numbers", Role::Plain, text);
        }
        if let Some(roots) = &self.sum.roots {
            let text = match &roots.stats {
                Some(sum) => root_stats::origins(sum),
                None => {
                    "the runtime's own are among them, and those of the event session we opened".to_owned()
                }
            };
            note("roots", Role::Dim, text);
            let untyped = roots.stats.as_ref().map_or(0, |sum| sum.untyped);
            if untyped > 0 {
                let text = format!("{} roots were counted but not looked at", count(untyped));
                note("not named", Role::Plain, format!("{text}: 10,000 a GC are"));
            }
        }
        let watching = self.watching();
        if !watching.is_empty() {
            note("watching", Role::Plain, watching.join("; "));
        }
        if let Some(text) = missing::counts(self.lost) {
            note("lost", Role::Alarm, format!("{text}; what belongs to them is missing above"));
        }
        if let Some(gap) = self.lost.gap {
            note("incomplete", Role::High, missing::gap(gap));
        }
        if let Some(text) = self.missing() {
            let [_, _, lost, half_armed] = self.sum.incomplete;
            note("not counted", if lost + half_armed > 0 { Role::Alarm } else { Role::Plain }, text);
        }
        if let Some(stepped_back) = &self.facts.watch.stepped_back {
            let at = format!("stepped back to windows at {}", self.time(stepped_back.at_ns));
            note(&at, Role::High, stepped_back.reason.clone());
        }
        notes.extend(self.windows().map(|text| (Role::Plain, text)));
        notes.extend(self.background().map(|text| (Role::High, text)));
        let wrapped = |(role, text): (Role, String)| wrap(self.style, role, &text, 2, self.columns);
        notes.into_iter().flat_map(wrapped).collect()
    }

    /// The generations after the last collection, and how much of each is free space. Empty ones are left out.
    fn sizes(&self) -> Option<String> {
        let one = |(generation, stats): (Generation, &GenerationStats)| {
            let size = stats.size_after_bytes.filter(|&size| size > 0)?;
            let free = stats.fragmentation_bytes.map(|free| free as f64 / size as f64 * 100.0);
            let free = free.filter(|&free| free >= 1.0).map(|free| format!(" ({} free)", percent(free)));
            let text = format!("{generation} {}{}", bytes(size, self.units), free.unwrap_or_default());
            Some(unbroken(text))
        };
        let all = Generation::COLLECTED.into_iter().zip(&self.sum.generations);
        let texts: Vec<String> = all.filter_map(one).collect();
        (!texts.is_empty()).then(|| texts.join(self.style.dot()))
    }

    /// The reasons of the collections by their short names, the most frequent first.
    fn why(&self) -> Option<String> {
        let mut reasons: Vec<(&str, u64, u64)> = Vec::new();
        for (reason, stops) in &self.sum.reasons {
            let name = reason.names().1;
            match reasons.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, gcs, ns)) => (*gcs, *ns) = (*gcs + stops.count, ns.saturating_add(stops.ns)),
                None => reasons.push((name, stops.count, stops.ns)),
            }
        }
        reasons.sort_by_key(|(_, gcs, _)| std::cmp::Reverse(*gcs));
        let share = |ns: u64| match self.sum.pause_ns {
            0 => String::new(),
            all => format!(" ({})", unbroken(percent(ns as f64 / all as f64 * 100.0))),
        };
        let texts: Vec<String> =
            reasons.iter().map(|(name, gcs, ns)| format!("{name} {}{}", count(*gcs), share(*ns))).collect();
        (!texts.is_empty()).then(|| texts.join(self.style.dot()))
    }

    /// Why heaps wanted gen2.
    fn why_gen2(&self) -> Option<String> {
        const MAX_NAMED: usize = 4;
        let mut said: Vec<(&str, u64)> = Vec::new();
        for (name, gcs) in self.sum.gen2_conditions.rows() {
            let words = condition_words(name);
            if !said.iter().any(|(known, _)| *known == words) {
                said.push((words, gcs));
            }
        }
        let texts: Vec<String> =
            said.iter().take(MAX_NAMED).map(|(words, gcs)| format!("{words} ({})", count(*gcs))).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Where the time of blocking collections went. Parts below 1 % are left out.
    fn phases(&self) -> Option<String> {
        let phases = self.sum.phases;
        let share = |ns: u64| ns as f64 / phases.pause_ns.max(1) as f64 * 100.0;
        let part = |name: &str, ns: u64| {
            Some(format!("{name} {}", unbroken(percent(share(ns))))).filter(|_| share(ns) >= 1.0)
        };
        let roots = MarkKind::ALL.into_iter().zip(phases.mark_by_root_ns);
        let from: Vec<String> =
            roots.filter_map(|(kind, ns)| part(&kind.name().replace('_', " "), ns)).collect();
        let mark = part("mark", phases.mark_ns).map(|mark| match from.is_empty() {
            true => mark,
            false => format!("{mark} (from {})", from.join(", ")),
        });
        let parts = [
            part("stop the threads", phases.suspend_ns),
            mark,
            part("plan, compact and sweep", phases.rest_ns),
            part("resume", phases.resume_ns),
        ];
        let texts: Vec<String> = parts.into_iter().flatten().collect();
        (!texts.is_empty()).then(|| texts.join(self.style.dot()))
    }

    /// Explains the numbers that no collection has.
    fn absent_numbers(&self) -> Option<String> {
        const MAX_NAMED: usize = 4;
        let numbers = &self.sum.numbers;
        let count = numbers.without_gc();
        if count == 0 || !missing::nothing(self.lost, self.sum) {
            return None;
        }
        let named: Vec<String> =
            numbers.some_without_gc().take(MAX_NAMED).map(|number| format!("#{number}")).collect();
        let more =
            if count > MAX_NAMED as u64 { format!(" {}", self.style.ellipsis()) } else { String::new() };
        let are = if count == 1 { "is no collection" } else { "are no collections" };
        Some(format!("{}{more} {are}: a NoGC region takes a number without collecting", named.join(", ")))
    }

    /// What watching cost.
    fn watching(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if let Some(cost) = self.sum.cost {
            let share = match cost.pause_ns {
                0 => String::new(),
                pause => format!(" ({} of the pauses)", percent(cost.walk_ns as f64 / pause as f64 * 100.0)),
            };
            parts.push(format!(
                "{} in callbacks, at least {} in the runtime's walks for us{share}",
                self.time(cost.callback_ns),
                self.time(cost.walk_ns),
            ));
            if let Some(ns) = cost.naming_ns {
                parts.push(format!("{} in pauses to look at types", self.time(ns)));
            }
        }
        if missing::nothing(self.lost, self.sum) {
            parts.push("nothing was lost".to_owned());
        }
        parts
    }

    /// In which collections roots were seen.
    fn windows(&self) -> Option<String> {
        let what = match self.facts.watch.sample?.between {
            Level::Basic => "roots and moves",
            _ => "roots",
        };
        let windows = self.facts.watch.windows;
        let with_roots = self.sum.roots.as_ref().map_or(0, |roots| roots.gcs);
        let before = self.facts.watch.stepped_back.as_ref().map_or("", |_| "before that and ");
        let mut text = format!(
            "{what} are those of {} of {} GCs, {before}in {}",
            count(with_roots),
            count(self.sum.gcs),
            plural(windows.taken, "window")
        );
        let mut skipped = Vec::new();
        if windows.busy > 0 {
            skipped.push(format!("{} while a background GC ran", count(windows.busy)));
        }
        if windows.refused > 0 {
            skipped.push(format!("{} because the runtime took no profiler", count(windows.refused)));
        }
        if !skipped.is_empty() {
            text += &format!("; skipped: {}", skipped.join(", "));
        }
        Some(text)
    }

    fn missing(&self) -> Option<String> {
        let names = ["began before the watch", "ended after it", "lost events", "armed too late"];
        let parts: Vec<String> = INCOMPLETE
            .iter()
            .zip(names)
            .zip(self.sum.incomplete)
            .filter(|(_, n)| *n > 0)
            .map(|((_, name), n)| format!("{} {name}", count(n)))
            .collect();
        let gcs = plural(self.sum.incomplete_gcs(), "incomplete GC");
        (!parts.is_empty()).then(|| format!("{gcs} ({})", parts.join(", ")))
    }

    /// What watching did to background collections.
    fn background(&self) -> Option<String> {
        let sum = self.sum;
        let background: u64 =
            sum.groups.iter().filter(|((_, kind), _)| *kind == Kind::Background).map(|(_, g)| g.count).sum();
        let off = |n: u64, all: bool, until: &str, remedy: &str| {
            let gcs = match (n, all) {
                (1, true) => "the one gen2 GC".to_owned(),
                (n, true) => format!("all {} gen2 GCs", count(n)),
                (n, false) => format!("{} gen2 GCs", count(n)),
            };
            Some(format!("{gcs} ran blocking: background GC is off {until} ({remedy})"))
        };
        let full = sum.gen2_blocking;
        let remedy = "--level\u{a0}basic leaves it on, --sample bounds it";
        match self.facts.watch.background_gc {
            BackgroundGc::OffWhileWatched if full.count > 0 => {
                off(full.count, background == 0, "while we watch", remedy)
            }
            BackgroundGc::OffUntilExit if full.count > 0 => {
                let until = format!("until {} ends", title(&self.facts.target, MAX_TITLE, self.style));
                off(full.count, background == 0, &until, remedy)
            }
            BackgroundGc::OffInWindows if sum.gen2_blocking_with_profiler.count > 0 => {
                blocking::in_windows(sum)
            }
            BackgroundGc::Walked | BackgroundGc::OffInWindows if sum.extra_stops.count > 0 => Some(format!(
                "{} extra stops, {} in all and in no pause above, to walk what survived background GCs (--level\u{a0}basic has none)",
                count(sum.extra_stops.count),
                self.time(sum.extra_stops.ns),
            )),
            _ => None,
        }
    }
}

/// Text that is not wrapped.
fn unbroken(text: String) -> String {
    text.replace(' ', "\u{a0}")
}
