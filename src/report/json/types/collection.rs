//! One collection, and its parts that are neither blocks nor roots.

use schemars::JsonSchema;
use serde::Serialize;

use super::blocks::{Moved, Surviving};
use super::root_stats::TriggeredBy;
use super::roots::Roots;
use crate::report::json::number::Int;

/// One garbage collection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gc {
    /// The runtime's own number.
    pub(crate) number: Option<u32>,
    /// What it was seen with: "basic", "moves" or "roots".
    pub(crate) level: &'static str,
    /// The oldest generation collected: 0, 1 or 2.
    pub(crate) generation: Option<u8>,
    /// "blocking", "background" or "foreground" (blocking, while a background one ran).
    pub(crate) kind: Option<&'static str>,
    /// Why the runtime collected: "alloc_soh", "alloc_loh", "induced", "low_memory" and others.
    pub(crate) reason: Option<&'static str>,
    /// The reason code of the event that asked for it (GCTriggered).
    pub(crate) trigger_reason_code: Option<u32>,
    /// The program, or a library in it, asked for it.
    pub(crate) induced: Option<bool>,
    /// True, false, or "mixed": some of the generations were compacted, others swept.
    pub(crate) compacting: Option<Compacting>,
    /// False: the record is cut off, and counts in no summary.
    pub(crate) complete: bool,
    /// "began-before", "ended-after", "lost" or "half-armed"; null for a complete record.
    pub(crate) incomplete: Option<&'static str>,
    /// Start of the suspension for its first pause, ns of the stream's clock since the watch began.
    pub(crate) at_ns: Option<Int>,
    /// Sum of its pauses, without those that watching caused.
    pub(crate) pause_ns: Option<Int>,
    /// Sum of the pauses that watching caused (`pauses[].caused_by_watching`); they are in no other sum.
    pub(crate) caused_by_watching_ns: Option<Int>,
    /// From the runtime's GCStart to its GCEnd.
    pub(crate) gc_ns: Option<Int>,
    /// Part of `pause_ns` that went into stopping the threads.
    pub(crate) suspend_ns: Option<Int>,
    /// The times the program stood still for it. Pauses never overlap.
    pub(crate) pauses: Vec<Pause>,
    /// Size of all generations before it, free space inside them included.
    pub(crate) heap_before_bytes: Option<Int>,
    /// The same after it: `GCMemoryInfo.HeapSizeBytes`.
    pub(crate) heap_after_bytes: Option<Int>,
    /// What survived, as the runtime sums it in GCHeapStats (and TraceEvent after it): without the
    /// pinned-object heap, and for a background collection with what the blocking one before it
    /// promoted of gen0 and gen1. `GCMemoryInfo.PromotedBytes` is this and the pinned-object heap's.
    /// `generations` and `heaps` have neither flaw.
    pub(crate) promoted_bytes: Option<Int>,
    /// Memory committed to the heap afterwards: `GCMemoryInfo.TotalCommittedBytes`. Null for a
    /// background collection and before .NET 7, of which no event tells it; a libclrgc without that
    /// event (.NET 8 and 9) has none either.
    pub(crate) committed_bytes: Option<Int>,
    /// Heaps that took part; server GC may change their number from one collection to the next.
    pub(crate) heap_count: Option<u32>,
    /// GC handles in use.
    pub(crate) handles: Option<u32>,
    /// Pinned objects that it met; a background collection counts none.
    pub(crate) pinned_objects: Option<u32>,
    pub(crate) finalization: Finalization,
    /// gen0, gen1, gen2, loh, poh; empty when nothing is known of them.
    pub(crate) generations: Vec<Generation>,
    /// One per heap; empty when nothing is known of them.
    pub(crate) heaps: Vec<Heap>,
    /// Blocks in the generations that were compacted; null when not seen.
    pub(crate) moved: Option<Moved>,
    /// Blocks that survived without a move being considered; null when not seen.
    pub(crate) surviving: Option<Surviving>,
    /// What held the heap; null when nothing of it was seen.
    pub(crate) roots: Option<Roots>,
    /// Who asked for it; null where the program did not, or nobody was seen.
    pub(crate) triggered_by: Option<TriggeredBy>,
    /// What watching it cost the target; null when not measured.
    pub(crate) cost: Option<Cost>,
    pub(crate) missing: Missing,
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

/// One time the program stood still.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pause {
    /// "whole", "initial", "final_mark" or "survivor_walk".
    pub(crate) phase: &'static str,
    /// Start, ns of the stream's clock since the watch began.
    pub(crate) at_ns: Int,
    pub(crate) ns: Int,
    /// Part of it that went into stopping the threads.
    pub(crate) suspend_ns: Option<Int>,
    /// It would not have happened without gcwatch.
    pub(crate) caused_by_watching: bool,
}

/// What became ready for finalization.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finalization {
    /// `GCMemoryInfo.FinalizationPendingCount`.
    pub(crate) objects: Option<Int>,
    /// What they keep alive; null for a background collection, which does not count it.
    pub(crate) bytes: Option<Int>,
}

/// One generation's part. A block is booked to the generation it lay in before.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Generation {
    /// "gen0", "gen1", "gen2", "loh" or "poh".
    pub(crate) name: &'static str,
    pub(crate) size_before_bytes: Option<Int>,
    /// Of a background collection: at its very end, a moment after `heaps` and the free space were
    /// taken, and the program allocates on.
    pub(crate) size_after_bytes: Option<Int>,
    /// What survived in it: the bytes of its blocks; 0 where it was not collected.
    pub(crate) promoted_bytes: Option<Int>,
    /// Free space inside it afterwards.
    pub(crate) fragmentation_bytes: Option<Int>,
    /// It was among what was compacted; single regions of it may have been swept all the same ("mixed").
    /// Null when it was not collected.
    pub(crate) compacted: Option<bool>,
    pub(crate) moved_blocks: Option<Int>,
    pub(crate) moved_bytes: Option<Int>,
    pub(crate) surviving_blocks: Option<Int>,
    pub(crate) surviving_bytes: Option<Int>,
}

/// One heap's part; server GC has several. At the end of a background collection of server GC the
/// runtime may send the figures of a heap before that heap has made them: they are null then.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Heap {
    pub(crate) index: u32,
    pub(crate) size_before_bytes: Option<Int>,
    pub(crate) size_after_bytes: Option<Int>,
    /// What survived in the collected generations of this heap.
    pub(crate) promoted_bytes: Option<Int>,
    /// Why this heap wanted that generation, in the garbage collector's own terms (gcrecord.h):
    /// what used up its budget of allocations or of time, then every condition that was met. Empty:
    /// it was for a younger one.
    pub(crate) condemned_reasons: Option<Vec<&'static str>>,
}

/// What watching one collection cost the target.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cost {
    /// Time inside gcwatch's callbacks, all threads added up.
    pub(crate) callback_ns: Int,
    /// What the runtime spent walking for gcwatch, at least.
    pub(crate) walk_ns: Int,
    /// What looking at the types of roots took in the pause; null where it was not done.
    pub(crate) naming_ns: Option<Int>,
    /// The profiler was armed for the whole of it.
    pub(crate) armed: bool,
}

/// What should have come of one collection and did not.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Missing {
    pub(crate) ranges: Int,
    pub(crate) roots: Int,
    pub(crate) events: Int,
}
