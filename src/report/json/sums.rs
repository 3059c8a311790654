//! The JSON of the summary.

use schemars::JsonSchema;
use serde::Serialize;

use super::held::{Growth, InducedBy, MethodSum, PinnedSum, TypeSum};
use super::number::Int;
use super::types::{Distribution, HistogramRow, PromotedBytes};

/// All complete collections added up.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Summary {
    /// Complete collections.
    pub(super) gcs: Int,
    /// Records that are cut off; they count nowhere else.
    pub(super) incomplete: Int,
    /// Numbers between those of the first and the last record that no record has. A NoGC region takes a number without a
    /// collection; all others are in `lost.gcs`.
    pub(super) numbers_without_record: Int,
    pub(super) by_generation_and_kind: Vec<Group>,
    /// Suspensions that belong to no collection.
    pub(super) other_suspensions: Stops,
    /// Share of the watch for which collections stopped the program, without the stops that watching caused.
    pub(super) pause_percent: Option<f64>,
    /// The most of `pause_percent` that can be the program's own: without what was measured of gcwatch's work in the
    /// pauses (`gcs[].cost`, over the heaps that worked side by side). Equal to `pause_percent` where nothing was
    /// measured, as at level `moves`.
    pub(super) own_pause_percent_at_most: Option<f64>,
    /// Collections of generation 2 that blocked while the profiler had switched background GC off, and that could have
    /// run in the background without it: their number and their pauses, which are in `pause_percent`.
    pub(super) gen2_blocked_by_watching: Stops,
    /// Null when no collection showed it.
    pub(super) moved: Option<MovedSum>,
    /// Null when no collection showed it.
    pub(super) surviving: Option<SurvivingSum>,
    /// Null when no collection showed them.
    pub(super) roots: Option<RootsSum>,
    /// What grew from the first collection that told names to the last one, the most first, at most 20; null where there
    /// are no two.
    pub(super) growth: Option<Vec<Growth>>,
    /// Who asked for collections, the most frequent first; null where nobody was seen.
    pub(super) induced_by: Option<Vec<InducedBy>>,
    pub(super) heap_after_bytes: HeapAfter,
    /// What watching cost the target; null when it was not measured.
    pub(super) cost: Option<CostSum>,
}

/// The collections of one generation and kind.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) generation: u8,
    /// "blocking", "background" or "foreground".
    pub(super) kind: &'static str,
    pub(super) count: Int,
    pub(super) pause_ns: Pauses,
}

/// Pauses per collection; percentiles are nearest rank, exact.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pauses {
    pub(super) total: Option<Int>,
    pub(super) p50: Option<Int>,
    pub(super) p90: Option<Int>,
    pub(super) p99: Option<Int>,
    pub(super) max: Option<Int>,
}

/// A number of stops and their length.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stops {
    pub(super) count: Int,
    pub(super) ns: Int,
}

/// The blocks of the compacted generations.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MovedSum {
    pub(super) blocks: Int,
    pub(super) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(super) bytes_at_least: bool,
    pub(super) stayed_blocks: Int,
    pub(super) stayed_bytes: Int,
    pub(super) block_bytes: Distribution,
    pub(super) distance_bytes: Distribution,
    pub(super) histogram: Vec<HistogramRow>,
}

/// The blocks that survived where they lay.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SurvivingSum {
    pub(super) blocks: Int,
    pub(super) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(super) bytes_at_least: bool,
    pub(super) block_bytes: Distribution,
    pub(super) histogram: Vec<HistogramRow>,
}

/// Roots per collection, over all that showed them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootsSum {
    /// Collections that showed their roots.
    pub(super) gcs: Int,
    pub(super) total: Typical,
    pub(super) holding: Typical,
    pub(super) by_kind: TypicalKinds,
    pub(super) by_flag: TypicalFlags,
    /// Sums over all collections; null when not seen.
    pub(super) promoted_bytes: Option<PromotedBytes>,
    /// The methods whose frames held the most, at most 100; null where no names were told.
    pub(super) methods: Option<Vec<MethodSum>>,
    /// The largest first, at most 100; null where no names were told.
    pub(super) types: Option<Vec<TypeSum>>,
    /// The largest first, at most 100; null where no names were told.
    pub(super) pinned: Option<Vec<PinnedSum>>,
}

/// A number per collection: its median (nearest rank) and maximum.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Typical {
    pub(super) p50: Option<Int>,
    pub(super) max: Option<Int>,
}

/// By kind of root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TypicalKinds {
    pub(super) stack: Typical,
    pub(super) handle: Typical,
    pub(super) finalizer: Typical,
    pub(super) other: Typical,
}

/// By flag of a root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TypicalFlags {
    pub(super) pinning: Typical,
    pub(super) weak: Typical,
    pub(super) interior: Typical,
    pub(super) refcounted: Typical,
}

/// The heap's size after collections, free space inside it included.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HeapAfter {
    pub(super) max: Option<Int>,
    pub(super) last: Option<Int>,
}

/// What watching cost the target.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CostSum {
    /// Time inside gcwatch's callbacks, all threads added up; null without the profiler.
    pub(super) callback_ns: Option<Int>,
    /// What the runtime spent walking for gcwatch, at least; null without the profiler.
    pub(super) walk_ns: Option<Int>,
    /// What looking at the types of roots took in pauses; null where it was not done.
    pub(super) naming_ns: Option<Int>,
    /// Collections for the whole of which the profiler was armed; null without it.
    pub(super) armed_gcs: Option<Int>,
    /// Stops inside collections that would not have happened without gcwatch.
    pub(super) extra_stops: Stops,
}
