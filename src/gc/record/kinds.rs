//! How a collection ran, why, and how much of it is known.

use crate::gc::named::named;

named! {
    /// What is known of a collection. Ordered: each level has what the levels before it have.
    #[derive(Default)]
    Level {
        /// The runtime's own GC events only.
        #[default]
        Basic = "basic",
        /// Also the moved and surviving ranges, from the runtime's events.
        Moves = "moves",
        /// Also the roots, from the profiler.
        Roots = "roots",
    }

    /// How a collection ran beside the program.
    Kind {
        /// The program stood still from start to end.
        Blocking = "blocking",
        /// Concurrent, with short pauses.
        Background = "background",
        /// Ephemeral and blocking, while a background one was running.
        Foreground = "foreground",
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

named! {
    /// Why a record is incomplete. Such a record is shown, but is in no sum.
    Incomplete {
        /// It was running when the watch began.
        BeganBefore = "began-before",
        /// It was running when the watch ended.
        EndedAfter = "ended-after",
        /// Events that belong to it were lost.
        Lost = "lost",
        /// The profiler's event mask changed while it ran.
        HalfArmed = "half-armed",
    }

    /// What a pause was for.
    Phase {
        /// The whole of a blocking collection.
        Whole = "whole",
        /// The start of a background collection.
        Initial = "initial",
        /// The end of a background collection's marking.
        FinalMark = "final_mark",
        /// The runtime walks the survivors of a background collection, which it does only for a listener.
        SurvivorWalk = "survivor_walk",
        /// The end of a collection's stop, in which a heap graph was taken.
        HeapGraph = "heap_graph",
    }
}
