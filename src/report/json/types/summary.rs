//! The JSON of the summary.

use super::allocations::Allocations;
use super::blocks::{Distribution, HistogramRow, histogram};
use super::collection::MarkedFrom;
use super::root_stats::{DueIn, Growth, InducedBy, MethodSum, PinnedSum, TypeSum};
use super::roots::{PromotedBy, PromotedBytes, any};
use crate::gc::generation::Generation;
use crate::gc::record::{self, Kind};
use crate::gc::summary::{self, RootsSummary, Samples, StopTotals, Tally};
use crate::report::json::number::Int;
use crate::report::json::wire::{Convert, wire};

/// A summary, and the length of its watch.
pub(crate) struct Summed<'a> {
    pub(crate) sum: &'a summary::Summary,
    pub(crate) duration_ns: Option<u64>,
}

/// Three decimals: more than the clock is worth, and the same text everywhere.
fn rounded(percent: f64) -> f64 {
    (percent * 1e3).round() / 1e3
}

fn roots(to: &mut Convert, sum: &summary::Summary) -> Option<RootsSum> {
    let unseen = RootsSummary::default();
    let seen = sum.roots.is_some() || any(&sum.promoted_by);
    seen.then(|| to.wire(&(sum.roots.as_ref().unwrap_or(&unseen), &sum.promoted_by)))
}

wire! {
    /// All complete collections added up.
    Summary(to, of: Summed<'_>) {
        /// Complete collections.
        gcs: Int = to.wire(&of.sum.gcs),
        /// Records that are cut off; they count nowhere else.
        incomplete: Int = to.wire(&of.sum.incomplete_gcs()),
        /// Numbers between those of the first and the last record that no record has. A NoGC region takes a number without a
        /// collection; all others are in `lost.gcs`.
        numbers_without_record: Int = to.wire(&of.sum.numbers.absent()),
        by_generation_and_kind: Vec<Group> = to.wire(&of.sum.groups),
        /// Suspensions that belong to no collection.
        other_suspensions: Stops = to.wire(&of.sum.other_suspensions),
        /// Share of the watch for which collections stopped the program, without the stops that watching caused.
        pause_percent: Option<f64> = of.sum.pause_percent(of.duration_ns).map(rounded),
        /// The most of `pause_percent` that can be the program's own: without what was measured of gcwatch's work in the
        /// pauses (`gcs[].cost`, over the heaps that worked side by side). Equal to `pause_percent` where nothing was
        /// measured, as at level `moves`.
        own_pause_percent_at_most: Option<f64> =
            of.sum.own_pause_percent_at_most(of.duration_ns).map(rounded),
        /// Collections of generation 2 that blocked while the profiler had switched background GC off, and that could have
        /// run in the background without it: their number and their pauses, which are in `pause_percent`.
        gen2_blocked_by_watching: Stops = to.wire(&of.sum.blocked_by_watching),
        /// The collections of each reason, and their pauses.
        by_reason: Vec<ByReason> = of.sum.reasons.iter().map(|(reason, stops)| to.wire(&(*reason, stops))).collect(),
        /// Why heaps wanted generation 2, in the GC's own terms, over all collections of it; the most frequent first.
        gen2_conditions: Vec<Condition> = to.all(&of.sum.gen2_conditions.rows()),
        /// Where the pauses of blocking collections went; null where no collection told.
        phases: Option<PhaseSums> = (of.sum.phases.gcs > 0).then(|| to.wire(&of.sum.phases)),
        /// What the program allocated between collections, to 3 %; with background collections to 8 %, and before .NET 9 without
        /// most large objects that were allocated while they ran. `gcs[].allocated` is null where it is not known. Null
        /// where it is not known between any two. What the program allocated after the last one is missing.
        allocated: Option<AllocatedSum> = to.wire(&of.sum.allocated),
        /// What allocates, by type and by method, from samples; null without `--alloc`.
        allocations: Option<Allocations> = to.wire(&of.sum.allocations),
        /// Null when no collection showed it.
        moved: Option<MovedSum> = to.wire(&of.sum.moved),
        /// Null when no collection showed it.
        surviving: Option<SurvivingSum> = to.wire(&of.sum.surviving),
        /// Null when no collection showed them.
        roots: Option<RootsSum> = roots(to, of.sum),
        /// What grew from the first collection that told names to the last one, the most first, at most 20; null where there
        /// are no two.
        growth: Option<Vec<Growth>> = to.wire(&of.sum.growth.rows()),
        /// Who asked for collections, the most frequent first; null where nobody was seen. At levels `basic` and `moves` the
        /// runtime tells the names when the session ends: they are not known of a target that was killed, and with
        /// `--no-names`.
        induced_by: Option<Vec<InducedBy>> = of.sum.induced.rows().map(|rows| to.top(&rows)),
        /// In which methods the other collections were due, the most frequent first; null at level `roots` without `--alloc`,
        /// and where `induced_by` cannot be known. For a reason like "alloc_loh" it is the method whose object exceeded the
        /// budget.
        due_in: Option<Vec<DueIn>> = of.sum.induced.due_rows().map(|rows| to.top(&rows)),
        heap_after_bytes: HeapAfter = to.wire(of.sum),
        /// What watching cost the target; null when it was not measured.
        cost: Option<CostSum> =
            (of.sum.cost.is_some() || of.sum.extra_stops.count > 0).then(|| to.wire(of.sum)),
    }

    /// The collections of one reason.
    ByReason(to, of: (record::Reason, &StopTotals)) {
        /// "alloc_soh", "alloc_loh", "induced", "low_memory" and others.
        reason: &'static str = of.0.names().0,
        gcs: Int = to.wire(&of.1.count),
        pause_ns: Int = to.wire(&of.1.ns),
    }

    /// A condition for which heaps wanted generation 2.
    Condition(to, of: (&'static str, u64)) {
        /// "alloc_budget", "high_mem", "max_high_frag" and others (gcrecord.h of the runtime).
        condition: &'static str = of.0,
        /// Collections of which at least one heap named it.
        gcs: Int = to.wire(&of.1),
    }

    /// Parts of the pauses of blocking collections.
    PhaseSums(to, of: summary::PhaseTotals) {
        /// Collections that told their phases.
        gcs: Int,
        /// Their pauses, of which all others are parts.
        pause_ns: Int,
        /// Until all threads stood still.
        suspend_ns: Int,
        mark_ns: Int,
        mark_by_root_ns: MarkedFrom = to.wire(&of.mark_by_root_ns.map(Some)),
        rest_ns: Int,
        /// From GCEnd until the program ran again.
        resume_ns: Int,
    }

    /// Bytes that the program allocated.
    AllocatedSum(to, of: record::Allocated) {
        bytes: Int,
        /// Those of them that are large objects.
        large_bytes: Int,
        /// The time in which that was.
        in_ns: Int,
        bytes_per_second: Option<Int> = to.wire(&of.per_second().map(|rate| rate as u64)),
    }

    /// The collections of one generation and kind.
    Group(to, of: ((Generation, Kind), &summary::Group)) {
        generation: u8 = of.0.0.0,
        /// "blocking", "background" or "foreground".
        kind: &'static str = of.0.1.name(),
        count: Int = to.wire(&of.1.count),
        pause_ns: Pauses = to.wire(&of.1.pauses),
    }

    /// Pauses per collection; percentiles are nearest rank, exact.
    Pauses(to, pauses: Samples) {
        total: Option<Int> = to.wire(&(pauses.count() > 0).then(|| pauses.total())),
        p50: Option<Int> = to.wire(&pauses.percentile(50.0)),
        p90: Option<Int> = to.wire(&pauses.percentile(90.0)),
        p99: Option<Int> = to.wire(&pauses.percentile(99.0)),
        max: Option<Int> = to.wire(&pauses.max()),
    }

    /// A number of stops and their length.
    Stops(to, stops: StopTotals) {
        count: Int,
        ns: Int,
    }

    /// The blocks of the compacted generations.
    MovedSum(to, moved: record::Moved) {
        blocks: Int = to.wire(&moved.count.blocks),
        bytes: Int = to.wire(&moved.count.bytes),
        /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
        bytes_at_least: bool,
        stayed_blocks: Int = to.wire(&moved.stayed.blocks),
        stayed_bytes: Int = to.wire(&moved.stayed.bytes),
        block_bytes: Distribution = to.wire(&moved.sizes),
        distance_bytes: Distribution = to.wire(&moved.distances),
        histogram: Vec<HistogramRow> = histogram(to, &moved.sizes),
    }

    /// The blocks that survived where they lay.
    SurvivingSum(to, surviving: record::Surviving) {
        blocks: Int = to.wire(&surviving.count.blocks),
        bytes: Int = to.wire(&surviving.count.bytes),
        /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
        bytes_at_least: bool,
        block_bytes: Distribution = to.wire(&surviving.sizes),
        histogram: Vec<HistogramRow> = histogram(to, &surviving.sizes),
    }

    /// Roots per collection, over all that showed them.
    RootsSum(to, of: (&RootsSummary, &PromotedBy)) {
        /// Collections that showed their roots.
        gcs: Int = to.wire(&of.0.gcs),
        total: Typical = to.wire(&of.0.total),
        holding: Typical = to.wire(&of.0.holding),
        by_kind: TypicalKinds = to.wire(&of.0.by_kind),
        by_flag: TypicalFlags = to.wire(&of.0.by_flag),
        /// Sums over all collections; null when not seen.
        promoted_bytes: Option<PromotedBytes> = any(of.1).then(|| to.wire(of.1)),
        /// The methods whose frames held the most, at most 100; null where no names were told.
        methods: Option<Vec<MethodSum>> = of.0.stats.as_ref().map(|s| to.top(s.methods())),
        /// The largest first, at most 100; null where no names were told.
        types: Option<Vec<TypeSum>> = of.0.stats.as_ref().map(|s| to.top(s.types())),
        /// The largest first, at most 100; null where no names were told.
        pinned: Option<Vec<PinnedSum>> = of.0.stats.as_ref().map(|s| to.top(s.pinned())),
    }

    /// A number per collection: its median (nearest rank) and maximum.
    Typical(to, tally: Tally) {
        p50: Option<Int> = to.wire(&tally.median()),
        max: Option<Int> = to.wire(&tally.max()),
    }

    /// By kind of root.
    TypicalKinds(to, tallies: [Tally; 4]) {
        stack: Typical = to.wire(&tallies[0]),
        handle: Typical = to.wire(&tallies[1]),
        finalizer: Typical = to.wire(&tallies[2]),
        other: Typical = to.wire(&tallies[3]),
    }

    /// By flag of a root.
    TypicalFlags(to, tallies: [Tally; 4]) {
        pinning: Typical = to.wire(&tallies[0]),
        weak: Typical = to.wire(&tallies[1]),
        interior: Typical = to.wire(&tallies[2]),
        refcounted: Typical = to.wire(&tallies[3]),
    }

    /// The heap's size after collections, free space inside it included.
    HeapAfter(to, sum: summary::Summary) {
        max: Option<Int> = to.wire(&sum.heap_after_max_bytes),
        last: Option<Int> = to.wire(&sum.heap_after_last_bytes),
    }

    /// What watching cost the target.
    CostSum(to, sum: summary::Summary) {
        /// Time inside gcwatch's callbacks, all threads added up; null without the profiler.
        callback_ns: Option<Int> = to.wire(&sum.cost.map(|c| c.callback_ns)),
        /// What the runtime spent walking for gcwatch, at least; null without the profiler.
        walk_ns: Option<Int> = to.wire(&sum.cost.map(|c| c.walk_ns)),
        /// What looking at the types of roots took in pauses; null where it was not done.
        naming_ns: Option<Int> = to.wire(&sum.cost.and_then(|c| c.naming_ns)),
        /// Collections for the whole of which the profiler was armed; null without it.
        armed_gcs: Option<Int> = to.wire(&sum.cost.map(|c| c.armed_gcs)),
        /// Stops inside collections that would not have happened without gcwatch.
        extra_stops: Stops,
    }
}
