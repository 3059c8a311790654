//! The summary at the end of the text.

use super::allocations;
use super::histogram::{shares, sizes};
use super::page::Page;
use super::panel::{Panel, flow};
use super::root_stats;
use crate::gc::generation::Generation;
use crate::gc::record::BlockCount;
use crate::gc::root_kind::{MarkKind, RootFlags, RootKind};
use crate::gc::summary::{Samples, Tally};
use crate::report::model::{End, Facts};
use crate::report::share::Share;
use crate::report::style::{Line, Role, Style, WIDE_COLUMNS, join, wrap};
use crate::report::table::{Cell, Column, table, table_in};
use crate::report::units::{Units, bytes, compact, count, generation_label, percent, plural};

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
}
