//! What is known of one garbage collection: one [`Gc`] per collection, the same at every level, live and replayed. A value
//! that is not known is `None`, never 0.

use super::blocks::{Moved, Surviving};
use super::kinds::{Compacting, Incomplete, Kind, Level, Phase, Reason};
use super::roots::Roots;
use super::sizes::{GenerationStats, HeapStats};
use crate::gc::generation::Generation;
use crate::gc::names::Name;
use crate::gc::root_kind::MarkKind;

/// One time the program stood still: SuspendEEBegin to RestartEEEnd.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pause {
    pub(crate) phase: Phase,
    /// Start, in ns of the stream's clock since the watch began.
    pub(crate) at_ns: u64,
    pub(crate) ns: u64,
    /// SuspendEEBegin to SuspendEEEnd; `None` when the pause was split off another one.
    pub(crate) suspend_ns: Option<u64>,
    /// Would not have happened without us.
    pub(crate) caused_by_watching: bool,
}

/// What watching this collection cost the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Time inside our callbacks, all threads added up.
    pub(crate) callback_ns: u64,
    /// What the runtime spent walking for us, at least.
    pub(crate) walk_ns: u64,
    /// The time that looking at types took in the pause; `None`: no names were asked for.
    pub(crate) naming_ns: Option<u64>,
    /// The profiler's event mask was on for the whole of it.
    pub(crate) armed: bool,
}

/// What should have come and did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) ranges: u64,
    pub(crate) roots: u64,
    pub(crate) events: u64,
}

/// One garbage collection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gc {
    /// The runtime's own number, from 1; `None` where neither start nor end was seen.
    pub(crate) number: Option<u32>,
    pub(crate) level: Level,
    pub(crate) generation: Option<Generation>,
    pub(crate) kind: Option<Kind>,
    pub(crate) reason: Option<Reason>,
    /// `Reason` of GCTriggered.
    pub(crate) trigger_reason: Option<u32>,
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
    pub(crate) heap_before_bytes: Option<u64>,
    pub(crate) heap_after_bytes: Option<u64>,
    pub(crate) promoted_bytes: Option<u64>,
    pub(crate) committed_bytes: Option<u64>,
    pub(crate) heap_count: Option<u32>,
    pub(crate) handles: Option<u32>,
    pub(crate) pinned_objects: Option<u32>,
    pub(crate) finalization_objects: Option<u64>,
    pub(crate) finalization_bytes: Option<u64>,
    /// One per name in [`GENERATION_NAMES`], or empty when nothing is known.
    pub(crate) generations: Vec<GenerationStats>,
    pub(crate) heaps: Vec<HeapStats>,
    pub(crate) moved: Option<Moved>,
    pub(crate) surviving: Option<Surviving>,
    pub(crate) roots: Option<Roots>,
    /// Bytes that each kind of root promoted, summed over heaps, in the order of [`MarkKind::ALL`].
    /// `None` where no such event came.
    pub(crate) promoted_by: [Option<u64>; MarkKind::ALL.len()],
    /// The managed stack that asked for it, innermost frame first; `None`: not induced, or not seen.
    pub(crate) induced_by: Option<Vec<Name>>,
    pub(crate) cost: Option<Cost>,
    /// It started in a window of `--sample`, or after one and before any background collection: the profiler was there, or
    /// on its way out.
    pub(crate) profiler_there: bool,
    /// Stops for a collection in which none started, since the last one that did (NoGC regions).
    pub(crate) stops_without_gc: u32,
    pub(crate) missing: Missing,
}

impl Gc {
    /// A record about which nothing is known yet.
    pub(crate) fn unknown(level: Level) -> Gc {
        Gc {
            number: None,
            level,
            generation: None,
            kind: None,
            reason: None,
            trigger_reason: None,
            compacting: None,
            incomplete: None,
            at_ns: None,
            pause_ns: None,
            caused_by_watching_ns: None,
            gc_ns: None,
            suspend_ns: None,
            pauses: Vec::new(),
            heap_before_bytes: None,
            heap_after_bytes: None,
            promoted_bytes: None,
            committed_bytes: None,
            heap_count: None,
            handles: None,
            pinned_objects: None,
            finalization_objects: None,
            finalization_bytes: None,
            generations: Vec::new(),
            heaps: Vec::new(),
            moved: None,
            surviving: None,
            roots: None,
            promoted_by: [None; MarkKind::ALL.len()],
            induced_by: None,
            cost: None,
            profiler_there: false,
            stops_without_gc: 0,
            missing: Missing::default(),
        }
    }

    /// Its pause without what gcwatch measured of its own work in it: callbacks and the runtime's walks for them. The
    /// program's own pause is at most this long, because not all of our work can be measured. `None`: the pause is
    /// not known.
    pub(crate) fn own_pause_at_most_ns(&self) -> Option<u64> {
        let measured = self.cost.zip(self.heap_count).map_or(0, |(cost, heaps)| {
            // The times are added up over the threads of the collection, one for each heap.
            cost.callback_ns.saturating_add(cost.walk_ns) / u64::from(heaps.max(1))
        });
        self.pause_ns.map(|ns| ns.saturating_sub(measured))
    }

    /// It was generation 2, it blocked while the profiler had switched background collections off, and its reason is
    /// none of those for which the runtime blocks in any case.
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
