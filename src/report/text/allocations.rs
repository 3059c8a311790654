//! What allocates: the types and the methods with the most bytes.

use super::panel::Panel;
use super::root_stats::fits;
use crate::gc::allocations::{AllocationSummary, Estimate, Source};
use crate::gc::names::Name;
use crate::report::style::{Role, Style};
use crate::report::table::{Cell, Column, table};
use crate::report::units::{Units, bytes, count, percent};

/// Rows of a table.
const MAX_ROWS: usize = 7;
/// The width of the columns of figures.
const FIGURES: usize = 30;
const MAX_NAME: usize = 60;
const MIN_NAME: usize = 16;

/// The types with the most bytes.
pub(super) fn types(of: &AllocationSummary, units: Units, columns: usize, style: Style) -> Option<Panel> {
    let rows: Vec<(&Name, &Estimate)> = of.types.iter().map(|row| (&row.type_name, &row.estimate)).collect();
    panel("allocated, by type", &rows, of, units, columns, style)
}

/// The methods with the most bytes. Several ways out of a method of the program are one row.
pub(super) fn methods(of: &AllocationSummary, units: Units, columns: usize, style: Style) -> Option<Panel> {
    let mut sums: Vec<(&Name, Estimate)> = Vec::new();
    for row in &of.methods {
        match sums.iter_mut().find(|(method, _)| *method == &row.method) {
            Some((_, sum)) => sum.add(&row.estimate),
            None => sums.push((&row.method, row.estimate)),
        }
    }
    sums.sort_by(|(a, x), (b, y)| y.bytes.total_cmp(&x.bytes).then_with(|| a.cmp(b)));
    let rows: Vec<(&Name, &Estimate)> = sums.iter().map(|(method, sum)| (*method, sum)).collect();
    panel("allocated, by method of the program", &rows, of, units, columns, style)
}

fn panel(
    title: &'static str,
    rows: &[(&Name, &Estimate)],
    of: &AllocationSummary,
    units: Units,
    columns: usize,
    style: Style,
) -> Option<Panel> {
    let names = [
        Column::left(title, 0),
        Column::right("share", 2),
        Column::right("bytes", 2),
        Column::right(if style.unicode { "±" } else { "+/-" }, 2),
    ];
    let width = columns.saturating_sub(FIGURES + 1).clamp(MIN_NAME, MAX_NAME);
    let rows: Vec<Vec<Cell>> = rows
        .iter()
        .take(MAX_ROWS)
        .map(|(name, estimate)| {
            let role = if name.starts_with('(') && name.ends_with(')') { Role::Dim } else { Role::Plain };
            let error = estimate.standard_error(of.source, &of.all);
            vec![
                (fits(name, width, style), role),
                (percent(estimate.share(&of.all) * 100.0), Role::Plain),
                (bytes(estimate.bytes.round() as u64, units), Role::Plain),
                (percent(if estimate.bytes > 0.0 { error / estimate.bytes * 100.0 } else { 0.0 }), Role::Dim),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| table(style, &names, &rows, columns))
}

/// What the tables rest on.
pub(super) fn basis(of: &AllocationSummary, units: Units, style: Style) -> String {
    let event = match of.source {
        Source::Ticks => "AllocationTick",
        Source::Sampled => "AllocationSampled",
    };
    let sign = if style.unicode { "±" } else { "+/-" };
    let unnamed = if of.named {
        ""
    } else {
        "; the methods are not known, because the session did not end in the usual way"
    };
    format!(
        "{} in all, {} of large objects, estimated from {} samples ({event}); {sign} is the standard error{unnamed}",
        bytes(of.all.bytes.round() as u64, units),
        bytes(of.large.bytes.round() as u64, units),
        count(of.all.samples),
    )
}
