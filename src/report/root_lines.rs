//! Lines about roots, the same in text and in Markdown: pinned objects, growth, callers of `GC.Collect`. A no-break space
//! stands where no line may be broken.

use super::style::Style;
use super::units::{Units, bytes, count, duration, plural};
use crate::gc::growth::{GrowthRow, RootSource};
use crate::gc::induced::{InducedBy, InducedTotals};
use crate::gc::root_stats::{PinnedTotals, RootStatsTotals};

/// Lines of a list.
const MAX_LINES: usize = 4;
/// The maximum width of a name, in columns.
pub(super) const MAX_NAME: usize = 60;
/// The minimum width of a shortened name, in columns.
pub(super) const MIN_NAME: usize = 16;

/// The first lines of a list.
pub(super) struct RootLines {
    pub(super) lines: Vec<String>,
    /// How many are left out.
    pub(super) more: u64,
}

impl RootLines {
    fn new(lines: Vec<String>, all: usize) -> RootLines {
        RootLines { more: all.saturating_sub(lines.len()) as u64, lines }
    }
}

/// Shortens a name to the room there is: leaves out namespaces, from the outermost on, and then its
/// beginning, because its end says most.
pub(super) fn shortened(name: &str, columns: usize, style: Style) -> String {
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

/// A name from the target, in at most `columns`.
pub(super) fn fits(name: &str, columns: usize, style: Style) -> String {
    shortened(&ascii(name, style), columns, style)
}

/// A name in a line of text.
fn in_a_line(name: &str, columns: usize, style: Style) -> String {
    fits(name, columns.saturating_sub(8).clamp(MIN_NAME, MAX_NAME), style)
}

/// Pinned objects, and what pins them.
pub(super) fn pinned(sum: &RootStatsTotals, units: Units, columns: usize, style: Style) -> RootLines {
    let rows = sum.pinned();
    let lines = rows.iter().take(MAX_LINES).map(|p| pinned_line(p, sum.gcs, units, columns, style)).collect();
    RootLines::new(lines, rows.len())
}

fn pinned_line(p: &PinnedTotals, gcs: u64, units: Units, columns: usize, style: Style) -> String {
    let name = |text: &str| in_a_line(text, columns, style);
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
pub(super) fn growth(rows: &[GrowthRow], units: Units, columns: usize, style: Style) -> RootLines {
    // One more of something small is no leak.
    let notable = |row: &&GrowthRow| {
        let more = |last: u64, first: u64, least: u64| last.saturating_sub(first) >= least;
        more(row.last.bytes, row.first.bytes, 1024) || more(row.last.count, row.first.count, 10)
    };
    let rows: Vec<&GrowthRow> = rows.iter().filter(notable).collect();
    let lines = rows.iter().take(MAX_LINES).map(|row| growth_line(row, units, columns, style)).collect();
    RootLines::new(lines, rows.len())
}

fn growth_line(row: &GrowthRow, units: Units, columns: usize, style: Style) -> String {
    let name = |text: &str| in_a_line(text, columns, style);
    let size = |n: u64| bytes(n, units).replace(' ', "\u{a0}");
    let source = match (row.source, &row.field) {
        (RootSource::Static, Some(field)) => format!("static {}, {}", name(field), name(&row.type_name)),
        (_, Some(field)) => format!("thread-static {}, {}", name(field), name(&row.type_name)),
        (RootSource::WeakHandle, _) => format!("weak handles to {}", name(&row.type_name)),
        _ => format!("handles to {}", name(&row.type_name)),
    };
    let arrow = match row.at_least {
        true => format!("{}\u{a0}at\u{a0}least", style.arrow()),
        false => style.arrow().to_owned(),
    };
    let numbers = match row.field {
        Some(_) => String::new(),
        None => format!("{}\u{a0}{arrow}\u{a0}{}, ", count(row.first.count), count(row.last.count)),
    };
    format!("{source}: {numbers}{}\u{a0}{arrow}\u{a0}{}", size(row.first.bytes), size(row.last.bytes))
}

/// Who called `GC.Collect`; `None`: it is not known.
pub(super) fn induced(sum: &InducedTotals, columns: usize, style: Style) -> Option<RootLines> {
    let rows = sum.rows()?;
    let line = |row: &InducedBy| {
        let paused = duration(row.pause_ns, style.unicode).replace(' ', "\u{a0}");
        let times = plural(row.count, "time").replace(' ', "\u{a0}");
        format!("{} {times}, {paused}", in_a_line(&row.method, columns, style))
    };
    Some(RootLines::new(rows.iter().take(MAX_LINES).map(line).collect(), rows.len()))
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
}
