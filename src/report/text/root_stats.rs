//! The root stats: methods, types, pinned objects, growth, callers of `GC.Collect`.

use super::panel::{GAP, Panel};
use crate::gc::growth::{GrowthRow, RootSource};
use crate::gc::induced::InducedTotals;
use crate::gc::root_stats::{PinnedTotals, RootStatsTotals, TypeTotals};
use crate::report::style::{Line, Role, Style, WIDE_COLUMNS, wrap};
use crate::report::table::{Cell, Column, table_in};
use crate::report::units::{Units, bytes, compact, count, duration, percent, plural};

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
/// Lines of a list.
const MAX_LINES: usize = 4;
/// The maximum width of a name, in columns.
const MAX_NAME: usize = 60;
/// The minimum width of a shortened name, in columns.
const MIN_NAME: usize = 16;

/// Shortens a name to the room there is: leaves out namespaces, from the outermost on, and then its
/// beginning, because its end says most.
fn shortened(name: &str, columns: usize, style: Style) -> String {
    let sign = style.ellipsis();
    // Names, and what stands between them: `A.B<C.D>` is `A.B`, `<`, `C.D`, `>`.
    let mut parts: Vec<String> = Vec::new();
    for c in name.chars() {
        let within = |c: char| c.is_alphanumeric() || "._`+".contains(c);
        match parts.last_mut() {
            Some(part) if part.chars().all(within) == within(c) => part.push(c),
            _ => parts.push(c.to_string()),
        }
    }
    let width = |parts: &[String]| parts.iter().map(|part| part.chars().count()).sum::<usize>();
    while width(&parts) > columns {
        let dots = |part: &&mut String| part.trim_start_matches(sign).matches('.').count();
        let Some(longest) = parts.iter_mut().max_by_key(dots).filter(|part| dots(part) > 1) else { break };
        let (_, rest) = longest.trim_start_matches(sign).split_once('.').unwrap_or_default();
        *longest = format!("{sign}{rest}");
    }
    let short = parts.concat();
    let length = short.chars().count();
    if length <= columns {
        return short;
    }
    let keep = columns.saturating_sub(sign.chars().count());
    let end: String = short.chars().skip(length - keep).collect();
    format!("{sign}{end}")
}

/// Escapes characters that the terminal cannot show.
fn ascii(text: &str, style: Style) -> String {
    if style.unicode || text.is_ascii() {
        return text.to_owned();
    }
    text.chars().map(|c| if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

/// A name from the target on the terminal.
pub(super) fn fits(name: &str, columns: usize, style: Style) -> String {
    shortened(&ascii(name, style), columns, style)
}

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
fn list(title: &str, mut items: Vec<String>, all: usize, columns: usize, style: Style) -> Vec<String> {
    if items.is_empty() {
        return items;
    }
    if all > items.len() {
        items.push(format!("and {} more", count((all - items.len()) as u64)));
    }
    let mut lines = vec![Line::of(style, Role::Plain, title).into_string()];
    for item in items {
        lines.extend(wrap(style, Role::Plain, &format!("\u{a0}\u{a0}{item}"), 4, columns));
    }
    lines
}

/// Pinned objects, and what pins them.
pub(super) fn pinned(sum: &RootStatsTotals, units: Units, columns: usize, style: Style) -> Vec<String> {
    let rows = sum.pinned();
    let items = rows.iter().take(MAX_LINES).map(|p| pinned_line(p, sum.gcs, units, columns, style)).collect();
    list("pinned, so that it cannot move:", items, rows.len(), columns, style)
}

fn pinned_line(p: &PinnedTotals, gcs: u64, units: Units, columns: usize, style: Style) -> String {
    let name = |text: &str| fits(text, columns.saturating_sub(8).clamp(MIN_NAME, MAX_NAME), style);
    let one = p.max_count == 1;
    let handle = if one { "a handle" } else { "handles" };
    let who = match (p.by, &p.allocated_by) {
        ("fixed local", Some(method)) => {
            format!("{} in {}", if one { "a local" } else { "locals" }, name(method))
        }
        ("handle", Some(method)) => format!("{handle} that {} made", name(method)),
        ("handle", None) => handle.to_owned(),
        _ => "the runtime".to_owned(),
    };
    let place = p.generation.map_or(String::new(), |g| format!(" in {g}"));
    let how_long = if p.seen_in_gcs > 1 {
        let all = if p.seen_in_gcs == gcs { "all " } else { "" };
        format!(", {all}{} GCs in a row", count(p.seen_in_gcs))
    } else {
        String::new()
    };
    let size = bytes(p.max_bytes, units).replace(' ', "\u{a0}");
    format!("{}\u{a0}{}, {size}{place}, by {who}{how_long}", count(p.max_count), name(&p.type_name))
}

/// What grew from the first collection to the last one.
pub(super) fn growth(rows: &[GrowthRow], units: Units, columns: usize, style: Style) -> Vec<String> {
    // One more of something small is no leak.
    let notable = |row: &&GrowthRow| {
        let more = |last: u64, first: u64, least: u64| last.saturating_sub(first) >= least;
        more(row.last.bytes, row.first.bytes, 1024) || more(row.last.count, row.first.count, 10)
    };
    let rows: Vec<&GrowthRow> = rows.iter().filter(notable).collect();
    let items = rows.iter().take(MAX_LINES).map(|row| {
        let name = |text: &str| fits(text, columns.saturating_sub(8).clamp(MIN_NAME, MAX_NAME), style);
        let size = |n: u64| bytes(n, units).replace(' ', "\u{a0}");
        let source = match (row.source, &row.field) {
            (RootSource::Static, Some(field)) => format!("static {}, {}", name(field), name(&row.type_name)),
            (_, Some(field)) => format!("thread-static {}, {}", name(field), name(&row.type_name)),
            (RootSource::WeakHandle, _) => format!("weak handles to {}", name(&row.type_name)),
            _ => format!("handles to {}", name(&row.type_name)),
        };
        let arrow = if row.at_least {
            format!("{}\u{a0}at\u{a0}least", style.arrow())
        } else {
            style.arrow().to_owned()
        };
        let numbers = match row.field {
            Some(_) => String::new(),
            None => format!("{}\u{a0}{arrow}\u{a0}{}, ", count(row.first.count), count(row.last.count)),
        };
        format!("{source}: {numbers}{}\u{a0}{arrow}\u{a0}{}", size(row.first.bytes), size(row.last.bytes))
    });
    let items = items.collect();
    list("grew from the first GC to the last:", items, rows.len(), columns, style)
}

/// Who called `GC.Collect`.
pub(super) fn induced(sum: &InducedTotals, columns: usize, style: Style) -> Option<String> {
    let rows = sum.rows()?;
    let mut parts: Vec<String> = rows
        .iter()
        .take(MAX_LINES)
        .map(|row| {
            let name = fits(&row.method, columns.saturating_sub(8).clamp(MIN_NAME, MAX_NAME), style);
            let paused = duration(row.pause_ns, style.unicode).replace(' ', "\u{a0}");
            format!("{name} {}, {paused}", plural(row.count, "time").replace(' ', "\u{a0}"))
        })
        .collect();
    if rows.len() > parts.len() {
        parts.push(format!("{} more", count((rows.len() - parts.len()) as u64)));
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
    fn the_end_of_a_name_is_kept() {
        let style = Style { colour: false, unicode: true };
        assert_eq!(shortened("Demo.Orders.Load (async)", 24, style), "Demo.Orders.Load (async)");
        assert_eq!(shortened("Demo.Orders.Load (async)", 20, style), "…Orders.Load (async)");
        assert_eq!(shortened("Demo.Orders.Load (async)", 13, style), "…Load (async)");
        assert_eq!(shortened("Some.B.Map<Some.C.Key, int>", 20, style), "…B.Map<…C.Key, int>");
        let ascii_only = Style { colour: false, unicode: false };
        assert_eq!(fits("Größe", 20, ascii_only), "Gr\\u{f6}\\u{df}e");
    }

    #[test]
    fn averages() {
        assert_eq!([average(0, 3), average(10, 3), average(999, 10)], ["0.0", "3.3", "100"]);
    }
}
