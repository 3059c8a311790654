//! The root stats: methods, types, pinned objects, growth, callers of `GC.Collect`.

use super::panel::{GAP, Panel};
use crate::gc::growth::GrowthRow;
use crate::gc::induced::InducedTotals;
use crate::gc::root_stats::{RootStatsTotals, TypeTotals};
use crate::report::root_lines::{self, MAX_NAME, MIN_NAME, RootLines, fits};
use crate::report::style::{Line, Role, Style, WIDE_COLUMNS, wrap};
use crate::report::table::{Cell, Column, table_in};
use crate::report::units::{Units, bytes, compact, count, percent};

/// Rows of a table.
const MAX_ROWS: usize = 7;
/// A smaller average would be shown as 0.0.
const MIN_AVERAGE: f64 = 0.05;
/// Types of which every process has objects behind handles: those of the runtime, and of the event session that gcwatch
/// opens.
const RUNTIME_OWN: [&str; 5] = [
    "ExecutionEngineException",
    "OutOfMemoryException",
    "StackOverflowException",
    "System.Diagnostics.Tracing.EventPipeEventProvider",
    "System.Reflection.Emit.DynamicResolver",
];

/// Room for names in a table whose numbers take `numbers` columns, two tables standing side by side
/// where there is much.
fn room(columns: usize, numbers: usize) -> usize {
    let table = if columns >= WIDE_COLUMNS { (columns - GAP) / 2 } else { columns - 1 };
    table.saturating_sub(numbers).clamp(MIN_NAME, MAX_NAME)
}

/// The methods whose frames have the most roots, per collection.
pub(super) fn methods(sum: &RootStatsTotals, columns: usize, style: Style) -> Option<Panel> {
    let gcs = sum.gcs.max(1);
    let names = [
        Column::left("frames that hold most, per GC", 0),
        Column::right("slots", 2),
        Column::right("pinned", 2),
    ];
    let width = room(columns, 15);
    let rows: Vec<Vec<Cell>> = sum
        .methods()
        .into_iter()
        .filter(|m| m.slots as f64 / gcs as f64 >= MIN_AVERAGE)
        .take(MAX_ROWS)
        .map(|m| {
            let role = if m.own { Role::Plain } else { Role::Dim };
            let pinned = match m.pinned_slots {
                0 => ("-".to_owned(), Role::Dim),
                n => (percent(n as f64 / m.slots.max(1) as f64 * 100.0), Role::Plain),
            };
            vec![(fits(&m.name, width, style), role), (average(m.slots, gcs), role), pinned]
        })
        .collect();
    (!rows.is_empty()).then(|| table_in(style, &names, &rows, columns, &[&[2]]))
}

/// Entries without a name are dim.
fn bucket(name: &str) -> Role {
    if name.starts_with('(') && name.ends_with(')') { Role::Dim } else { Role::Plain }
}

fn average(total: u64, gcs: u64) -> String {
    let average = total as f64 / gcs as f64;
    if average >= 9.95 { compact(average.round() as u64, 5) } else { format!("{average:.1}") }
}

/// The types of the largest objects that roots refer to.
pub(super) fn types(sum: &RootStatsTotals, units: Units, columns: usize, style: Style) -> Option<Panel> {
    let names = [
        Column::left("held directly, most in a GC", 0),
        Column::left("by", 2),
        Column::right("roots", 2),
        Column::right("bytes", 2),
    ];
    let width = room(columns, if units == Units::Bytes { 35 } else { 30 });
    let row = |name: &str, role: Role, by: &str, count: u64, size: u64| -> Vec<Cell> {
        vec![
            (fits(name, width, style), role),
            (by.to_owned(), Role::Dim),
            (compact(count, 5), Role::Plain),
            (bytes(size, units), Role::Plain),
        ]
    };
    let (own, others): (Vec<&TypeTotals>, Vec<&TypeTotals>) =
        sum.types().into_iter().partition(|t| RUNTIME_OWN.contains(&&*t.name));
    let shown = others.into_iter().take(if own.is_empty() { MAX_ROWS } else { MAX_ROWS - 1 });
    let mut rows: Vec<Vec<Cell>> =
        shown.map(|t| row(&t.name, bucket(&t.name), t.kind.name(), t.max_count, t.max_bytes)).collect();
    if !own.is_empty() {
        let total = |of: fn(&TypeTotals) -> u64| own.iter().map(|t| of(t)).fold(0, u64::saturating_add);
        rows.push(row("the runtime's own", Role::Dim, "-", total(|t| t.max_count), total(|t| t.max_bytes)));
    }
    (!rows.is_empty()).then(|| table_in(style, &names, &rows, columns, &[&[1], &[2]]))
}

/// A title, the items below it, and the number of items left out.
fn list(title: &str, items: RootLines, columns: usize, style: Style) -> Vec<String> {
    let RootLines { lines: mut items, more } = items;
    if items.is_empty() {
        return items;
    }
    if more > 0 {
        items.push(format!("and {} more", count(more)));
    }
    let mut lines = vec![Line::of(style, Role::Plain, title).into_string()];
    for item in items {
        lines.extend(wrap(style, Role::Plain, &format!("\u{a0}\u{a0}{item}"), 4, columns));
    }
    lines
}

/// Pinned objects, and what pins them.
pub(super) fn pinned(sum: &RootStatsTotals, units: Units, columns: usize, style: Style) -> Vec<String> {
    list("pinned, so that it cannot move:", root_lines::pinned(sum, units, columns, style), columns, style)
}

/// What grew from the first collection to the last one.
pub(super) fn growth(rows: &[GrowthRow], units: Units, columns: usize, style: Style) -> Vec<String> {
    list(
        "grew from the first GC to the last:",
        root_lines::growth(rows, units, columns, style),
        columns,
        style,
    )
}

/// Who called `GC.Collect`.
pub(super) fn induced(sum: &InducedTotals, columns: usize, style: Style) -> Option<String> {
    let RootLines { lines: mut parts, more } = root_lines::induced(sum, columns, style)?;
    if more > 0 {
        parts.push(format!("{} more", count(more)));
    }
    Some(parts.join(style.dot()))
}

/// Roots by origin.
pub(super) fn origins(sum: &RootStatsTotals) -> String {
    let gcs = sum.gcs.max(1);
    let [app, runtime, unknown] = [sum.origins.app, sum.origins.runtime, sum.origins.unknown];
    format!(
        "per GC {} of the application, {} of the runtime (including gcwatch's event session), {} of unknown origin \
        (strings, arrays, lists)",
        average(app, gcs),
        average(runtime, gcs),
        average(unknown, gcs),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages() {
        assert_eq!([average(0, 3), average(10, 3), average(999, 10)], ["0.0", "3.3", "100"]);
    }
}
