//! A collection that is still being put together.

use super::bounds::Bounds;
use super::events::{GlobalHeapHistory, HeapStatsEvent, PerHeapHistory, Ranges, condemned_reasons};
use super::record::{
    BlockCount, Compacting, GENERATION_NAMES, Gc, GenerationStats, HeapStats, Incomplete, Kind, Level,
    Missing, Moved, MovedRange, Pause, Phase, Surviving, SurvivingRange, Transition,
};

/// A bound on memory; beyond it the generation stays unknown.
const MAX_UNPLACED: usize = 100_000;

/// By generation of the old address; the last is for addresses outside all bounds.
type ByGeneration = [BlockCount; 6];

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
    pub(crate) ranges_on: bool,
    loh_compacted: bool,
    global: Option<GlobalHeapHistory>,
    moved_by_generation: ByGeneration,
    surviving_by_generation: ByGeneration,
    bounds_known: bool,
    /// Where the generations lay when it began, with single blocks.
    pub(crate) start_bounds: Option<Bounds>,
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
        record.generation = u8::try_from(generation).ok().filter(|g| *g <= 2);
        record.reason = Some(reason);
        record.kind = Some(kind);
        OpenGc {
            record,
            started_ns: at_ns,
            ended: false,
            heap_stats_seen: false,
            heaps_due: None,
            ranges_on: false,
            loh_compacted: false,
            global: None,
            moved_by_generation: Default::default(),
            surviving_by_generation: Default::default(),
            bounds_known: true,
            start_bounds: None,
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

    pub(crate) fn pause(&mut self, pause: Pause) {
        self.record.pauses.push(pause);
    }

    /// The stop at the end of a background collection's marking is over.
    pub(crate) fn marked(&self) -> bool {
        self.record.pauses.iter().any(|p| p.phase == Phase::FinalMark)
    }

    pub(crate) fn mark(&mut self, mark_type: u32, bytes: u64) {
        if let Some(sum) = self.record.promoted_by.get_mut(mark_type as usize) {
            *sum = Some(sum.unwrap_or(0).saturating_add(bytes));
        }
    }

    pub(crate) fn loh_compact(&mut self) {
        self.loh_compacted = true;
    }

    fn generation(&mut self, index: usize) -> Option<&mut GenerationStats> {
        if self.record.generations.is_empty() {
            self.record.generations = vec![GenerationStats::default(); GENERATION_NAMES.len()];
        }
        self.record.generations.get_mut(index)
    }

    pub(crate) fn heap_stats(&mut self, stats: &HeapStatsEvent) {
        self.heap_stats_seen = true;
        for (index, &(size, promoted)) in stats.generations.iter().enumerate() {
            if let Some(g) = self.generation(index) {
                g.size_after_bytes = Some(size);
                g.promoted_bytes = Some(promoted);
            }
        }
        let r = &mut self.record;
        r.heap_after_bytes = Some(stats.generations.iter().map(|g| g.0).fold(0, u64::saturating_add));
        r.promoted_bytes = Some(stats.generations.iter().map(|g| g.1).fold(0, u64::saturating_add));
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
        let condemned = self.record.generation.unwrap_or(2);
        let mut stats = HeapStats {
            index: heap.heap_index,
            size_before_bytes: 0,
            size_after_bytes: 0,
            promoted_bytes: 0,
            condemned_reasons: condemned_reasons(heap.condemn_reasons, u32::from(condemned)),
        };
        for (index, h) in heap.generations.iter().enumerate() {
            stats.size_before_bytes = stats.size_before_bytes.saturating_add(h.size_before);
            stats.size_after_bytes = stats.size_after_bytes.saturating_add(h.size_after);
            // LOH and POH are collected with gen2 only.
            if index <= usize::from(condemned) || condemned == 2 {
                let survived = h.pinned_survived.saturating_add(h.other_survived);
                stats.promoted_bytes = stats.promoted_bytes.saturating_add(survived);
            }
            let Some(g) = self.generation(index) else { continue };
            let free = h.free_list_after.saturating_add(h.free_objects_after);
            g.size_before_bytes = Some(g.size_before_bytes.unwrap_or(0).saturating_add(h.size_before));
            g.fragmentation_bytes = Some(g.fragmentation_bytes.unwrap_or(0).saturating_add(free));
        }
        let r = &mut self.record;
        r.heap_before_bytes = Some(r.heap_before_bytes.unwrap_or(0).saturating_add(stats.size_before_bytes));
        r.heaps.push(stats);
    }

    /// Ranges that the runtime's own events told.
    pub(crate) fn moved_event(&mut self, ranges: Ranges<'_>, bounds: &mut Bounds, keep: bool) {
        let moved = self.record.moved.get_or_insert_default();
        for (old, new, bytes) in ranges.moved() {
            let from = bounds.generation(old);
            if old == new {
                add(&mut moved.stayed, bytes);
            } else {
                add(&mut moved.count, bytes);
                moved.sizes.add(bytes);
                moved.distances.add(new.abs_diff(old));
                add(&mut self.moved_by_generation[usize::from(from.unwrap_or(5))], bytes);
            }
            if keep {
                moved.ranges.get_or_insert_default().push(MovedRange { old, new, bytes, from, to: None });
            }
        }
        self.bounds_known &= !bounds.is_empty();
    }

    /// Ranges that the runtime's own events told.
    pub(crate) fn surviving_event(&mut self, ranges: Ranges<'_>, bounds: &mut Bounds, keep: bool) {
        let surviving = self.record.surviving.get_or_insert_default();
        for (start, bytes) in ranges.surviving() {
            let generation = bounds.generation(start);
            add(&mut surviving.count, bytes);
            surviving.sizes.add(bytes);
            match generation {
                None if self.unplaced.len() < MAX_UNPLACED => self.unplaced.push((start, bytes)),
                _ => add(&mut self.surviving_by_generation[usize::from(generation.unwrap_or(5))], bytes),
            }
            if keep {
                surviving.ranges.get_or_insert_default().push(SurvivingRange { start, bytes, generation });
            }
        }
        self.bounds_known &= !bounds.is_empty();
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
    }

    /// The bounds at its end: destinations become known.
    pub(crate) fn end_bounds(&mut self, bounds: &mut Bounds) {
        let Some(moved) = self.record.moved.as_mut() else { return };
        let Some(ranges) = moved.ranges.as_mut() else { return };
        let mut counts = [[BlockCount::default(); 5]; 5];
        for r in ranges.iter_mut() {
            r.to = bounds.generation(r.new);
            if let (Some(from), Some(to)) = (r.from, r.to) {
                add(&mut counts[usize::from(from)][usize::from(to)], r.bytes);
            }
        }
        moved.transitions = Some(
            counts
                .iter()
                .enumerate()
                .flat_map(|(from, row)| {
                    row.iter().enumerate().map(move |(to, &count)| Transition {
                        from: from as u8,
                        to: to as u8,
                        count,
                    })
                })
                .filter(|t| t.count.blocks > 0)
                .collect(),
        );
    }

    /// Everything that will come has come; `bounds` are the latest.
    pub(crate) fn close(mut self, bounds: &mut Bounds) -> Gc {
        for (start, bytes) in std::mem::take(&mut self.unplaced) {
            let generation = bounds.generation(start);
            add(&mut self.surviving_by_generation[usize::from(generation.unwrap_or(5))], bytes);
        }
        let ranges = self.record.surviving.as_mut().and_then(|s| s.ranges.as_mut());
        for r in ranges.into_iter().flatten().filter(|r| r.generation.is_none()) {
            r.generation = bounds.generation(r.start);
        }
        // NativeAOT tells generation ranges and then none of their blocks: that is not "nothing moved".
        let told = self.record.moved.is_some() || self.record.surviving.is_some();
        if self.ranges_on && told && self.record.level == Level::Basic {
            self.record.level = Level::Moves;
            self.record.moved.get_or_insert_default();
            self.record.surviving.get_or_insert_default();
        }
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
        self.compacting();
        let r = &mut self.record;
        r.heaps.sort_by_key(|h| h.index);
        if !r.pauses.is_empty() && r.incomplete.is_none() {
            r.pauses.sort_by_key(|p| p.at_ns);
            r.at_ns = r.pauses.first().map(|p| p.at_ns);
            r.pause_ns = Some(r.pauses.iter().map(|p| p.ns).sum());
            r.suspend_ns = Some(r.pauses.iter().filter_map(|p| p.suspend_ns).sum());
        }
        let stop_lost = r.pauses.is_empty() || r.missing != Missing::default();
        if stop_lost && r.incomplete.is_none() {
            r.incomplete = Some(Incomplete::Lost);
        }
        self.record
    }

    fn generations_of_ranges(&mut self) {
        if !self.bounds_known || self.record.moved.is_none() {
            return;
        }
        let (moved, surviving) = (self.moved_by_generation, self.surviving_by_generation);
        for index in 0..GENERATION_NAMES.len() {
            if let Some(g) = self.generation(index) {
                g.moved = Some(moved[index]);
                g.surviving = Some(surviving[index]);
            }
        }
    }

    fn compacting(&mut self) {
        let Some(global) = self.global else { return };
        let condemned = usize::from(self.record.generation.unwrap_or(2));
        let full = condemned == 2;
        let soh = global.compacting();
        let loh = self.loh_compacted;
        for index in 0..GENERATION_NAMES.len() {
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

fn add(count: &mut BlockCount, bytes: u64) {
    count.blocks += 1;
    count.bytes = count.bytes.saturating_add(bytes);
}
