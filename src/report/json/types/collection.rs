//! One collection, and its parts that are neither blocks nor roots.

use schemars::JsonSchema;
use serde::Serialize;

use super::allocations::SampledSince;
use super::blocks::{Moved, Surviving};
use super::root_stats::TriggeredBy;
use super::roots::{Roots, roots};
use crate::gc::generation;
use crate::gc::record::{self, GenerationStats, Reason};
use crate::report::json::number::Int;
use crate::report::json::wire::{Convert, Wire, wire};

wire! {
    /// One garbage collection.
    Gc(to, gc: record::Gc) {
        /// The runtime's own number.
        number: Option<u32>,
        /// What it was seen with: "basic", "moves" or "roots".
        level: &'static str,
        /// The oldest generation collected: 0, 1 or 2.
        generation: Option<u8>,
        /// "blocking", "background" or "foreground" (blocking, while a background one ran).
        kind: Option<&'static str>,
        /// Why the runtime collected: "alloc_soh", "alloc_loh", "induced", "low_memory" and others.
        reason: Option<&'static str> = gc.reason.map(|r| r.names().0),
        /// The reason code of the event that asked for it (GCTriggered).
        trigger_reason_code: Option<u32> = gc.trigger_reason,
        /// The program, or a library in it, asked for it.
        induced: Option<bool> = gc.reason.map(Reason::induced),
        /// True, false, or "mixed": some of the generations were compacted, others swept.
        compacting: Option<Compacting>,
        /// False: the record is cut off, and counts in no summary.
        complete: bool = gc.complete(),
        /// "began-before", "ended-after", "lost" or "half-armed"; null for a complete record.
        incomplete: Option<&'static str>,
        /// Start of the suspension for its first pause, ns of the stream's clock since the watch began.
        at_ns: Option<Int>,
        /// Sum of its pauses, without those that watching caused.
        pause_ns: Option<Int>,
        /// Sum of the pauses that watching caused (`pauses[].caused_by_watching`); they are in no other sum.
        caused_by_watching_ns: Option<Int>,
        /// From the runtime's GCStart to its GCEnd.
        gc_ns: Option<Int>,
        /// Part of `pause_ns` that went into stopping the threads.
        suspend_ns: Option<Int>,
        /// The times the program stood still for it. Pauses never overlap.
        pauses: Vec<Pause>,
        /// Where the time of a blocking collection went; null for a background one, and where events are missing.
        phases: Option<Phases>,
        /// What the program allocated since the collection before it; null where that cannot be known. Before .NET 9 only a
        /// part of the large objects that were allocated while a background collection ran.
        allocated: Option<Allocated>,
        /// The same from samples, by type; null without `--alloc`.
        sampled_allocations: Option<SampledSince> = to.wire(&gc.sampled),
        /// Size of all generations before it, free space inside them included.
        heap_before_bytes: Option<Int>,
        /// The same after it: `GCMemoryInfo.HeapSizeBytes`.
        heap_after_bytes: Option<Int>,
        /// What survived, as the runtime sums it in GCHeapStats (and TraceEvent after it): without the
        /// pinned-object heap, and for a background collection with what the blocking one before it
        /// promoted of gen0 and gen1. `GCMemoryInfo.PromotedBytes` is this and the pinned-object heap's.
        /// `generations` and `heaps` have neither flaw.
        promoted_bytes: Option<Int>,
        /// Memory committed to the heap afterwards: `GCMemoryInfo.TotalCommittedBytes`. Null for a
        /// background collection and before .NET 7, of which no event tells it; a libclrgc without that
        /// event (.NET 8 and 9) has none either.
        committed_bytes: Option<Int>,
        /// Memory in use when it began, by all programs of the machine or of the container: `GCMemoryInfo.MemoryLoadBytes` in
        /// percent of all that they may use.
        memory_load_percent: Option<u32>,
        /// Heaps that took part; server GC may change their number from one collection to the next.
        heap_count: Option<u32>,
        /// GC handles in use.
        handles: Option<u32>,
        /// Pinned objects that it met; a background collection counts none.
        pinned_objects: Option<u32>,
        finalization: Finalization = to.wire(gc),
        /// gen0, gen1, gen2, loh, poh; empty when nothing is known of them.
        generations: Vec<Generation> = {
            let named = generation::Generation::COLLECTED.into_iter().zip(&gc.generations);
            named.map(|named| to.wire(&named)).collect()
        },
        /// One per heap; empty when nothing is known of them.
        heaps: Vec<Heap>,
        /// Blocks in the generations that were compacted; null when not seen.
        moved: Option<Moved>,
        /// Blocks that survived without a move being considered; null when not seen.
        surviving: Option<Surviving>,
        /// What held the heap; null when nothing of it was seen.
        roots: Option<Roots> = roots(to, gc),
        /// Who asked for it; null where the program did not, or nobody was seen. At levels `basic` and `moves` the names come
        /// when the watch is over, and are in `summary.induced_by` only.
        triggered_by: Option<TriggeredBy> = to.wire(&gc.induced_by),
        /// What watching it cost the target; null when not measured.
        cost: Option<Cost>,
        missing: Missing,
    }

    /// Bytes that the program allocated.
    Allocated(to, of: record::Allocated) {
        bytes: Int,
        /// Those of them that are large objects.
        large_bytes: Int,
        /// The time in which that was.
        in_ns: Int,
    }
}

/// True, false or "mixed".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Compacting {
    /// All of the collected generations, or none.
    Same(bool),
    /// Some of them.
    Mixed(Mixed),
}

/// The word for some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mixed {
    /// Some generations were compacted, others swept.
    Mixed,
}

impl Wire<record::Compacting> for Compacting {
    fn of(_: &mut Convert, compacting: &record::Compacting) -> Compacting {
        match compacting {
            record::Compacting::Yes => Compacting::Same(true),
            record::Compacting::No => Compacting::Same(false),
            record::Compacting::Mixed => Compacting::Mixed(Mixed::Mixed),
        }
    }
}

wire! {
    /// One time the program stood still.
    Pause(to, pause: record::Pause) {
        /// "whole", "initial", "final_mark", "survivor_walk" or "heap_graph" (for `--graph-at`, at the end of a whole one).
        phase: &'static str,
        /// Start, ns of the stream's clock since the watch began.
        at_ns: Int,
        ns: Int,
        /// Part of it that went into stopping the threads.
        suspend_ns: Option<Int>,
        /// It would not have happened without gcwatch.
        caused_by_watching: bool,
    }

    /// The phases of a blocking collection, from GCStart to GCEnd.
    Phases(to, phases: record::Phases) {
        /// From GCStart until the last kind of root was marked.
        mark_ns: Int,
        /// The parts of `mark_ns`, by the kind of root that was marked from. With several heaps, a kind ends where the slowest
        /// heap has marked it.
        mark_by_root_ns: MarkedFrom = to.wire(&phases.mark_by_root_ns),
        /// From there until GCEnd: plan, and then relocate and compact, or sweep. At levels "moves" and "roots" with the
        /// runtime's work for gcwatch (`cost`), but without the time for a heap graph (`pauses`).
        rest_ns: Int,
    }

    /// Time by kind of root; null where the runtime did not mark from it.
    MarkedFrom(to, by: [Option<u64>; 10]) {
        stack: Option<Int> = to.wire(&by[0]),
        finalizer: Option<Int> = to.wire(&by[1]),
        handle: Option<Int> = to.wire(&by[2]),
        /// The cards of generations that were not collected, and what they lead to.
        older_generation: Option<Int> = to.wire(&by[3]),
        sized_ref: Option<Int> = to.wire(&by[4]),
        overflow: Option<Int> = to.wire(&by[5]),
        dependent_handle: Option<Int> = to.wire(&by[6]),
        new_finalizable: Option<Int> = to.wire(&by[7]),
        steal: Option<Int> = to.wire(&by[8]),
        background: Option<Int> = to.wire(&by[9]),
    }

    /// What became ready for finalization.
    Finalization(to, gc: record::Gc) {
        /// `GCMemoryInfo.FinalizationPendingCount`.
        objects: Option<Int> = to.wire(&gc.finalization_objects),
        /// What they keep alive; null for a background collection, which does not count it.
        bytes: Option<Int> = to.wire(&gc.finalization_bytes),
    }

    /// One generation's part. A block is booked to the generation it lay in before.
    Generation(to, of: (generation::Generation, &GenerationStats)) {
        /// "gen0", "gen1", "gen2", "loh" or "poh".
        name: &'static str = of.0.name(),
        size_before_bytes: Option<Int> = to.wire(&of.1.size_before_bytes),
        /// Of a background collection: at its very end, a moment after `heaps` and the free space were
        /// taken, and the program allocates on.
        size_after_bytes: Option<Int> = to.wire(&of.1.size_after_bytes),
        /// What survived in it: the bytes of its blocks; 0 where it was not collected.
        promoted_bytes: Option<Int> = to.wire(&of.1.promoted_bytes),
        /// Free space inside it afterwards.
        fragmentation_bytes: Option<Int> = to.wire(&of.1.fragmentation_bytes),
        /// It was among what was compacted; single regions of it may have been swept all the same ("mixed").
        /// Null when it was not collected.
        compacted: Option<bool> = to.wire(&of.1.compacted),
        moved_blocks: Option<Int> = to.wire(&of.1.moved.map(|b| b.blocks)),
        moved_bytes: Option<Int> = to.wire(&of.1.moved.map(|b| b.bytes)),
        surviving_blocks: Option<Int> = to.wire(&of.1.surviving.map(|b| b.blocks)),
        surviving_bytes: Option<Int> = to.wire(&of.1.surviving.map(|b| b.bytes)),
    }

    /// One heap's part; server GC has several. At the end of a background collection of server GC the
    /// runtime may send the figures of a heap before that heap has made them: they are null then.
    Heap(to, heap: record::HeapStats) {
        index: u32,
        size_before_bytes: Option<Int>,
        size_after_bytes: Option<Int>,
        /// What survived in the collected generations of this heap.
        promoted_bytes: Option<Int>,
        /// Why this heap wanted that generation, in the garbage collector's own terms (gcrecord.h):
        /// what used up its budget of allocations or of time, then every condition that was met. Empty:
        /// it was for a younger one.
        condemned_reasons: Option<Vec<&'static str>> = heap.condemned_reasons.clone(),
    }

    /// What watching one collection cost the target.
    Cost(to, cost: record::Cost) {
        /// Time inside gcwatch's callbacks, all threads added up.
        callback_ns: Int,
        /// What the runtime spent walking for gcwatch, at least.
        walk_ns: Int,
        /// What looking at the types of roots took in the pause; null where it was not done.
        naming_ns: Option<Int>,
        /// The profiler was armed for the whole of it.
        armed: bool,
    }

    /// What should have come of one collection and did not.
    Missing(to, missing: record::Missing) {
        ranges: Int,
        roots: Int,
        events: Int,
    }
}
