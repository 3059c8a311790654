//! What allocates: the types and the methods with the most bytes.

use super::panel::Panel;
use crate::gc::allocations::{AllocationSummary, Estimate, OTHERS_NAME, Source};
use crate::gc::names::Name;
use crate::report::root_lines::fits;
use crate::report::style::{Role, Style};
use crate::report::table::{Cell, Column, table_in};
use crate::report::units::{Units, bytes, count, percent};

/// Rows of a table.
const MAX_ROWS: usize = 7;
/// The width of the columns of figures.
const FIGURES: usize = 30;
const MAX_NAME: usize = 60;
const NARROW_COLUMNS: usize = 60;
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
    // The title is as wide as its column.
    let title = if columns < NARROW_COLUMNS { title.trim_end_matches(" of the program") } else { title };
    let names = [
        Column::left(title, 0),
        Column::right("share", 2),
        Column::right("bytes", 2),
        Column::right(if style.unicode { "±" } else { "+/-" }, 2),
    ];
    let width = columns.saturating_sub(FIGURES + 1).clamp(MIN_NAME, MAX_NAME);
    // What the document adds up in one row comes last, however much it is.
    let (named, others): (Vec<_>, Vec<_>) = rows.iter().partition(|(name, _)| &***name != OTHERS_NAME);
    let rows: Vec<Vec<Cell>> = named
        .iter()
        .chain(&others)
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
    (!rows.is_empty()).then(|| table_in(style, &names, &rows, columns, &[&[3], &[1]]))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::allocations::{MethodRow, TypeRow};

    fn summary() -> AllocationSummary {
        let of = |bytes: f64, samples| Estimate { bytes, samples, ..Estimate::default() };
        let method = |method: &str, innermost: &str, bytes| MethodRow {
            method: method.into(),
            innermost: innermost.into(),
            estimate: of(bytes, 10),
        };
        AllocationSummary {
            source: Source::Ticks,
            named: false,
            all: of(1e6, 100),
            large: of(4e5, 4),
            event_tracing: of(0.0, 0),
            types: vec![TypeRow {
                type_name: "Demo.Orders.Größe<Demo.Key, int>[]".into(),
                estimate: of(6e5, 60),
            }],
            methods: vec![
                method("Demo.Load", "List<_>.Add", 3e5),
                method("(unknown)", "(unknown)", 4e5),
                method("(others)", "(others)", 9e5),
                method("Demo.Load", "Demo.Load", 2e5),
            ],
            large_objects: Vec::new(),
            before: Vec::new(),
        }
    }

    fn lines(panel: Option<Panel>) -> Vec<String> {
        panel.unwrap_or_default().into_iter().map(crate::report::style::Line::into_string).collect()
    }

    #[test]
    fn the_ways_out_of_a_method_are_one_row() {
        let style = Style { colour: false, unicode: true };
        assert_eq!(
            lines(methods(&summary(), Units::Iec, 80, style)),
            [
                "allocated, by method of the program  share    bytes    ±",
                "Demo.Load                             50 %  488 KiB  0 %",
                "(unknown)                             40 %  391 KiB  0 %",
                "(others)                              90 %  879 KiB  0 %",
            ]
        );
    }

    #[test]
    fn it_fits_into_40_columns_and_ascii() {
        let style = Style { colour: false, unicode: false };
        for line in lines(types(&summary(), Units::Iec, 40, style)) {
            assert!(line.is_ascii() && line.len() <= 40, "{line:?}");
        }
        let basis = basis(&summary(), Units::Iec, style);
        assert!(basis.is_ascii() && basis.contains("the methods are not known"), "{basis}");
    }
}
