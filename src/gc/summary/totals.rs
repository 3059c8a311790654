//! All complete collections of a watch, added up as they come. Nothing of a single one is kept but its pause, for exact
//! percentiles.

use std::collections::BTreeMap;

use super::conditions::Conditions;
use super::phases::PhaseTotals;
use super::samples::{Samples, Tally};
use crate::gc::allocations::AllocationSummary;
use crate::gc::generation::Generation;
use crate::gc::growth::Growth;
use crate::gc::induced::InducedTotals;
use crate::gc::numbers::Numbers;
use crate::gc::record::{
    Allocated, BlockCount, Gc, GenerationStats, Incomplete, Kind, Level, Moved, Reason, Roots, Surviving,
};
use crate::gc::root_kind::{MarkKind, RootFlags, RootKind};
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
    fn add(&mut self, roots: &Roots) {
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
    fn add(&mut self, ns: u64) {
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

/// Everything complete so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Summary {
    /// Complete collections.
    pub(crate) gcs: u64,
    /// Incomplete records by reason. They are in no other sum.
    pub(crate) incomplete: [u64; 4],
    pub(crate) groups: BTreeMap<(Generation, Kind), Group>,
    /// Sum of all pauses of complete collections, ns.
    pub(crate) pause_ns: u64,
    /// The same without the measured work for gcwatch, ns.
    pub(crate) own_pause_at_most_ns: u64,
    /// Complete collections in whose pauses the runtime worked for gcwatch: all above level `basic`.
    pub(crate) gcs_above_basic: u64,
    pub(crate) longest: Option<Longest>,
    /// The collections of each reason and their pauses.
    pub(crate) reasons: BTreeMap<Reason, StopTotals>,
    /// Why heaps wanted gen2, over all collections of gen2.
    pub(crate) gen2_conditions: Conditions,
    /// Of the blocking collections.
    pub(crate) phases: PhaseTotals,
    pub(crate) moved: Option<Moved>,
    pub(crate) surviving: Option<Surviving>,
    pub(crate) roots: Option<RootsSummary>,
    /// Bytes that each kind of root promoted; in the order of [`MarkKind::ALL`].
    pub(crate) promoted_by: [Option<u64>; MarkKind::ALL.len()],
    pub(crate) heap_after_max_bytes: Option<u64>,
    pub(crate) heap_after_last_bytes: Option<u64>,
    /// What the program allocated between collections; `None`: it is not known between any two.
    pub(crate) allocated: Option<Allocated>,
    /// What allocates; `None`: there are no samples, or the watch is not over.
    pub(crate) allocations: Option<AllocationSummary>,
    /// The generations after the last collection.
    pub(crate) generations: Vec<GenerationStats>,
    /// Those of all records, also of incomplete ones.
    pub(crate) numbers: Numbers,
    /// Suspensions that belong to no collection.
    pub(crate) other_suspensions: StopTotals,
    /// Gen2 collections that blocked, and their pauses.
    pub(crate) gen2_blocking: StopTotals,
    /// Those of them for which the profiler was there, which switches background GC off.
    pub(crate) gen2_blocking_with_profiler: StopTotals,
    /// Those of them that could have run in the background, had the profiler not been there.
    pub(crate) blocked_by_watching: StopTotals,
    /// StopTotals inside collections that would not have been without us.
    pub(crate) extra_stops: StopTotals,
    pub(crate) cost: Option<CostSummary>,
    pub(crate) growth: Growth,
    pub(crate) induced: InducedTotals,
}

/// The order of [`Summary::incomplete`].
pub(crate) const INCOMPLETE: [Incomplete; 4] =
    [Incomplete::BeganBefore, Incomplete::EndedAfter, Incomplete::Lost, Incomplete::HalfArmed];

impl Summary {
    /// Takes in one collection.
    pub(crate) fn add(&mut self, gc: &Gc) {
        match (gc.number, gc.incomplete) {
            // The collections between it and the next one may have ended before the watch.
            (None, _) | (_, Some(Incomplete::BeganBefore)) => {}
            (Some(number), Some(Incomplete::EndedAfter)) => self.numbers.add_cut_off(number),
            (Some(number), _) => self.numbers.add(number, gc.stops_without_gc),
        }
        if let Some(why) = gc.incomplete {
            for (reason, count) in INCOMPLETE.iter().zip(&mut self.incomplete) {
                *count += u64::from(*reason == why);
            }
            return;
        }
        self.gcs += 1;
        self.gcs_above_basic += u64::from(gc.level > Level::Basic);
        if let Some(reason) = gc.reason {
            self.reasons.entry(reason).or_default().add(gc.pause_ns.unwrap_or(0));
        }
        if gc.generation == Some(Generation::GEN2) {
            self.gen2_conditions.add(gc);
        }
        self.phases.add(gc);
        self.add_pauses(gc);
        self.add_blocks(gc);
        if let Some(roots) = &gc.roots {
            self.roots.get_or_insert_default().add(roots);
            if let Some(stats) = &roots.stats {
                self.growth.add(stats);
            }
        }
        self.induced.add(gc);
        for (total, bytes) in self.promoted_by.iter_mut().zip(gc.promoted_by) {
            add_known(total, bytes);
        }
        if let Some(allocated) = gc.allocated {
            *self.allocated.get_or_insert_default() += allocated;
        }
        if !gc.generations.is_empty() {
            self.generations.clone_from(&gc.generations);
        }
        if let Some(after) = gc.heap_after_bytes {
            self.heap_after_last_bytes = Some(after);
            self.heap_after_max_bytes = self.heap_after_max_bytes.max(Some(after));
        }
        if let Some(cost) = gc.cost {
            let sum = self.cost.get_or_insert_default();
            sum.callback_ns = sum.callback_ns.saturating_add(cost.callback_ns);
            sum.walk_ns = sum.walk_ns.saturating_add(cost.walk_ns);
            add_known(&mut sum.naming_ns, cost.naming_ns);
            sum.armed_gcs += u64::from(cost.armed);
            sum.pause_ns = sum.pause_ns.saturating_add(gc.pause_ns.unwrap_or(0));
        }
    }

    fn add_pauses(&mut self, gc: &Gc) {
        if let (Some(generation), Some(kind)) = (gc.generation, gc.kind) {
            let group = self.groups.entry((generation, kind)).or_default();
            group.count += 1;
            if let Some(ns) = gc.pause_ns {
                group.pauses.add(ns);
            }
            if generation == Generation::GEN2 && kind == Kind::Blocking {
                self.gen2_blocking.add(gc.pause_ns.unwrap_or(0));
                if gc.cost.is_some() || gc.profiler_there {
                    self.gen2_blocking_with_profiler.add(gc.pause_ns.unwrap_or(0));
                }
                if gc.blocked_by_watching() {
                    self.blocked_by_watching.add(gc.pause_ns.unwrap_or(0));
                }
            }
        }
        if let Some(pause_ns) = gc.pause_ns {
            self.pause_ns = self.pause_ns.saturating_add(pause_ns);
            let own_ns = gc.own_pause_at_most_ns().unwrap_or(pause_ns);
            self.own_pause_at_most_ns = self.own_pause_at_most_ns.saturating_add(own_ns);
            if self.longest.is_none_or(|longest| pause_ns > longest.pause_ns) {
                self.longest = Some(Longest {
                    number: gc.number,
                    generation: gc.generation,
                    kind: gc.kind,
                    reason: gc.reason,
                    pause_ns,
                });
            }
        }
        for pause in gc.pauses.iter().filter(|p| p.caused_by_watching) {
            self.extra_stops.add(pause.ns);
        }
    }

    fn add_blocks(&mut self, gc: &Gc) {
        if let (Some(generation), Some(kind)) = (gc.generation, gc.kind) {
            let group = self.groups.entry((generation, kind)).or_default();
            group.moved = BlockCount::sum([group.moved, gc.moved.as_ref().map(|m| m.count)]);
            group.survived = BlockCount::sum([group.survived, survived(gc)]);
        }
        if let Some(moved) = &gc.moved {
            let sum = self.moved.get_or_insert_default();
            sum.count += moved.count;
            sum.stayed += moved.stayed;
            sum.bytes_at_least |= moved.bytes_at_least;
            sum.sizes.merge(&moved.sizes);
            sum.distances.merge(&moved.distances);
        }
        if let Some(surviving) = &gc.surviving {
            let sum = self.surviving.get_or_insert_default();
            sum.count += surviving.count;
            sum.bytes_at_least |= surviving.bytes_at_least;
            sum.sizes.merge(&surviving.sizes);
        }
    }

    /// Number of incomplete records.
    pub(crate) fn incomplete_gcs(&self) -> u64 {
        self.incomplete.iter().sum()
    }

    /// Share of the watch for which collections stopped the program, in percent.
    pub(crate) fn pause_percent(&self, duration_ns: Option<u64>) -> Option<f64> {
        percent_of(self.pause_ns, duration_ns)
    }

    /// The same without the measured work for gcwatch: at most this share would be left without gcwatch.
    pub(crate) fn own_pause_percent_at_most(&self, duration_ns: Option<u64>) -> Option<f64> {
        percent_of(self.own_pause_at_most_ns, duration_ns)
    }

    /// Pauses of one generation, whatever the kind, or of all (`None`), longest last.
    pub(crate) fn pauses(&self, generation: Option<Generation>) -> Samples {
        let mut all = Samples::default();
        for ((of, _), group) in &self.groups {
            if generation.is_none_or(|wanted| wanted == *of) {
                all.sorted.extend(group.pauses.in_order().iter());
                all.total = all.total.saturating_add(group.pauses.total);
            }
        }
        all.sorted.sort();
        all
    }
}

fn percent_of(ns: u64, duration_ns: Option<u64>) -> Option<f64> {
    let duration_ns = duration_ns.filter(|&ns| ns > 0)?;
    Some(ns as f64 / duration_ns as f64 * 100.0)
}

/// Blocks that survived in place: those of generations that were not compacted, and those that a compacting collection
/// did not move. `None`: neither is known.
pub(crate) fn survived(gc: &Gc) -> Option<BlockCount> {
    let stayed = gc.moved.as_ref().map(|m| m.stayed);
    BlockCount::sum([stayed, gc.surviving.as_ref().map(|s| s.count)])
}

fn add_known(total: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *total = Some(total.unwrap_or(0).saturating_add(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_records_count_nowhere_but_among_themselves() {
        let mut gc = Gc::unknown(Level::Basic);
        gc.generation = Some(Generation::GEN1);
        gc.kind = Some(Kind::Blocking);
        gc.reason = Some(Reason(1));
        gc.pause_ns = Some(5);
        gc.heap_after_bytes = Some(7);
        let mut summary = Summary::default();
        summary.add(&gc);
        let whole = summary.clone();
        gc.incomplete = Some(Incomplete::Lost);
        gc.pause_ns = Some(500);
        summary.add(&gc);
        assert_eq!(summary.incomplete, [0, 0, 1, 0]);
        summary.incomplete = [0; 4];
        assert_eq!(summary, whole);
        assert_eq!(summary.pause_percent(Some(50)), Some(10.0));
        assert_eq!(summary.pause_percent(Some(0)), None);
    }

    #[test]
    fn what_was_not_seen_stays_unknown_and_zero_stays_zero() {
        let mut summary = Summary::default();
        let mut gc = Gc::unknown(Level::Basic);
        gc.generation = Some(Generation::GEN0);
        gc.kind = Some(Kind::Blocking);
        summary.add(&gc);
        let group = &summary.groups[&(Generation::GEN0, Kind::Blocking)];
        assert_eq!((group.moved, group.survived, summary.roots.is_none()), (None, None, true));
        gc.moved = Some(Moved { stayed: BlockCount { blocks: 2, bytes: 48 }, ..Moved::default() });
        gc.surviving = Some(Surviving { count: BlockCount { blocks: 1, bytes: 24 }, ..Surviving::default() });
        gc.roots = Some(Roots::default());
        summary.add(&gc);
        let group = &summary.groups[&(Generation::GEN0, Kind::Blocking)];
        assert_eq!(group.moved, Some(BlockCount::default()));
        assert_eq!(group.survived, Some(BlockCount { blocks: 3, bytes: 72 }));
        assert_eq!(summary.roots.as_ref().and_then(|r| r.total.median()), Some(0));
    }
}
