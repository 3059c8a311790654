//! Tables of collections.

use super::document::Block;
use super::words::time;
use crate::gc::generation::Generation;
use crate::gc::record::{BlockCount, Gc, Kind};
use crate::gc::summary::{Group, Summary};
use crate::report::units::{Units, bytes, count, duration};

fn blocks(of: Option<BlockCount>, units: Units) -> String {
    of.map_or_else(|| "-".to_owned(), |b| format!("{} ({})", bytes(b.bytes, units), count(b.blocks)))
}

fn name(generation: Generation, kind: Kind) -> String {
    match kind {
        Kind::Blocking => generation.to_string(),
        other => format!("{generation} {}", other.name()),
    }
}

/// A row for each generation and kind.
pub(super) fn generations(sum: &Summary, units: Units) -> Block {
    let seen = |of: fn(&Group) -> Option<BlockCount>| sum.groups.values().any(|g| of(g).is_some());
    let has_blocks = seen(|g| g.moved) || seen(|g| g.survived);
    let head = match has_blocks {
        true => [
            "| generation | count | paused | p50 | p99 | max | moved | survived |",
            "|---|---:|---:|---:|---:|---:|---:|---:|",
        ],
        false => ["| generation | count | paused | p50 | p99 | max |", "|---|---:|---:|---:|---:|---:|"],
    };
    let row = |((generation, kind), group): (&(Generation, Kind), &Group)| {
        let p = &group.pauses;
        let row = format!(
            "| {} | {} | {} | {} | {} | {} |",
            name(*generation, *kind),
            count(group.count),
            duration(p.total(), true),
            time(p.percentile(50.0)),
            time(p.percentile(99.0)),
            time(p.max()),
        );
        match has_blocks {
            true => format!("{row} {} | {} |", blocks(group.moved, units), blocks(group.survived, units)),
            false => row,
        }
    };
    let rows = sum.groups.iter().map(row).collect();
    Block::folded("generations", "Collections by generation", head, rows)
}

/// The collections with the longest pauses.
pub(super) fn longest(worst: &[Gc], units: Units) -> Block {
    let row = |gc: &Gc| {
        let generation = match (gc.generation, gc.kind) {
            (Some(generation), Some(kind)) => name(generation, kind),
            _ => "-".to_owned(),
        };
        let size = |b: Option<u64>| b.map_or_else(|| "-".to_owned(), |b| bytes(b, units));
        format!(
            "| {} | {} | {generation} | {} | {} | {} → {} |",
            gc.number.map_or_else(|| "-".to_owned(), |n| n.to_string()),
            time(gc.at_ns),
            gc.reason.map_or("-", |r| r.names().1),
            time(gc.pause_ns),
            size(gc.heap_before_bytes),
            size(gc.heap_after_bytes),
        )
    };
    let head = ["| # | at | generation | reason | pause | heap |", "|---:|---:|---|---|---:|---:|"];
    Block::folded("long pauses", "The longest pauses", head, worst.iter().map(row).collect())
}
