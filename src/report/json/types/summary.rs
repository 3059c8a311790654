//! The JSON of the summary.

use schemars::JsonSchema;
use serde::Serialize;

use super::blocks::{Distribution, HistogramRow};
use super::root_stats::{Growth, InducedBy, MethodSum, PinnedSum, TypeSum};
use super::roots::PromotedBytes;
use crate::report::json::number::Int;

/// All complete collections added up.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Summary {
    /// Complete collections.
    pub(crate) gcs: Int,
    /// Records that are cut off; they count nowhere else.
    pub(crate) incomplete: Int,
    /// Numbers between those of the first and the last record that no record has. A NoGC region takes a number without a
    /// collection; all others are in `lost.gcs`.
    pub(crate) numbers_without_record: Int,
    pub(crate) by_generation_and_kind: Vec<Group>,
    /// Suspensions that belong to no collection.
    pub(crate) other_suspensions: Stops,
    /// Share of the watch for which collections stopped the program, without the stops that watching caused.
    pub(crate) pause_percent: Option<f64>,
    /// The most of `pause_percent` that can be the program's own: without what was measured of gcwatch's work in the
    /// pauses (`gcs[].cost`, over the heaps that worked side by side). Equal to `pause_percent` where nothing was
    /// measured, as at level `moves`.
    pub(crate) own_pause_percent_at_most: Option<f64>,
    /// Collections of generation 2 that blocked while the profiler had switched background GC off, and that could have
    /// run in the background without it: their number and their pauses, which are in `pause_percent`.
    pub(crate) gen2_blocked_by_watching: Stops,
    /// Null when no collection showed it.
    pub(crate) moved: Option<MovedSum>,
    /// Null when no collection showed it.
    pub(crate) surviving: Option<SurvivingSum>,
    /// Null when no collection showed them.
    pub(crate) roots: Option<RootsSum>,
    /// What grew from the first collection that told names to the last one, the most first, at most 20; null where there
    /// are no two.
    pub(crate) growth: Option<Vec<Growth>>,
    /// Who asked for collections, the most frequent first; null where nobody was seen.
    pub(crate) induced_by: Option<Vec<InducedBy>>,
    pub(crate) heap_after_bytes: HeapAfter,
    /// What watching cost the target; null when it was not measured.
    pub(crate) cost: Option<CostSum>,
}

/// The collections of one generation and kind.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) generation: u8,
    /// "blocking", "background" or "foreground".
    pub(crate) kind: &'static str,
    pub(crate) count: Int,
    pub(crate) pause_ns: Pauses,
}

/// Pauses per collection; percentiles are nearest rank, exact.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pauses {
    pub(crate) total: Option<Int>,
    pub(crate) p50: Option<Int>,
    pub(crate) p90: Option<Int>,
    pub(crate) p99: Option<Int>,
    pub(crate) max: Option<Int>,
}

/// A number of stops and their length.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stops {
    pub(crate) count: Int,
    pub(crate) ns: Int,
}

/// The blocks of the compacted generations.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MovedSum {
    pub(crate) blocks: Int,
    pub(crate) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(crate) bytes_at_least: bool,
    pub(crate) stayed_blocks: Int,
    pub(crate) stayed_bytes: Int,
    pub(crate) block_bytes: Distribution,
    pub(crate) distance_bytes: Distribution,
    pub(crate) histogram: Vec<HistogramRow>,
}

/// The blocks that survived where they lay.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SurvivingSum {
    pub(crate) blocks: Int,
    pub(crate) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(crate) bytes_at_least: bool,
    pub(crate) block_bytes: Distribution,
    pub(crate) histogram: Vec<HistogramRow>,
}

/// Roots per collection, over all that showed them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootsSum {
    /// Collections that showed their roots.
    pub(crate) gcs: Int,
    pub(crate) total: Typical,
    pub(crate) holding: Typical,
    pub(crate) by_kind: TypicalKinds,
    pub(crate) by_flag: TypicalFlags,
    /// Sums over all collections; null when not seen.
    pub(crate) promoted_bytes: Option<PromotedBytes>,
    /// The methods whose frames held the most, at most 100; null where no names were told.
    pub(crate) methods: Option<Vec<MethodSum>>,
    /// The largest first, at most 100; null where no names were told.
    pub(crate) types: Option<Vec<TypeSum>>,
    /// The largest first, at most 100; null where no names were told.
    pub(crate) pinned: Option<Vec<PinnedSum>>,
}

/// A number per collection: its median (nearest rank) and maximum.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typical {
    pub(crate) p50: Option<Int>,
    pub(crate) max: Option<Int>,
}

/// By kind of root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TypicalKinds {
    pub(crate) stack: Typical,
    pub(crate) handle: Typical,
    pub(crate) finalizer: Typical,
    pub(crate) other: Typical,
}

/// By flag of a root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TypicalFlags {
    pub(crate) pinning: Typical,
    pub(crate) weak: Typical,
    pub(crate) interior: Typical,
    pub(crate) refcounted: Typical,
}

/// The heap's size after collections, free space inside it included.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeapAfter {
    pub(crate) max: Option<Int>,
    pub(crate) last: Option<Int>,
}

/// What watching cost the target.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CostSum {
    /// Time inside gcwatch's callbacks, all threads added up; null without the profiler.
    pub(crate) callback_ns: Option<Int>,
    /// What the runtime spent walking for gcwatch, at least; null without the profiler.
    pub(crate) walk_ns: Option<Int>,
    /// What looking at the types of roots took in pauses; null where it was not done.
    pub(crate) naming_ns: Option<Int>,
    /// Collections for the whole of which the profiler was armed; null without it.
    pub(crate) armed_gcs: Option<Int>,
    /// Stops inside collections that would not have happened without gcwatch.
    pub(crate) extra_stops: Stops,
}
