//! With `--blocks`: the largest blocks of a collection, below its line. JSON has all of them.

use crate::gc::generation::Generation;
use crate::gc::record::Gc;
use crate::report::style::{Line, Role, Style};
use crate::report::units::{Units, bytes, count};

/// At most so many moved blocks, and as many surviving ones.
const MAX_SHOWN: usize = 4;

/// The lines below the line of a collection.
pub(super) fn largest(gc: &Gc, style: Style, units: Units) -> Vec<String> {
    let mut lines = Vec::new();
    let moved = gc.moved.as_ref().and_then(|m| m.ranges.as_deref()).unwrap_or_default();
    let mut order: Vec<_> = moved.iter().filter(|r| r.old != r.new).collect();
    order.sort_by_key(|r| (std::cmp::Reverse(r.bytes), r.old));
    for range in order.iter().take(MAX_SHOWN) {
        let to = format!(" {} {:#014x} {}", style.arrow(), range.new, generation(range.to));
        let from = format!("{:#014x} {}", range.old, generation(range.from));
        lines.push(line("moved", range.bytes, &format!("{from}{to}"), style, units));
    }
    lines.extend(more(order.len(), "moved", style));
    let mut order: Vec<_> =
        gc.surviving.as_ref().and_then(|s| s.ranges.as_deref()).unwrap_or_default().iter().collect();
    order.sort_by_key(|r| (std::cmp::Reverse(r.bytes), r.start));
    for range in order.iter().take(MAX_SHOWN) {
        let place = format!("{:#014x} {}", range.start, generation(range.generation));
        lines.push(line("survived", range.bytes, &place, style, units));
    }
    lines.extend(more(order.len(), "survived", style));
    lines
}

fn line(what: &str, size: u64, place: &str, style: Style, units: Units) -> String {
    let text = format!("       {what:<8} {:>8}  {place}", bytes(size, units));
    Line::of(style, Role::Dim, text.trim_end()).into_string()
}

fn more(all: usize, what: &str, style: Style) -> Option<String> {
    let rest = all.checked_sub(MAX_SHOWN).filter(|&n| n > 0)?;
    let text =
        format!("       {} {} more {what} (--format json has all)", style.ellipsis(), count(rest as u64));
    Some(Line::of(style, Role::Dim, &text).into_string())
}

fn generation(of: Option<Generation>) -> &'static str {
    of.map_or("", Generation::name)
}
