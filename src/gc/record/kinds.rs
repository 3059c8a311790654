//! How a collection ran, why, and how much of it is known.

/// What is known of a collection. Ordered: each level has what the levels before it have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Level {
    /// The runtime's own GC events only.
    #[default]
    Basic,
    /// Also the moved and surviving ranges, from the runtime's events.
    Moves,
    /// Also the roots, from the profiler.
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

    /// Whether the program, or a library in it, induced this collection.
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

/// Why a record is incomplete. Such a record is shown, but is in no sum.
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
    /// The runtime walks the survivors of a background collection, which it does only for a listener.
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
