//! All complete collections of a watch, added up as they come. Of a single one nothing is kept but
//! what an exact percentile needs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::generation::Generation;
use super::growth::Growth;
use super::numbers::Numbers;
use super::record::{BlockCount, Gc, Incomplete, Kind, Level, Moved, Reason, Roots, Surviving};
use super::root_kind::{MarkKind, RootFlags, RootKind};
use super::induced::InducedTotals;
use super::root_stats::RootStatsTotals;

/// Values of which every one differs, such as pauses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Samples {
    sorted: Vec<u64>,
    /// Not yet merged in: inserting each one would move half of the list.
    fresh: Vec<u64>,
    total: u64,
}

impl Samples {
    /// Takes in one value.
    pub(crate) fn add(&mut self, value: u64) {
        self.total = self.total.saturating_add(value);
        self.fresh.push(value);
        if self.fresh.len() > self.sorted.len() / 1024 {
            self.merge();
        }
    }

    /// Puts the fresh ones where they belong, from the largest down: what is larger than all of them stays untouched.
    fn merge(&mut self) {
        self.fresh.sort_unstable();
        let mut end = self.sorted.len();
        let mut shift = self.fresh.len();
        self.sorted.resize(end + shift, 0);
        for value in self.fresh.drain(..).rev() {
            let at = self.sorted[..end].partition_point(|sorted| *sorted <= value);
            self.sorted.copy_within(at..end, at + shift);
            shift -= 1;
            self.sorted[at + shift] = value;
            end = at;
        }
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        (self.sorted.len() + self.fresh.len()) as u64
    }

    /// Sum of the values.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The largest value.
    pub(crate) fn max(&self) -> Option<u64> {
        self.sorted.last().into_iter().chain(&self.fresh).max().copied()
    }

    /// Nearest-rank percentile, exact.
    pub(crate) fn percentile(&self, percent: f64) -> Option<u64> {
        let sorted = self.in_order();
        nearest_rank(percent, sorted.len() as u64).map(|rank| sorted[rank as usize - 1])
    }

    /// As [`Samples::percentile`], of those values that are already in order: all but the last
    /// thousandth. Cheap enough to ask at every collection.
    pub(crate) fn percentile_so_far(&self, percent: f64) -> Option<u64> {
        nearest_rank(percent, self.sorted.len() as u64).map(|rank| self.sorted[rank as usize - 1])
    }

    fn in_order(&self) -> Cow<'_, [u64]> {
        if self.fresh.is_empty() {
            return Cow::Borrowed(&self.sorted);
        }
        let mut all = [self.sorted.as_slice(), &self.fresh].concat();
        all.sort();
        Cow::Owned(all)
    }
}

/// Values that repeat, such as numbers of roots.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    /// Value to how often it came.
    values: BTreeMap<u64, u64>,
    count: u64,
}

impl Tally {
    fn add(&mut self, value: u64) {
        *self.values.entry(value).or_default() += 1;
        self.count += 1;
    }

    fn add_known(&mut self, value: Option<u64>) {
        value.into_iter().for_each(|value| self.add(value));
    }

    /// Nearest-rank percentile, exact.
    pub(crate) fn percentile(&self, percent: f64) -> Option<u64> {
        let mut left = nearest_rank(percent, self.count)?;
        for (&value, &count) in &self.values {
            if left <= count {
                return Some(value);
            }
            left -= count;
        }
        None
    }

    /// The value in the middle.
    pub(crate) fn median(&self) -> Option<u64> {
        self.percentile(50.0)
    }

    /// The largest value.
    pub(crate) fn max(&self) -> Option<u64> {
        self.values.last_key_value().map(|(&value, _)| value)
    }
}

/// The rank, from 1, of a percentile among `count` values in order.
pub(crate) fn nearest_rank(percent: f64, count: u64) -> Option<u64> {
    (count > 0).then(|| ((percent / 100.0 * count as f64).ceil() as u64).clamp(1, count))
}

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

/// The collection that stopped the program longest.
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
    /// By name; `None`: no names were told.
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
    /// What the runtime spent walking for us, at least.
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
    /// Records that are not whole, by reason; they count nowhere else.
    pub(crate) incomplete: [u64; 4],
    pub(crate) groups: BTreeMap<(Generation, Kind), Group>,
    /// Sum of all pauses of complete collections, ns.
    pub(crate) pause_ns: u64,
    /// The same without what was measured of our own work in them, ns.
    pub(crate) own_pause_at_most_ns: u64,
    /// Complete collections in whose pauses something was told for us: all that were not seen at `basic`.
    pub(crate) gcs_above_basic: u64,
    pub(crate) longest: Option<Longest>,
    pub(crate) reasons: BTreeMap<Reason, u64>,
    pub(crate) moved: Option<Moved>,
    pub(crate) surviving: Option<Surviving>,
    pub(crate) roots: Option<RootsSummary>,
    /// Bytes that each kind of root promoted; in the order of [`MarkKind::ALL`].
    pub(crate) promoted_by: [Option<u64>; MarkKind::ALL.len()],
    pub(crate) heap_after_max_bytes: Option<u64>,
    pub(crate) heap_after_last_bytes: Option<u64>,
    /// Those of all records, cut off or not.
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
            // Those between it and the next one may have ended before the watch.
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
            *self.reasons.entry(reason).or_default() += 1;
        }
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
            add_blocks(&mut group.moved, gc.moved.as_ref().map(|m| m.count));
            add_blocks(&mut group.survived, survived(gc));
        }
        if let Some(moved) = &gc.moved {
            let sum = self.moved.get_or_insert_default();
            sum.count = plus(sum.count, moved.count);
            sum.stayed = plus(sum.stayed, moved.stayed);
            sum.bytes_at_least |= moved.bytes_at_least;
            sum.sizes.merge(&moved.sizes);
            sum.distances.merge(&moved.distances);
        }
        if let Some(surviving) = &gc.surviving {
            let sum = self.surviving.get_or_insert_default();
            sum.count = plus(sum.count, surviving.count);
            sum.bytes_at_least |= surviving.bytes_at_least;
            sum.sizes.merge(&surviving.sizes);
        }
    }

    /// Number of records that are not whole.
    pub(crate) fn incomplete_gcs(&self) -> u64 {
        self.incomplete.iter().sum()
    }

    /// Share of the watch for which collections stopped the program, in percent.
    pub(crate) fn pause_percent(&self, duration_ns: Option<u64>) -> Option<f64> {
        percent_of(self.pause_ns, duration_ns)
    }

    /// The most of that share that can be the program's own: without what was measured of our work in the pauses.
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

/// Blocks that survived where they lay: those never considered for a move, and those that a
/// compacting collection left in place. `None`: neither was seen.
pub(crate) fn survived(gc: &Gc) -> Option<BlockCount> {
    let stayed = gc.moved.as_ref().map(|m| m.stayed);
    let surviving = gc.surviving.as_ref().map(|s| s.count);
    match (surviving, stayed) {
        (None, None) => None,
        (a, b) => Some(plus(a.unwrap_or_default(), b.unwrap_or_default())),
    }
}

fn plus(a: BlockCount, b: BlockCount) -> BlockCount {
    BlockCount { blocks: a.blocks.saturating_add(b.blocks), bytes: a.bytes.saturating_add(b.bytes) }
}

fn add_blocks(total: &mut Option<BlockCount>, more: Option<BlockCount>) {
    if let Some(more) = more {
        *total = Some(plus(total.unwrap_or_default(), more));
    }
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
    fn percentiles_are_nearest_rank_whatever_the_order() {
        let mut samples = Samples::default();
        assert_eq!(samples.percentile(50.0), None);
        // 1..=5000 in a scrambled order: 1009 is coprime to 5000.
        for i in 0..5000u64 {
            samples.add(i * 1009 % 5000 + 1);
        }
        assert_eq!((samples.count(), samples.total()), (5000, 5000 * 5001 / 2));
        for (percent, value) in [(0.0, 1), (50.0, 2500), (90.0, 4500), (99.0, 4950), (99.99, 5000)] {
            assert_eq!(samples.percentile(percent), Some(value), "p{percent}");
        }
        assert_eq!(samples.max(), Some(5000));
        let mut tally = Tally::default();
        (1..=10).for_each(|v| tally.add(v / 2));
        assert_eq!((tally.median(), tally.max()), (Some(2), Some(5)));
    }

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
