//! What is known of one garbage collection: one [`Gc`] per collection, the same at every level, live and replayed. A
//! value that is not known is `None`, never 0.

use super::blocks::{Allocated, GenerationStats, HeapStats, Moved, Surviving};
use super::kinds::{Compacting, Incomplete, Kind, Level, Phase, Reason};
use super::phases::Phases;
use super::roots::Roots;
use crate::gc::allocations::SinceLast;
use crate::gc::callers::StackNumber;
use crate::gc::generation::Generation;
use crate::gc::generation_bounds::GenerationBounds;
use crate::gc::names::Name;
use crate::gc::root_kind::MarkKind;

/// One stop of the program: SuspendEEBegin to RestartEEEnd.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pause {
    pub(crate) phase: Phase,
    /// Start, in ns of the stream's clock since the watch began.
    pub(crate) at_ns: u64,
    pub(crate) ns: u64,
    /// SuspendEEBegin to SuspendEEEnd; `None` where that part belongs to an earlier collection in the same stop.
    pub(crate) suspend_ns: Option<u64>,
    /// It would not have happened without gcwatch.
    pub(crate) caused_by_watching: bool,
}

/// What watching this collection cost the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Time in the profiler's callbacks, the sum over all threads.
    pub(crate) callback_ns: u64,
    /// Time in the runtime's walks for the profiler, at least.
    pub(crate) walk_ns: u64,
    /// Time in the pause for looking up types; `None`: no names were requested.
    pub(crate) naming_ns: Option<u64>,
    /// COR_PRF_MONITOR_GC was on for the whole collection.
    pub(crate) armed: bool,
}

/// What the stream proves to be missing of one collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) ranges: u64,
    pub(crate) roots: u64,
    pub(crate) events: u64,
}

/// One garbage collection.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Gc {
    /// The runtime's own number, from 1; `None` where neither start nor end was seen.
    pub(crate) number: Option<u32>,
    pub(crate) level: Level,
    pub(crate) generation: Option<Generation>,
    pub(crate) kind: Option<Kind>,
    pub(crate) reason: Option<Reason>,
    /// `Reason` of GCTriggered.
    pub(crate) trigger_reason: Option<u32>,
    /// The stack of GCTriggered, whose names come at the end of the session; `None`: it had none.
    pub(crate) trigger_stack: Option<StackNumber>,
    pub(crate) compacting: Option<Compacting>,
    /// `None`: the record is complete.
    pub(crate) incomplete: Option<Incomplete>,
    /// SuspendEEBegin of its first pause, ns of the stream's clock since the watch began.
    pub(crate) at_ns: Option<u64>,
    /// Sum of its pauses, without those that watching caused.
    pub(crate) pause_ns: Option<u64>,
    /// Sum of the pauses that watching caused; they are in no other sum.
    pub(crate) caused_by_watching_ns: Option<u64>,
    /// GCStart to GCEnd.
    pub(crate) gc_ns: Option<u64>,
    /// Sum of the suspensions of those pauses that are in `pause_ns`.
    pub(crate) suspend_ns: Option<u64>,
    pub(crate) pauses: Vec<Pause>,
    /// `None`: it is a background collection, or an event of it was lost.
    pub(crate) phases: Option<Phases>,
    /// What the program allocated since the collection before it.
    pub(crate) allocated: Option<Allocated>,
    /// The samples since the collection before it; `None`: there are no samples in this watch.
    pub(crate) sampled: Option<SinceLast>,
    pub(crate) heap_before_bytes: Option<u64>,
    pub(crate) heap_after_bytes: Option<u64>,
    pub(crate) promoted_bytes: Option<u64>,
    pub(crate) committed_bytes: Option<u64>,
    pub(crate) heap_count: Option<u32>,
    /// Memory in use when it began, in percent of what the process may use: all programs of the machine, or those of the
    /// container.
    pub(crate) memory_load_percent: Option<u32>,
    pub(crate) handles: Option<u32>,
    pub(crate) pinned_objects: Option<u32>,
    pub(crate) finalization_objects: Option<u64>,
    pub(crate) finalization_bytes: Option<u64>,
    /// In the order of [`Generation::COLLECTED`]; empty where nothing is known.
    pub(crate) generations: Vec<GenerationStats>,
    pub(crate) heaps: Vec<HeapStats>,
    pub(crate) moved: Option<Moved>,
    pub(crate) surviving: Option<Surviving>,
    /// Where the generations were when it began. Only with `--blocks`.
    pub(crate) start_bounds: Option<GenerationBounds>,
    pub(crate) roots: Option<Roots>,
    /// Bytes that each kind of root promoted, summed over heaps, in the order of [`MarkKind::ALL`].
    /// `None` where no such event came.
    pub(crate) promoted_by: [Option<u64>; MarkKind::ALL.len()],
    /// The managed stack that induced it, innermost frame first; `None`: it was not induced, or the stack is not known.
    pub(crate) induced_by: Option<Vec<Name>>,
    pub(crate) cost: Option<Cost>,
    /// It started in a window of `--sample`, or after one and before the next background collection: the profiler was
    /// loaded, or was being detached.
    pub(crate) profiler_there: bool,
    /// Stops for a collection in which none started, since the last stop in which one did (NoGC regions).
    pub(crate) stops_without_gc: u32,
    pub(crate) missing: Missing,
}

impl Gc {
    /// A record about which nothing is known yet.
    pub(crate) fn unknown(level: Level) -> Gc {
        Gc { level, ..Gc::default() }
    }

    /// Its pause without the measured work for gcwatch: callbacks, and the runtime's walks for them. Without gcwatch
    /// the pause would be at most this long, because not all of that work can be measured. `None`: the pause is not
    /// known.
    pub(crate) fn own_pause_at_most_ns(&self) -> Option<u64> {
        let measured = self.cost.zip(self.heap_count).map_or(0, |(cost, heaps)| {
            // The times are sums over the GC threads, one for each heap.
            cost.callback_ns.saturating_add(cost.walk_ns) / u64::from(heaps.max(1))
        });
        self.pause_ns.map(|ns| ns.saturating_sub(measured))
    }

    /// Whether it is a collection of generation 2 that blocked because the profiler switches background GC off: its
    /// reason is none of those for which the runtime always blocks.
    pub(crate) fn blocked_by_watching(&self) -> bool {
        let full = self.generation == Some(Generation::GEN2) && self.kind == Some(Kind::Blocking);
        full && (self.cost.is_some() || self.profiler_there)
            && !self.reason.is_some_and(Reason::always_blocks)
    }

    /// Only complete records count in summaries and verdicts.
    pub(crate) fn complete(&self) -> bool {
        self.incomplete.is_none()
    }
}
