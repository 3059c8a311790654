//! What is known of one garbage collection. One [`Gc`] per collection, the same at every level,
//! live and replayed. A value that is not known is `None`, never 0.

use super::histogram::Histogram;
use super::names::Name;
use super::root_stats::RootStats;

/// How closely a collection was watched; the order is the order of detail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Level {
    /// The runtime's own GC events only.
    #[default]
    Basic,
    /// And the moved and surviving ranges, by the runtime's events.
    Moves,
    /// And the roots, by the profiler.
    Roots,
}

impl Level {
    /// The name on the command line and in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Basic => "basic",
            Level::Moves => "moves",
            Level::Roots => "roots",
        }
    }
}

/// How a collection ran beside the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// The program stood still from start to end.
    Blocking,
    /// Concurrent, with short pauses.
    Background,
    /// Ephemeral and blocking, while a background one was running.
    Foreground,
}

impl Kind {
    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Blocking => "blocking",
            Kind::Background => "background",
            Kind::Foreground => "foreground",
        }
    }
}

/// Why the runtime collected: `Reason` of GCStart. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Reason(pub(crate) u32);

impl Reason {
    /// `(name in JSON, short name in text)`; both "unknown" for a code this version has no name for.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self.0 {
            0 => ("alloc_soh", "alloc"),
            1 => ("induced", "induced"),
            2 => ("low_memory", "lowmem"),
            3 => ("empty", "empty"),
            4 => ("alloc_loh", "loh"),
            5 => ("out_of_space_soh", "oos"),
            6 => ("out_of_space_loh", "oosloh"),
            7 => ("induced_noforce", "induced"),
            8 => ("gc_stress", "stress"),
            9 => ("low_memory_blocking", "lowmem"),
            10 => ("induced_compacting", "induced"),
            11 => ("low_memory_host", "lowmem"),
            12 => ("pm_full_gc", "pmfull"),
            13 => ("low_memory_host_blocking", "lowmem"),
            14 => ("bgc_tuning_soh", "tuning"),
            15 => ("bgc_tuning_loh", "tuning"),
            16 => ("bgc_stepping", "tuning"),
            17 => ("induced_aggressive", "induced"),
            _ => ("unknown", "unknown"),
        }
    }

    /// The runtime never runs a collection of generation 2 in the background for this reason: it was asked to block, or
    /// it is out of space.
    pub(crate) fn always_blocks(self) -> bool {
        matches!(self.0, 1 | 5 | 6 | 8 | 9 | 10 | 12 | 13 | 17)
    }

    /// The program (or a library in it) asked for this collection.
    pub(crate) fn induced(self) -> bool {
        matches!(self.0, 1 | 7 | 10 | 17)
    }
}

/// Whether the condemned generations were compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compacting {
    /// Every one of them.
    Yes,
    /// None.
    No,
    /// Some were compacted, others swept.
    Mixed,
}

/// Why a record is not whole. Such a record is shown, and counted nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incomplete {
    /// It was running when the watch began.
    BeganBefore,
    /// It was running when the watch ended.
    EndedAfter,
    /// Events that belong to it were lost.
    Lost,
    /// The profiler's event mask changed while it ran.
    HalfArmed,
}

impl Incomplete {
    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Incomplete::BeganBefore => "began-before",
            Incomplete::EndedAfter => "ended-after",
            Incomplete::Lost => "lost",
            Incomplete::HalfArmed => "half-armed",
        }
    }
}

/// What a pause was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The whole of a blocking collection.
    Whole,
    /// The start of a background collection.
    Initial,
    /// The end of a background collection's marking.
    FinalMark,
    /// The runtime walks a background collection's survivors, only because someone listens.
    SurvivorWalk,
}

impl Phase {
    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Phase::Whole => "whole",
            Phase::Initial => "initial",
            Phase::FinalMark => "final_mark",
            Phase::SurvivorWalk => "survivor_walk",
        }
    }
}

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

/// The generations in the order of the runtime's arrays.
pub(crate) const GENERATION_NAMES: [&str; 5] = ["gen0", "gen1", "gen2", "loh", "poh"];

/// One generation's part in a collection. Sizes include free space, as the runtime counts them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GenerationStats {
    pub(crate) size_before_bytes: Option<u64>,
    pub(crate) size_after_bytes: Option<u64>,
    pub(crate) promoted_bytes: Option<u64>,
    /// Free list and free objects after the collection.
    pub(crate) fragmentation_bytes: Option<u64>,
    pub(crate) compacted: Option<bool>,
    /// Blocks are booked to the generation they lay in before.
    pub(crate) moved: Option<BlockCount>,
    pub(crate) surviving: Option<BlockCount>,
}

/// A number of blocks and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockCount {
    pub(crate) blocks: u64,
    pub(crate) bytes: u64,
}

/// One heap's part (server GC has several).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeapStats {
    pub(crate) index: u32,
    pub(crate) size_before_bytes: Option<u64>,
    pub(crate) size_after_bytes: Option<u64>,
    /// Bytes that survived in the condemned generations of this heap.
    pub(crate) promoted_bytes: Option<u64>,
    /// Why this heap wanted that generation, in the GC's own terms.
    pub(crate) condemned_reasons: Option<Vec<&'static str>>,
}

/// One moved range, as the runtime reported it. `old == new`: it stayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MovedRange {
    pub(crate) old: u64,
    pub(crate) new: u64,
    pub(crate) bytes: u64,
    /// Index into [`GENERATION_NAMES`], where the bounds were known.
    pub(crate) from: Option<u8>,
    pub(crate) to: Option<u8>,
}

/// One range that survived where it lay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SurvivingRange {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// Index into [`GENERATION_NAMES`], where the bounds were known.
    pub(crate) generation: Option<u8>,
}

/// Blocks that went from one generation to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transition {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) count: BlockCount,
}

/// The blocks that a compacting collection moved.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Moved {
    /// Moved for real: `old != new`.
    pub(crate) count: BlockCount,
    /// A range of a runtime that knows only 32-bit lengths was 4 GiB or longer.
    pub(crate) bytes_at_least: bool,
    /// In a moved batch, but where they were: pinned, or nothing to close up.
    pub(crate) stayed: BlockCount,
    pub(crate) sizes: Histogram,
    /// |new - old| of each moved block.
    pub(crate) distances: Histogram,
    pub(crate) transitions: Option<Vec<Transition>>,
    /// Only with `--blocks`.
    pub(crate) ranges: Option<Vec<MovedRange>>,
}

/// The blocks that survived without a move being considered.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Surviving {
    pub(crate) count: BlockCount,
    pub(crate) bytes_at_least: bool,
    pub(crate) sizes: Histogram,
    /// Only with `--blocks`.
    pub(crate) ranges: Option<Vec<SurvivingRange>>,
}

/// COR_PRF_GC_ROOT_KIND, in the order of JSON.
pub(crate) const ROOT_KINDS: [&str; 4] = ["stack", "handle", "finalizer", "other"];
/// COR_PRF_GC_ROOT_FLAGS, bit 0 first.
pub(crate) const ROOT_FLAGS: [&str; 4] = ["pinning", "weak", "interior", "refcounted"];

/// One combination of kind and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RootCount {
    /// Index into [`ROOT_KINDS`].
    pub(crate) kind: u8,
    /// Bits in the order of [`ROOT_FLAGS`].
    pub(crate) flags: u8,
    pub(crate) count: u64,
}

/// What held the heap at the end of a blocking collection: all generations, every time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Roots {
    /// Roots that point nowhere; counted apart.
    pub(crate) null_refs: u64,
    /// Every non-null root once, weak ones too. Sorted by kind, then flags.
    pub(crate) counts: Vec<RootCount>,
    /// `false`: they came by the first version of the callback, which has neither kinds, flags and ids nor dependent
    /// pairs. Only their number is known.
    pub(crate) kinds_known: bool,
    /// Key and value pairs of dependent handles and ConditionalWeakTables: edges, not roots.
    pub(crate) dependent_pairs: u64,
    /// Single roots, only with `--blocks`.
    pub(crate) list: Option<Vec<Root>>,
    /// By name; `None`: no names were asked for.
    pub(crate) stats: Option<RootStats>,
}

impl Roots {
    /// All non-null roots.
    pub(crate) fn total(&self) -> u64 {
        sum(&self.counts, |_| true)
    }
    /// Those of one kind (index into [`ROOT_KINDS`]).
    pub(crate) fn of_kind(&self, kind: u8) -> Option<u64> {
        self.by_kind_and_flags().map(|counts| sum(counts, |c| c.kind == kind))
    }
    /// Those with one flag (index into [`ROOT_FLAGS`]).
    pub(crate) fn with_flag(&self, flag: u8) -> Option<u64> {
        self.by_kind_and_flags().map(|counts| sum(counts, |c| c.flags & (1 << flag) != 0))
    }
    /// Those that keep their object alive: all but the weak ones.
    pub(crate) fn holding(&self) -> Option<u64> {
        self.with_flag(1).map(|weak| self.total().saturating_sub(weak))
    }
    /// The counts, where kinds and flags are known.
    pub(crate) fn by_kind_and_flags(&self) -> Option<&[RootCount]> {
        self.kinds_known.then_some(&self.counts)
    }
}

fn sum(counts: &[RootCount], which: impl Fn(&RootCount) -> bool) -> u64 {
    counts.iter().filter(|c| which(c)).map(|c| c.count).fold(0, u64::saturating_add)
}

/// One root, as RootReferences2 reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Root {
    /// Address after relocation.
    pub(crate) object: u64,
    /// FunctionID of a stack root, handle of a handle root, else opaque.
    pub(crate) id: u64,
    /// Index into [`ROOT_KINDS`].
    pub(crate) kind: u8,
    /// Bits in the order of [`ROOT_FLAGS`].
    pub(crate) flags: u8,
    /// The first collection, of those watched without a gap, at which this object was among the roots.
    pub(crate) since_gc: Option<u32>,
}

/// MarkType of GCMarkWithType, in the runtime's order; the names in JSON.
pub(crate) const MARK_TYPES: [&str; 10] = [
    "stack",
    "finalizer",
    "handle",
    "older_generation",
    "sized_ref",
    "overflow",
    "dependent_handle",
    "new_finalizable",
    "steal",
    "background",
];

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
    pub(crate) generation: Option<u8>,
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
    /// Bytes that each kind of root promoted, summed over heaps; index into [`MARK_TYPES`]; `None`
    /// where no such event came.
    pub(crate) promoted_by: [Option<u64>; MARK_TYPES.len()],
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

/// Ranges of a kind, and roots, of one collection that are kept where each is asked for (`--blocks`): some 300 MiB of each.
/// A heap of 10 million objects has fewer. What is beyond counts as missing.
pub(crate) const MAX_ROWS: usize = 1 << 23;

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
            promoted_by: [None; MARK_TYPES.len()],
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
        let full = self.generation == Some(2) && self.kind == Some(Kind::Blocking);
        full && (self.cost.is_some() || self.profiler_there)
            && !self.reason.is_some_and(Reason::always_blocks)
    }

    /// Only complete records count in summaries and verdicts.
    pub(crate) fn complete(&self) -> bool {
        self.incomplete.is_none()
    }
}
