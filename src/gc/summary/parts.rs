//! The parts of a summary.

use super::samples::{Samples, Tally};
use crate::gc::generation::Generation;
use crate::gc::record::{BlockCount, Kind, Reason, Roots};
use crate::gc::root_kind::{RootFlags, RootKind};
use crate::gc::root_stats::RootStatsTotals;

/// The collections of one generation and kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Group {
    pub(crate) count: u64,
    /// One value per collection: the sum of its pauses, ns.
    pub(crate) pauses: Samples,
    /// `None`: not seen in any of them.
    pub(crate) moved: Option<BlockCount>,
    /// Survived without moving; `None`: not seen in any of them.
    pub(crate) survived: Option<BlockCount>,
}

/// The collection with the longest pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Longest {
    pub(crate) number: Option<u32>,
    pub(crate) generation: Option<Generation>,
    pub(crate) kind: Option<Kind>,
    pub(crate) reason: Option<Reason>,
    pub(crate) pause_ns: u64,
}

/// Roots per collection, over all collections that showed them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RootsSummary {
    /// Number of collections that showed their roots.
    pub(crate) gcs: u64,
    pub(crate) total: Tally,
    pub(crate) holding: Tally,
    pub(crate) by_kind: [Tally; RootKind::ALL.len()],
    pub(crate) by_flag: [Tally; RootFlags::ALL.len()],
    /// By name; `None`: no names are known.
    pub(crate) stats: Option<RootStatsTotals>,
}

impl RootsSummary {
    pub(super) fn add(&mut self, roots: &Roots) {
        self.gcs += 1;
        self.total.add(roots.total());
        self.holding.add_known(roots.holding());
        for (kind, tally) in RootKind::ALL.into_iter().zip(&mut self.by_kind) {
            tally.add_known(roots.of_kind(kind));
        }
        for ((flag, _), tally) in RootFlags::ALL.into_iter().zip(&mut self.by_flag) {
            tally.add_known(roots.with_flag(flag));
        }
        if let Some(stats) = &roots.stats {
            self.stats.get_or_insert_default().add(stats);
        }
    }
}

/// A number of stops and their length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StopTotals {
    pub(crate) count: u64,
    pub(crate) ns: u64,
}

impl StopTotals {
    pub(super) fn add(&mut self, ns: u64) {
        self.count = self.count.saturating_add(1);
        self.ns = self.ns.saturating_add(ns);
    }
}

/// What watching cost, in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CostSummary {
    /// Time inside our callbacks, all threads.
    pub(crate) callback_ns: u64,
    /// Time in the runtime's walks for the profiler, at least.
    pub(crate) walk_ns: u64,
    /// Collections for the whole of which the profiler was armed.
    pub(crate) armed_gcs: u64,
    /// Looking at types in pauses; `None`: not done.
    pub(crate) naming_ns: Option<u64>,
    /// Sum of the pauses of the collections that these times above come from.
    pub(crate) pause_ns: u64,
}
