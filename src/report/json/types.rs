//! The JSON of `gcwatch/1`: types of the wire alone, apart from the model. Their doc comments are
//! the descriptions of `gcwatch schema`.

use schemars::JsonSchema;
use serde::Serialize;

use super::assertions::Assertion;
use super::held::{Pinned, RootMethod, RootOrigins, RootStatic, RootType, TriggeredBy};
use super::number::{Address, Int};
use super::sums::Summary;

/// The name and version of this format.
pub(crate) const SCHEMA: &str = "gcwatch/1";

/// Every garbage collection of one watch of a .NET process. A value that is not known is null,
/// never 0 and never left out. Strings that name a kind, a reason or a type may gain members.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// Always "gcwatch/1".
    pub(super) schema: &'static str,
    pub(super) tool: Tool,
    pub(super) target: Target,
    /// One per garbage collection, in the order in which they became complete.
    pub(super) gcs: Vec<Gc>,
    pub(super) watch: Watch,
    /// Null when gcwatch was cut off before it could sum up.
    pub(super) summary: Option<Summary>,
    /// The verdicts on `--assert`.
    pub(super) assertions: Vec<Assertion>,
    pub(super) lost: Lost,
    pub(super) exit: Exit,
}

/// Several processes in one document: `run --follow`. Found under `$defs/Processes`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Processes {
    /// Always "gcwatch/1".
    pub(super) schema: &'static str,
    pub(super) tool: Tool,
    /// In the order in which they ended.
    pub(super) processes: Vec<Process>,
    /// Null when gcwatch was cut off before it could sum up.
    pub(super) summary: Option<Overall>,
    pub(super) exit: Exit,
}

/// The document of one process, and what tells it from the others.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Process {
    /// What people call it: the managed assembly that was started, or the executable.
    pub(super) title: Option<String>,
    pub(super) parent_pid: Option<u32>,
    #[serde(flatten)]
    pub(super) document: Document,
}

/// Counts over all processes; percentiles are each process's own.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Overall {
    /// Those that could not be watched included.
    pub(super) processes: Int,
    pub(super) not_watched: Int,
    /// Complete collections.
    pub(super) gcs: Int,
    /// Collections that were cut off.
    pub(super) incomplete: Int,
    pub(super) by_generation_and_kind: Vec<OverallGroup>,
    /// All pauses of complete collections.
    pub(super) pause_ns: Int,
    pub(super) assertions: VerdictCounts,
    pub(super) lost: Lost,
}

/// Complete collections of one generation and kind, in all processes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OverallGroup {
    pub(super) generation: u8,
    pub(super) kind: &'static str,
    pub(super) count: Int,
    pub(super) pause_ns: OverallPauses,
}

/// Their pauses; null where none was measured.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OverallPauses {
    pub(super) total: Option<Int>,
    pub(super) max: Option<Int>,
}

/// The verdicts on `--assert`, each bound judged for each process.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VerdictCounts {
    pub(super) hold: Int,
    pub(super) fail: Int,
    pub(super) not_judged: Int,
}

/// The program that wrote this.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

/// The process that was watched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) pid: Option<u32>,
    /// As the runtime gives it: one joined line. A recording whose target was killed has no end that tells it.
    pub(super) command_line: Option<String>,
    /// The arguments one by one; null where only the joined line is known.
    /// A recording cannot tell this.
    pub(super) args: Option<Vec<String>>,
    /// The file that runs.
    /// A recording cannot tell this.
    pub(super) executable: Option<String>,
    pub(super) runtime: Runtime,
    /// How its garbage collector is set up; each null until known.
    /// A recording cannot tell this.
    pub(super) gc: GcSettings,
}

/// The .NET runtime in it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Runtime {
    pub(super) name: Option<String>,
    /// A recording cannot tell this.
    pub(super) version: Option<String>,
    /// A recording whose target was killed has no end that tells it.
    pub(super) arch: Option<String>,
    /// A recording whose target was killed has no end that tells it.
    pub(super) os: Option<String>,
}

/// The garbage collector's settings.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GcSettings {
    /// Server GC (true) or workstation GC (false): what runs, whatever was asked for.
    pub(super) server: Option<bool>,
    /// Whether background collections are allowed.
    pub(super) concurrent: Option<bool>,
    /// How many heaps there were when this was written; each collection has its own count.
    pub(super) heaps: Option<u32>,
    /// Regions (true) or segments (false).
    pub(super) regions: Option<bool>,
    /// Where these come from.
    pub(super) source: Option<&'static str>,
}

/// One garbage collection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Gc {
    /// The runtime's own number.
    pub(super) number: Option<u32>,
    /// What it was seen with: "basic", "moves" or "roots".
    pub(super) level: &'static str,
    /// The oldest generation collected: 0, 1 or 2.
    pub(super) generation: Option<u8>,
    /// "blocking", "background" or "foreground" (blocking, while a background one ran).
    pub(super) kind: Option<&'static str>,
    /// Why the runtime collected: "alloc_soh", "alloc_loh", "induced", "low_memory" and others.
    pub(super) reason: Option<&'static str>,
    /// The reason code of the event that asked for it (GCTriggered).
    pub(super) trigger_reason_code: Option<u32>,
    /// The program, or a library in it, asked for it.
    pub(super) induced: Option<bool>,
    /// True, false, or "mixed": some of the generations were compacted, others swept.
    pub(super) compacting: Option<Compacting>,
    /// False: the record is cut off, and counts in no summary.
    pub(super) complete: bool,
    /// "began-before", "ended-after", "lost" or "half-armed"; null for a complete record.
    pub(super) incomplete: Option<&'static str>,
    /// Start of the suspension for its first pause, ns of the stream's clock since the watch began.
    pub(super) at_ns: Option<Int>,
    /// Sum of its pauses.
    pub(super) pause_ns: Option<Int>,
    /// From the runtime's GCStart to its GCEnd.
    pub(super) gc_ns: Option<Int>,
    /// Part of the pauses that went into stopping the threads.
    pub(super) suspend_ns: Option<Int>,
    /// The times the program stood still for it. Pauses never overlap.
    pub(super) pauses: Vec<Pause>,
    /// Size of all generations before it, free space inside them included.
    pub(super) heap_before_bytes: Option<Int>,
    /// The same after it: `GCMemoryInfo.HeapSizeBytes`.
    pub(super) heap_after_bytes: Option<Int>,
    /// What survived, as the runtime sums it in GCHeapStats (and TraceEvent after it): without the
    /// pinned-object heap, and for a background collection with what the blocking one before it
    /// promoted of gen0 and gen1. `GCMemoryInfo.PromotedBytes` is this and the pinned-object heap's.
    /// `generations` and `heaps` have neither flaw.
    pub(super) promoted_bytes: Option<Int>,
    /// Memory committed to the heap afterwards: `GCMemoryInfo.TotalCommittedBytes`. Null for a
    /// background collection and before .NET 7, of which no event tells it; a libclrgc without that
    /// event (.NET 8 and 9) has none either.
    pub(super) committed_bytes: Option<Int>,
    /// Heaps that took part; server GC may change their number from one collection to the next.
    pub(super) heap_count: Option<u32>,
    /// GC handles in use.
    pub(super) handles: Option<u32>,
    /// Pinned objects that it met; a background collection counts none.
    pub(super) pinned_objects: Option<u32>,
    pub(super) finalization: Finalization,
    /// gen0, gen1, gen2, loh, poh; empty when nothing is known of them.
    pub(super) generations: Vec<Generation>,
    /// One per heap; empty when nothing is known of them.
    pub(super) heaps: Vec<Heap>,
    /// Blocks in the generations that were compacted; null when not seen.
    pub(super) moved: Option<Moved>,
    /// Blocks that survived without a move being considered; null when not seen.
    pub(super) surviving: Option<Surviving>,
    /// What held the heap; null when nothing of it was seen.
    pub(super) roots: Option<Roots>,
    /// Who asked for it; null where the program did not, or nobody was seen.
    pub(super) triggered_by: Option<TriggeredBy>,
    /// What watching it cost the target; null when not measured.
    pub(super) cost: Option<Cost>,
    pub(super) missing: Missing,
}

/// True, false or "mixed".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Compacting {
    /// All of the collected generations, or none.
    Same(bool),
    /// Some of them.
    Mixed(Mixed),
}

/// The word for some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mixed {
    /// Some generations were compacted, others swept.
    Mixed,
}

/// One time the program stood still.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pause {
    /// "whole", "initial", "final_mark" or "survivor_walk".
    pub(super) phase: &'static str,
    /// Start, ns of the stream's clock since the watch began.
    pub(super) at_ns: Int,
    pub(super) ns: Int,
    /// Part of it that went into stopping the threads.
    pub(super) suspend_ns: Option<Int>,
    /// It would not have happened without gcwatch.
    pub(super) caused_by_watching: bool,
}

/// What became ready for finalization.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Finalization {
    /// `GCMemoryInfo.FinalizationPendingCount`.
    pub(super) objects: Option<Int>,
    /// What they keep alive; null for a background collection, which does not count it.
    pub(super) bytes: Option<Int>,
}

/// One generation's part. A block is booked to the generation it lay in before.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Generation {
    /// "gen0", "gen1", "gen2", "loh" or "poh".
    pub(super) name: &'static str,
    pub(super) size_before_bytes: Option<Int>,
    /// Of a background collection: at its very end, a moment after `heaps` and the free space were
    /// taken, and the program allocates on.
    pub(super) size_after_bytes: Option<Int>,
    /// What survived in it: the bytes of its blocks; 0 where it was not collected.
    pub(super) promoted_bytes: Option<Int>,
    /// Free space inside it afterwards.
    pub(super) fragmentation_bytes: Option<Int>,
    /// It was among what was compacted; single regions of it may have been swept all the same ("mixed").
    /// Null when it was not collected.
    pub(super) compacted: Option<bool>,
    pub(super) moved_blocks: Option<Int>,
    pub(super) moved_bytes: Option<Int>,
    pub(super) surviving_blocks: Option<Int>,
    pub(super) surviving_bytes: Option<Int>,
}

/// One heap's part; server GC has several. At the end of a background collection of server GC the
/// runtime may send the figures of a heap before that heap has made them: they are null then.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Heap {
    pub(super) index: u32,
    pub(super) size_before_bytes: Option<Int>,
    pub(super) size_after_bytes: Option<Int>,
    /// What survived in the collected generations of this heap.
    pub(super) promoted_bytes: Option<Int>,
    /// Why this heap wanted that generation, in the garbage collector's own terms (gcrecord.h):
    /// what used up its budget of allocations or of time, then every condition that was met. Empty:
    /// it was for a younger one.
    pub(super) condemned_reasons: Option<Vec<&'static str>>,
}

/// The blocks of the compacted generations.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Moved {
    /// Blocks whose address changed.
    pub(super) blocks: Int,
    pub(super) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(super) bytes_at_least: bool,
    /// Blocks among them that stayed where they were: pinned, or nothing to close up.
    pub(super) stayed_blocks: Int,
    pub(super) stayed_bytes: Int,
    pub(super) block_bytes: Distribution,
    /// How far they moved: |new - old|.
    pub(super) distance_bytes: Distribution,
    pub(super) histogram: Vec<HistogramRow>,
    /// From which generation to which, those that stayed where they were too. Only with `--blocks`; null
    /// when the bounds of the generations were not known.
    pub(super) transitions: Option<Vec<Transition>>,
    /// Every block; null without `--blocks`.
    pub(super) ranges: Option<Vec<MovedRange>>,
}

/// The blocks that survived where they lay.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Surviving {
    pub(super) blocks: Int,
    pub(super) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(super) bytes_at_least: bool,
    pub(super) block_bytes: Distribution,
    pub(super) histogram: Vec<HistogramRow>,
    /// Every block; null without `--blocks`.
    pub(super) ranges: Option<Vec<SurvivingRange>>,
}

/// Minimum and maximum are exact; a percentile is the upper end of its step of a histogram with 16
/// steps per power of two, at most 6.25 % too high. All null when there is no value.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Distribution {
    pub(super) min: Option<Int>,
    pub(super) p50: Option<Int>,
    pub(super) p90: Option<Int>,
    pub(super) p99: Option<Int>,
    pub(super) max: Option<Int>,
}

/// Blocks of a size: above the bound of the row before, and at most this one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HistogramRow {
    /// Null in the last row, which has no bound.
    pub(super) le_bytes: Option<Int>,
    pub(super) blocks: Int,
    pub(super) bytes: Int,
}

/// Blocks by generation before and after.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Transition {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) blocks: Int,
    pub(super) bytes: Int,
}

/// One block of a compacted generation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MovedRange {
    pub(super) old: Address,
    /// The same as `old`: it stayed.
    pub(super) new: Address,
    pub(super) bytes: Int,
    /// The generation it lay in.
    pub(super) from: Option<&'static str>,
    /// The generation it lies in now.
    pub(super) to: Option<&'static str>,
}

/// One block that survived where it lay.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SurvivingRange {
    pub(super) start: Address,
    pub(super) bytes: Int,
    pub(super) generation: Option<&'static str>,
}

/// What held the heap. The counts are null where only the promoted bytes were seen; all but the total
/// and the null ones are null where the runtime tells no kinds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Roots {
    /// All roots that point to an object, weak ones included.
    pub(super) total: Option<Int>,
    /// Roots that point nowhere; not in the total. Slots of frames: handles to null are passed over.
    pub(super) null_refs: Option<Int>,
    pub(super) weak: Option<Int>,
    /// Those that keep their object alive: all but the weak ones.
    pub(super) holding: Option<Int>,
    pub(super) by_kind: Option<RootKinds>,
    /// A root counts once for each of its flags.
    pub(super) by_flag: Option<RootFlags>,
    pub(super) by_kind_and_flag: Option<Vec<RootCount>>,
    /// Null where no names were told; so are the lists below.
    pub(super) by_origin: Option<RootOrigins>,
    /// Bytes that each kind of root kept; null when not seen, as with background collections, of
    /// which the runtime tells none.
    pub(super) promoted_bytes: Option<PromotedBytes>,
    /// Pairs of dependent handles and conditional weak tables: edges, not roots.
    pub(super) dependent_pairs: Option<Int>,
    /// Roots that were counted but not looked at: more than 10,000 different ones in one collection.
    pub(super) untyped: Option<Int>,
    /// The methods whose frames hold the most, at most 100.
    pub(super) methods: Option<Vec<RootMethod>>,
    /// The types that roots point to, the largest first, at most 100.
    pub(super) types: Option<Vec<RootType>>,
    /// Static fields that hold an object, the program's before the framework's, the largest first, at most 100. Null where they are not known.
    pub(super) statics: Option<Vec<RootStatic>>,
    /// What is pinned, and by what, the largest first, at most 100.
    pub(super) pinned: Option<Vec<Pinned>>,
    /// One of these lists has more rows than are here.
    pub(super) lists_cut: Option<bool>,
    /// Every root; null without `--blocks`.
    pub(super) list: Option<Vec<Root>>,
}

/// A number per kind of root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootKinds {
    pub(super) stack: Int,
    pub(super) handle: Int,
    pub(super) finalizer: Int,
    pub(super) other: Int,
}

/// A number per flag of a root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootFlags {
    pub(super) pinning: Int,
    pub(super) weak: Int,
    pub(super) interior: Int,
    pub(super) refcounted: Int,
}

/// Roots of one kind with exactly these flags.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootCount {
    /// "stack", "handle", "finalizer" or "other".
    pub(super) kind: &'static str,
    /// Any of "pinning", "weak", "interior", "refcounted".
    pub(super) flags: Vec<&'static str>,
    pub(super) count: Int,
}

/// Bytes by what promoted them, as the runtime's marking counts them (GCMarkWithType, all heaps
/// added up): an object belongs to the first kind that reaches it, in this order: sized_ref, stack,
/// background, finalizer, handle, older_generation, steal, dependent_handle, new_finalizable. Null
/// where no such event came.
///
/// Without `overflow`, which is contained in `dependent_handle`, they sum to what survived in the
/// collected generations, LOH and POH included: to `promoted_bytes` of the heaps, less what rounding
/// each object up to 8 bytes makes. (The runtime's own total, `promoted_bytes` of a gen2 collection,
/// leaves out the POH.) With server GC the sum may be higher: two threads that reach an object at
/// the same moment both count it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PromotedBytes {
    /// Locals and arguments of threads.
    pub(super) stack: Option<Int>,
    /// Objects that were waiting for their finalizers before.
    pub(super) finalizer: Option<Int>,
    /// Handles of every kind, and so static fields.
    pub(super) handle: Option<Int>,
    /// Objects of generations that were not collected; null with gen2.
    pub(super) older_generation: Option<Int>,
    pub(super) sized_ref: Option<Int>,
    /// Part of `dependent_handle`: what a full mark queue or stack had put off until then.
    pub(super) overflow: Option<Int>,
    pub(super) dependent_handle: Option<Int>,
    /// Objects that now wait for their finalizers, and what only they hold.
    pub(super) new_finalizable: Option<Int>,
    pub(super) steal: Option<Int>,
    /// What a background collection, during which this one ran, had still to mark.
    pub(super) background: Option<Int>,
}

/// One root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Root {
    /// Where its object lies after the collection.
    pub(super) object: Address,
    /// FunctionID of a stack root, the handle of a handle root, else opaque.
    pub(super) id: Option<Address>,
    pub(super) kind: Option<&'static str>,
    pub(super) flags: Option<Vec<&'static str>>,
    /// The number of the first garbage collection at which this same object was among the roots, of
    /// those watched without a gap up to this one. Null for a null root, in an incomplete record, and
    /// where nothing tells whether it is the same object (a frozen one lies in no generation).
    pub(super) since_gc: Option<u32>,
}

/// What watching one collection cost the target.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Cost {
    /// Time inside gcwatch's callbacks, all threads added up.
    pub(super) callback_ns: Int,
    /// What the runtime spent walking for gcwatch, at least.
    pub(super) walk_ns: Int,
    /// What looking at the types of roots took in the pause; null where it was not done.
    pub(super) naming_ns: Option<Int>,
    /// The profiler was armed for the whole of it.
    pub(super) armed: bool,
}

/// What should have come of one collection and did not.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Missing {
    pub(super) ranges: Int,
    pub(super) roots: Int,
    pub(super) events: Int,
}

/// How the target was watched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Watch {
    /// The level reached: "basic", "moves" or "roots".
    pub(super) level: &'static str,
    /// Why it is not the level that was wished; null when it is.
    /// A recording cannot tell this.
    pub(super) level_reason: Option<String>,
    /// RFC 3339.
    pub(super) started_at: Option<String>,
    /// Length on the stream's clock.
    pub(super) duration_ns: Option<Int>,
    /// What watching did to background GC: "untouched", "walked" (each one got one more stop),
    /// "off-in-windows", "off-while-watched", "off-until-exit", or "none" (the target has none).
    pub(super) background_gc: &'static str,
    /// "late": in each collection's mark phase; "always"; null without the profiler.
    pub(super) arming: Option<&'static str>,
    /// What `--sample` asks for; null without it.
    pub(super) sample: Option<Sample>,
    /// What became of it.
    pub(super) windows: Windows,
}

/// Roots are watched in windows: either for some collections or for a time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sample {
    /// Blocking collections of a window; null where it is for a time.
    pub(super) gcs: Option<u32>,
    /// Length of a window; null where it is for collections.
    pub(super) window_ns: Option<Int>,
    /// From the beginning of one window to that of the next.
    pub(super) every_ns: Int,
    /// The level between the windows: "basic" or "moves".
    pub(super) between: &'static str,
}

/// The windows of `--sample`. On how many collections the figures of roots rest is `summary.roots.gcs`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Windows {
    /// Windows in which the profiler was there.
    pub(super) taken: Int,
    pub(super) skipped: Int,
    /// Why they were skipped.
    pub(super) skipped_by: SkippedBy,
}

/// Windows that were skipped, by reason.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkippedBy {
    /// A background collection ran for more than a second.
    pub(super) background_gc: Int,
    /// The runtime took no profiler (another one was active, for example). A recording does not tell of those
    /// after the last window that was taken.
    pub(super) refused: Int,
}

/// What was lost on the way, in all.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Lost {
    pub(super) events: Int,
    pub(super) ranges: Int,
    pub(super) roots: Int,
    /// Integers above that were 2^53 or more and were cut to 2^53 - 1.
    pub(super) saturated: Int,
}

/// How it ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Exit {
    /// The exit code of gcwatch; null when it was cut off before it had one.
    pub(super) gcwatch: Option<u8>,
    /// The exit code of the child of `gcwatch run`, 128+n by signal n.
    /// A recording cannot tell this.
    pub(super) child: Option<i32>,
    /// "target-ended", "duration", "gcs", "interrupted", "end-of-file", "truncated" and others.
    /// A recording cannot tell this.
    pub(super) reason: &'static str,
}
