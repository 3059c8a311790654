//! A collection that is still being put together.

use super::block_totals::{ByGeneration, ByRange, MovedTotals, add, merge, sum};
use super::events::{
    GlobalHeapHistory, HeapStatsEvent, MovedRow, PerHeapHistory, Ranges, Rows, RowsOf, SurvivingRow,
};
use super::generation::Generation;
use super::generation_bounds::GenerationBounds;
use super::heaps::Histories;
use super::kept_rows::keep_rows;
use super::queue::Naming;
use super::record::{
    BlockCount, Compacting, Gc, GenerationStats, Incomplete, Kind, Level, Missing, Moved, MovedRange, Pause,
    Phase, Surviving, SurvivingRange, Transition,
};
use super::root_kind::MarkKind;
use crate::gc::map::HashMap;

/// A bound on memory; beyond it the generation stays unknown.
const MAX_UNPLACED: usize = 100_000;

/// Threads that tell of blocks in one collection: no more than it has heaps.
const MAX_WALKS: usize = 4096;
/// Stops of one collection.
const MAX_PAUSES: usize = 1024;

/// One collection between its first and its last event.
#[derive(Debug)]
pub(crate) struct OpenGc {
    pub(crate) record: Gc,
    pub(crate) started_ns: u64,
    pub(crate) ended: bool,
    pub(crate) heap_stats_seen: bool,
    /// Heaps whose history has still to come; `None` until the global history told their number.
    pub(crate) heaps_due: Option<u32>,
    /// GCGenerationRange came, so survivors and moves were on.
    ranges_on: bool,
    /// And again after its heap histories.
    pub(crate) end_bounds_told: bool,
    loh_compacted: bool,
    global: Option<GlobalHeapHistory>,
    histories: Histories,
    moved_by_generation: ByGeneration,
    surviving_by_generation: ByGeneration,
    bounds_known: bool,
    /// Where the generations lay when it began, with single blocks.
    pub(crate) start_bounds: Option<GenerationBounds>,
    /// By thread and sort of block: how many events of its heap's walk came.
    walks: HashMap<(u64, bool), u32>,
    /// Something that is added up may be missing.
    damaged: bool,
    /// What of it waits for names.
    pub(super) naming: Naming,
    /// Survivors in regions that were taken since the last bounds; those at its end will tell.
    unplaced: Vec<(u64, u64)>,
}

impl OpenGc {
    pub(crate) fn new(
        number: u32,
        generation: u32,
        reason: super::record::Reason,
        kind: Kind,
        at_ns: u64,
    ) -> OpenGc {
        let mut record = Gc::unknown(Level::Basic);
        record.number = Some(number);
        record.generation = u8::try_from(generation).ok().map(Generation).filter(|g| *g <= Generation::GEN2);
        record.reason = Some(reason);
        record.kind = Some(kind);
        OpenGc {
            record,
            started_ns: at_ns,
            ended: false,
            heap_stats_seen: false,
            heaps_due: None,
            ranges_on: false,
            end_bounds_told: false,
            loh_compacted: false,
            global: None,
            histories: Histories::default(),
            moved_by_generation: Default::default(),
            surviving_by_generation: Default::default(),
            bounds_known: true,
            start_bounds: None,
            walks: HashMap::default(),
            damaged: false,
            naming: Naming::default(),
            unplaced: Vec::new(),
        }
    }

    pub(crate) fn background(&self) -> bool {
        self.record.kind == Some(Kind::Background)
    }

    /// All of the runtime's own events for it are there.
    pub(crate) fn whole(&self) -> bool {
        self.ended && self.heap_stats_seen && self.heaps_due == Some(0)
    }

    /// Events that belong to it were lost, or may have been.
    pub(crate) fn lost(&mut self) {
        // What began before the watch is not known anyway.
        if self.record.incomplete != Some(Incomplete::BeganBefore) {
            self.record.incomplete = Some(Incomplete::Lost);
        }
        self.damaged = true;
    }

    /// It ends after the watch.
    pub(crate) fn cut_off(&mut self) {
        self.record.incomplete.get_or_insert(Incomplete::EndedAfter);
        // One that is announced as background may yet run blocking, in its first stop.
        if self.background() && self.record.pauses.is_empty() {
            self.record.kind = None;
        }
        self.damaged = true;
    }

    /// It ends where only some threads' events are there: what is missing was not lost.
    pub(crate) fn cut_short(&mut self) {
        if self.record.incomplete == Some(Incomplete::Lost) && self.record.missing.events == 0 {
            self.record.incomplete = None;
        }
        if self.background() && !self.marked() {
            self.record.kind = None;
        }
        self.cut_off();
    }

    /// The program went on without its end.
    pub(crate) fn left(&mut self) {
        self.record.incomplete.get_or_insert(Incomplete::Lost);
        self.damaged |= !self.whole();
    }

    /// One of the bounds at its start, or at its end.
    pub(crate) fn bounds_told(&mut self) {
        self.ranges_on = true;
        self.end_bounds_told |= self.heaps_due.is_some();
    }

    pub(crate) fn pause(&mut self, pause: Pause) {
        if self.record.pauses.len() < MAX_PAUSES {
            self.record.pauses.push(pause);
        } else {
            self.lost();
        }
    }

    /// The stop at the end of a background collection's marking is over.
    pub(crate) fn marked(&self) -> bool {
        self.record.pauses.iter().any(|p| p.phase == Phase::FinalMark)
    }

    pub(crate) fn mark(&mut self, kind: MarkKind, bytes: u64) {
        if let Some(sum) = self.record.promoted_by.get_mut(kind.index()) {
            *sum = Some(sum.unwrap_or(0).saturating_add(bytes));
        }
    }

    pub(crate) fn loh_compact(&mut self) {
        self.loh_compacted = true;
    }

    fn generation(&mut self, index: usize) -> Option<&mut GenerationStats> {
        if self.record.generations.is_empty() {
            self.record.generations = vec![GenerationStats::default(); Generation::COLLECTED.len()];
        }
        self.record.generations.get_mut(index)
    }

    pub(crate) fn heap_stats(&mut self, stats: &HeapStatsEvent) {
        self.heap_stats_seen = true;
        for (index, told) in stats.generations.iter().enumerate() {
            if let Some(g) = self.generation(index) {
                g.size_after_bytes = told.map(|(size, _)| size);
                g.promoted_bytes = told.map(|(_, promoted)| promoted);
            }
        }
        let sum = |part: fn(&(u64, u64)) -> u64| {
            Some(stats.generations.iter().flatten().map(part).fold(0, u64::saturating_add))
        };
        let r = &mut self.record;
        r.heap_after_bytes = sum(|told| told.0);
        r.promoted_bytes = sum(|told| told.1);
        r.handles = Some(stats.handles);
        r.pinned_objects = Some(stats.pinned_objects);
        r.finalization_objects = Some(stats.finalization_objects);
        r.finalization_bytes = stats.finalization_bytes;
    }

    pub(crate) fn global_history(&mut self, global: GlobalHeapHistory) {
        self.record.heap_count = Some(global.heaps);
        self.heaps_due = Some(global.heaps);
        self.global = Some(global);
    }

    pub(crate) fn per_heap(&mut self, heap: &PerHeapHistory) {
        self.heaps_due = self.heaps_due.map(|n| n.saturating_sub(1));
        self.histories.add(heap, self.record.generation.unwrap_or(Generation::GEN2));
    }

    /// Ranges that the runtime's own events told; `moving`: those of GCBulkMovedObjectRanges.
    pub(crate) fn ranges_event(
        &mut self,
        thread: u64,
        moving: bool,
        ranges: Ranges<'_>,
        bounds: &mut GenerationBounds,
        keep: bool,
    ) {
        self.walk(thread, moving, ranges.index);
        if moving {
            match ranges.moved() {
                Rows::Narrow(rows) => self.moved_rows(rows, bounds, keep),
                Rows::Wide(rows) => self.moved_rows(rows, bounds, keep),
            }
        } else {
            match ranges.surviving() {
                Rows::Narrow(rows) => self.surviving_rows(rows, bounds, keep),
                Rows::Wide(rows) => self.surviving_rows(rows, bounds, keep),
            }
        }
        self.bounds_known &= !bounds.is_empty();
    }

    fn moved_rows(&mut self, rows: impl RowsOf<MovedRow>, bounds: &mut GenerationBounds, keep: bool) {
        let moved = self.record.moved.get_or_insert_default();
        let by = ByRange::new(&mut self.moved_by_generation, bounds);
        MovedTotals::new(moved, by).add(rows.clone());
        if keep && rows.len() > 0 {
            let range =
                |(old, new, bytes)| MovedRange { old, new, bytes, from: bounds.generation(old), to: None };
            let left_out = keep_rows(moved.ranges.get_or_insert_default(), rows.map(range));
            self.record.missing.ranges = self.record.missing.ranges.saturating_add(left_out);
        }
    }

    fn surviving_rows(&mut self, rows: impl RowsOf<SurvivingRow>, bounds: &mut GenerationBounds, keep: bool) {
        let surviving = self.record.surviving.get_or_insert_default();
        let mut sizes = surviving.sizes.many();
        let mut by = ByRange::new(&mut self.surviving_by_generation, bounds);
        let unplaced = &mut self.unplaced;
        let before = unplaced.len();
        let mut place = |(start, bytes)| {
            if !by.find(start) && unplaced.len() < MAX_UNPLACED {
                unplaced.push((start, bytes));
            } else {
                by.add(start, bytes);
            }
        };
        let mut rest = rows.clone();
        while rest.len() >= 4 {
            let four: [SurvivingRow; 4] = std::array::from_fn(|_| rest.next().unwrap_or_default());
            let four_sizes = four.map(|(_, bytes)| bytes);
            sizes.add_four(four_sizes, sum(four_sizes));
            four.into_iter().for_each(&mut place);
        }
        for (start, bytes) in rest {
            sizes.add(bytes);
            place((start, bytes));
        }
        sizes.end();
        merge(&mut surviving.count, by.end());
        self.unplaced[before..].iter().for_each(|(_, bytes)| add(&mut surviving.count, *bytes));
        if keep && rows.len() > 0 {
            let range =
                |(start, bytes)| SurvivingRange { start, bytes, generation: bounds.generation(start) };
            let left_out = keep_rows(surviving.ranges.get_or_insert_default(), rows.map(range));
            self.record.missing.ranges = self.record.missing.ranges.saturating_add(left_out);
        }
    }

    /// The events of a walk are numbered. The runtime may drop a large one where smaller ones still find room, and
    /// tell of the loss much later.
    fn walk(&mut self, thread: u64, moving: bool, index: u32) {
        if self.walks.len() >= MAX_WALKS && !self.walks.contains_key(&(thread, moving)) {
            return self.lost();
        }
        let due = self.walks.insert((thread, moving), index.saturating_add(1)).unwrap_or(0);
        if index != 0 && index != due {
            self.lost();
            let missing = &mut self.record.missing.events;
            *missing = missing.saturating_add(index.saturating_sub(due).into());
        }
    }

    /// Bytes of blocks are missing: with every blocking collection the heaps tell how much survived in all. (With
    /// segments that counts one smallest object for each heap's large and pinned part.)
    fn blocks_missing(&self) -> bool {
        const SMALLEST_OBJECT_BYTES: u64 = 24;
        if self.background() {
            return false;
        }
        let bytes = |count: &BlockCount| count.bytes;
        let moved = self.record.moved.iter().map(|m| bytes(&m.count).saturating_add(bytes(&m.stayed)));
        let told = moved.chain(self.record.surviving.iter().map(|s| bytes(&s.count)));
        let told = told.fold(0, u64::saturating_add);
        let (heaps, survived) = self.histories.survived();
        let full = self.record.generation == Some(Generation::GEN2);
        let extra = if full { 2 * SMALLEST_OBJECT_BYTES * heaps as u64 } else { 0 };
        told.saturating_add(extra) < survived
    }

    /// Totals that the profiler made.
    pub(crate) fn profiler_ranges(
        &mut self,
        moved: Moved,
        moved_by_generation: ByGeneration,
        surviving: Surviving,
        surviving_by_generation: ByGeneration,
        bounds_known: bool,
    ) {
        self.record.moved = Some(moved);
        self.record.surviving = Some(surviving);
        self.moved_by_generation = moved_by_generation;
        self.surviving_by_generation = surviving_by_generation;
        self.bounds_known = bounds_known;
        // The same blocks may have come as events, too.
        self.unplaced.clear();
    }

    /// The bounds at its end: destinations become known.
    pub(crate) fn end_bounds(&mut self, bounds: &mut GenerationBounds) {
        let Some(moved) = self.record.moved.as_mut() else { return };
        let Some(ranges) = moved.ranges.as_mut() else { return };
        let mut counts = [[BlockCount::default(); 5]; 5];
        for r in ranges.iter_mut() {
            r.to = bounds.generation(r.new);
            if let (Some(from), Some(to)) = (r.from, r.to) {
                add(&mut counts[from.index()][to.index()], r.bytes);
            }
        }
        moved.transitions = Some(
            counts
                .iter()
                .enumerate()
                .flat_map(|(from, row)| {
                    row.iter().enumerate().map(move |(to, &count)| Transition {
                        from: Generation::COLLECTED[from],
                        to: Generation::COLLECTED[to],
                        count,
                    })
                })
                .filter(|t| t.count.blocks > 0)
                .collect(),
        );
    }

    /// Everything that will come has come; `bounds` are the latest.
    pub(crate) fn close(mut self, bounds: &mut GenerationBounds, blocks_told: bool) -> Gc {
        for (start, bytes) in std::mem::take(&mut self.unplaced) {
            let generation = bounds.generation(start);
            add(&mut self.surviving_by_generation[generation.unwrap_or(Generation::FROZEN).index()], bytes);
        }
        let ranges = self.record.surviving.as_mut().and_then(|s| s.ranges.as_mut());
        for r in ranges.into_iter().flatten().filter(|r| r.generation.is_none()) {
            r.generation = bounds.generation(r.start);
        }
        // NativeAOT tells generation ranges and then none of their blocks: that is not "nothing moved".
        if self.ranges_on && blocks_told && self.record.level == Level::Basic {
            self.record.level = Level::Moves;
            self.record.moved.get_or_insert_default();
            self.record.surviving.get_or_insert_default();
            let missing = self.blocks_missing() || self.background() && !self.walked();
            if missing && self.record.incomplete.is_none() {
                self.lost();
            }
        }
        // A collection without a stop, or a background one without its second, lost it.
        if self.record.pauses.is_empty() || self.background() && !self.marked() {
            self.record.incomplete.get_or_insert(Incomplete::Lost);
        }
        self.unknown_sums();
        // Single blocks are kept, and there were none of the other sort.
        if let (Some(moved), Some(surviving)) = (&mut self.record.moved, &mut self.record.surviving)
            && moved.ranges.is_some() != surviving.ranges.is_some()
        {
            if moved.ranges.get_or_insert_default().is_empty() {
                moved.transitions.get_or_insert_default();
            }
            surviving.ranges.get_or_insert_default();
        }
        self.generations_of_ranges();
        std::mem::take(&mut self.histories).close(&mut self.record, self.heaps_due == Some(0));
        self.compacting();
        let r = &mut self.record;
        if !r.pauses.is_empty() && r.incomplete.is_none() {
            r.pauses.sort_by_key(|p| p.at_ns);
            r.at_ns = r.pauses.first().map(|p| p.at_ns);
            let sum = |caused: bool| {
                let which = r.pauses.iter().filter(|p| p.caused_by_watching == caused);
                which.map(|p| p.ns).fold(0, u64::saturating_add)
            };
            let (own, caused) = (sum(false), sum(true));
            let suspended = r.pauses.iter().filter(|p| !p.caused_by_watching).filter_map(|p| p.suspend_ns);
            r.suspend_ns = Some(suspended.fold(0, u64::saturating_add));
            (r.pause_ns, r.caused_by_watching_ns) = (Some(own), Some(caused));
        }
        if r.missing != Missing::default() && r.incomplete.is_none() {
            r.incomplete = Some(Incomplete::Lost);
        }
        self.record
    }

    fn walked(&self) -> bool {
        self.record.pauses.iter().any(|p| p.phase == Phase::SurvivorWalk) && !self.walks.is_empty()
    }

    /// Of what is added up over several events nothing is known where one may be missing. What the profiler added up
    /// came in one.
    fn unknown_sums(&mut self) {
        if !self.damaged {
            return;
        }
        let r = &mut self.record;
        r.promoted_by = Default::default();
        if r.level != Level::Roots {
            (r.moved, r.surviving) = (None, None);
        }
        r.finalization_bytes = None;
        self.global = None;
    }

    fn generations_of_ranges(&mut self) {
        if !self.bounds_known || self.record.moved.is_none() {
            return;
        }
        let (moved, surviving) = (self.moved_by_generation, self.surviving_by_generation);
        for index in 0..Generation::COLLECTED.len() {
            if let Some(g) = self.generation(index) {
                g.moved = Some(moved[index]);
                g.surviving = Some(surviving[index]);
            }
        }
    }

    fn compacting(&mut self) {
        let Some(global) = self.global else { return };
        let condemned = self.record.generation.unwrap_or(Generation::GEN2).index();
        let full = condemned == 2;
        let soh = global.compacting();
        let loh = self.loh_compacted;
        for index in 0..Generation::COLLECTED.len() {
            let compacted = match index {
                0..=2 if index <= condemned => Some(soh),
                3 if full => Some(loh),
                4 if full => Some(false),
                _ => None,
            };
            if let Some(g) = self.generation(index) {
                g.compacted = compacted;
            }
        }
        let loh_in_use = self.record.generations.get(3).and_then(|g| g.size_before_bytes).unwrap_or(0) > 0;
        // Regions may be swept in the plan phase of a compacting collection.
        let soh_kept = self.surviving_by_generation[..3].iter().any(|c| c.blocks > 0);
        self.record.compacting = Some(match (soh, full && loh_in_use) {
            (true, true) if !loh => Compacting::Mixed,
            (false, true) if loh => Compacting::Mixed,
            (true, _) if soh_kept => Compacting::Mixed,
            (true, _) => Compacting::Yes,
            (false, _) => Compacting::No,
        });
    }
}
