//! Moved and surviving blocks.

use crate::gc::generation::Generation;
use crate::gc::histogram::Histogram;
use crate::gc::record::{Moved, Surviving};
use crate::report::json::number::{Address, Convert};
use crate::report::json::types::blocks as wire;
use crate::report::model::SIZE_BOUNDS;

pub(crate) fn moved(to: &mut Convert, moved: &Moved) -> wire::Moved {
    wire::Moved {
        blocks: to.int(moved.count.blocks),
        bytes: to.int(moved.count.bytes),
        bytes_at_least: moved.bytes_at_least,
        stayed_blocks: to.int(moved.stayed.blocks),
        stayed_bytes: to.int(moved.stayed.bytes),
        block_bytes: distribution(to, &moved.sizes),
        distance_bytes: distribution(to, &moved.distances),
        histogram: rows(to, &moved.sizes),
        transitions: moved.transitions.as_ref().map(|all| {
            let wired = all.iter().map(|t| wire::Transition {
                from: t.from.name(),
                to: t.to.name(),
                blocks: to.int(t.count.blocks),
                bytes: to.int(t.count.bytes),
            });
            wired.collect()
        }),
        ranges: moved.ranges.as_ref().map(|all| {
            let wired = all.iter().map(|r| wire::MovedRange {
                old: Address(r.old),
                new: Address(r.new),
                bytes: to.int(r.bytes),
                from: r.from.map(Generation::name),
                to: r.to.map(Generation::name),
            });
            wired.collect()
        }),
    }
}

pub(crate) fn surviving(to: &mut Convert, surviving: &Surviving) -> wire::Surviving {
    wire::Surviving {
        blocks: to.int(surviving.count.blocks),
        bytes: to.int(surviving.count.bytes),
        bytes_at_least: surviving.bytes_at_least,
        block_bytes: distribution(to, &surviving.sizes),
        histogram: rows(to, &surviving.sizes),
        ranges: surviving.ranges.as_ref().map(|all| {
            let wired = all.iter().map(|r| wire::SurvivingRange {
                start: Address(r.start),
                bytes: to.int(r.bytes),
                generation: r.generation.map(Generation::name),
            });
            wired.collect()
        }),
    }
}

pub(crate) fn distribution(to: &mut Convert, values: &Histogram) -> wire::Distribution {
    wire::Distribution {
        min: to.known(values.min()),
        p50: to.known(values.percentile(50.0)),
        p90: to.known(values.percentile(90.0)),
        p99: to.known(values.percentile(99.0)),
        max: to.known(values.max()),
    }
}

pub(crate) fn rows(to: &mut Convert, sizes: &Histogram) -> Vec<wire::HistogramRow> {
    let rows = sizes.rows(&SIZE_BOUNDS).into_iter();
    rows.map(|(bound, blocks, bytes)| wire::HistogramRow {
        le_bytes: to.known(bound),
        blocks: to.int(blocks),
        bytes: to.int(bytes),
    })
    .collect()
}
