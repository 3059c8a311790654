//! Where to look in the program: who calls `GC.Collect`, what is pinned, what grows.

use super::document::Block;
use super::words::plain;
use crate::gc::summary::Summary;
use crate::report::root_lines::{self, RootLines};
use crate::report::style::Style;
use crate::report::units::{Units, count};

/// Wide enough that only long names are shortened.
const COLUMNS: usize = 200;
const STYLE: Style = Style { colour: false, unicode: true };

/// A list for each of them that occurs.
pub(super) fn held(sum: &Summary, units: Units) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(callers) = root_lines::induced(&sum.induced, COLUMNS, STYLE) {
        blocks.push(list("callers", "Callers of `GC.Collect`", callers));
    }
    if let Some(stats) = sum.roots.as_ref().and_then(|roots| roots.stats.as_ref()) {
        let pinned = root_lines::pinned(stats, units, COLUMNS, STYLE);
        blocks.push(list("pins", "Pinned, so that it cannot move", pinned));
        let rows = sum.growth.rows().unwrap_or_default();
        let growth = root_lines::growth(&rows, units, COLUMNS, STYLE);
        blocks.push(list("growing types", "Grew from the first collection to the last", growth));
    }
    blocks.retain(|block| !block.rows.is_empty());
    blocks
}

fn list(name: &'static str, title: &str, lines: RootLines) -> Block {
    let mut rows: Vec<String> =
        lines.lines.iter().map(|line| format!("- {}", plain(&line.replace('\u{a0}', " ")))).collect();
    if lines.more > 0 {
        rows.push(format!("- and {} more", count(lines.more)));
    }
    Block { name, head: vec![format!("**{title}**"), String::new()], rows, tail: Vec::new() }
}
