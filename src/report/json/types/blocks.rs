//! What moved and what survived.

use crate::gc::histogram::Histogram;
use crate::gc::record;
use crate::report::json::number::{Address, Int};
use crate::report::json::wire::{Convert, wire};
use crate::report::model::SIZE_BOUNDS;

/// The rows of a histogram of sizes.
pub(crate) fn histogram(to: &mut Convert, sizes: &Histogram) -> Vec<HistogramRow> {
    to.all(&sizes.rows(&SIZE_BOUNDS))
}

wire! {
    /// The blocks of the compacted generations.
    Moved(to, moved: record::Moved) {
        /// Blocks whose address changed.
        blocks: Int = to.wire(&moved.count.blocks),
        bytes: Int = to.wire(&moved.count.bytes),
        /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
        bytes_at_least: bool,
        /// Blocks among them that stayed where they were: pinned, or nothing to close up.
        stayed_blocks: Int = to.wire(&moved.stayed.blocks),
        stayed_bytes: Int = to.wire(&moved.stayed.bytes),
        block_bytes: Distribution = to.wire(&moved.sizes),
        /// How far they moved: |new - old|.
        distance_bytes: Distribution = to.wire(&moved.distances),
        histogram: Vec<HistogramRow> = histogram(to, &moved.sizes),
        /// From which generation to which, those that stayed where they were too. Only with `--blocks`; null
        /// when the bounds of the generations were not known.
        transitions: Option<Vec<Transition>>,
        /// Every block; null without `--blocks`.
        ranges: Option<Vec<MovedRange>>,
    }

    /// The blocks that survived where they lay.
    Surviving(to, surviving: record::Surviving) {
        blocks: Int = to.wire(&surviving.count.blocks),
        bytes: Int = to.wire(&surviving.count.bytes),
        /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
        bytes_at_least: bool,
        block_bytes: Distribution = to.wire(&surviving.sizes),
        histogram: Vec<HistogramRow> = histogram(to, &surviving.sizes),
        /// Every block; null without `--blocks`.
        ranges: Option<Vec<SurvivingRange>>,
    }

    /// Minimum and maximum are exact; a percentile is the upper end of its step of a histogram with 16
    /// steps per power of two, at most 6.25 % too high. All null when there is no value.
    Distribution(to, values: Histogram) {
        min: Option<Int> = to.wire(&values.min()),
        p50: Option<Int> = to.wire(&values.percentile(50.0)),
        p90: Option<Int> = to.wire(&values.percentile(90.0)),
        p99: Option<Int> = to.wire(&values.percentile(99.0)),
        max: Option<Int> = to.wire(&values.max()),
    }

    /// Blocks of a size: above the bound of the row before, and at most this one.
    HistogramRow(to, row: (Option<u64>, u64, u64)) {
        /// Null in the last row, which has no bound.
        le_bytes: Option<Int> = to.wire(&row.0),
        blocks: Int = to.wire(&row.1),
        bytes: Int = to.wire(&row.2),
    }

    /// Blocks by generation before and after.
    Transition(to, t: record::Transition) {
        from: &'static str,
        to: &'static str,
        blocks: Int = to.wire(&t.count.blocks),
        bytes: Int = to.wire(&t.count.bytes),
    }

    /// One block of a compacted generation.
    MovedRange(to, range: record::MovedRange) {
        old: Address,
        /// The same as `old`: it stayed.
        new: Address,
        bytes: Int,
        /// The generation it lay in.
        from: Option<&'static str>,
        /// The generation it lies in now.
        to: Option<&'static str>,
    }

    /// One block that survived where it lay.
    SurvivingRange(to, range: record::SurvivingRange) {
        start: Address,
        bytes: Int,
        generation: Option<&'static str>,
    }
}
