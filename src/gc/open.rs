//! A collection whose events still come.

mod close;
mod ranges;

use std::collections::BTreeMap;

use super::block_totals::{ByGeneration, add};
use super::events::{GlobalHeapHistory, HeapStatsEvent, PerHeapHistory};
use super::generation::Generation;
use super::generation_bounds::GenerationBounds;
use super::heaps::Histories;
use super::queue::Naming;
use super::record::{
    BlockCount, Gc, GenerationStats, Incomplete, Kind, Level, Moved, Pause, Phase, Reason, Surviving,
    Transition,
};
use super::root_kind::MarkKind;
use crate::gc::map::HashMap;

/// Stops of one collection.
const MAX_PAUSES: usize = 1024;

/// The events of one walk over the blocks of a heap.
#[derive(Debug, Clone, Copy, Default)]
struct Walk {
    /// The number of the next event.
    next: u32,
    /// The last event was full, so another one may follow.
    full: bool,
}

/// One collection between its first and its last event.
#[derive(Debug, Default)]
pub(crate) struct OpenGc {
    pub(crate) record: Gc,
    pub(crate) started_ns: u64,
    pub(crate) ended: bool,
    pub(crate) heap_stats_seen: bool,
    /// Heaps whose history has still to come; `None` until the global history has come.
    pub(crate) heaps_due: Option<u32>,
    /// GCGenerationRange came, so the keyword for survivors and moves is on.
    ranges_on: bool,
    /// GCGenerationRange came again after the heap histories.
    pub(crate) end_bounds_seen: bool,
    loh_compacted: bool,
    global: Option<GlobalHeapHistory>,
    histories: Histories,
    moved_by_generation: ByGeneration,
    surviving_by_generation: ByGeneration,
    bounds_known: bool,
    /// The bounds at its start, where single blocks are kept.
    pub(crate) start_bounds: Option<GenerationBounds>,
    /// By thread, and whether the blocks moved: how far the heap's walk came.
    walks: HashMap<(u64, bool), Walk>,
    /// A part of a sum may be missing.
    damaged: bool,
    /// How long the program stood still in it for a heap graph, in ns.
    pub(super) graph_pause_ns: u64,
    /// What is still to be named.
    pub(super) naming: Naming,
    /// Survivors in regions that are newer than the last bounds. Those at the end will have them.
    unplaced: Vec<(u64, u64)>,
}

impl OpenGc {
    pub(crate) fn new(number: u32, generation: u32, reason: Reason, kind: Kind, at_ns: u64) -> OpenGc {
        let record = Gc {
            number: Some(number),
            generation: u8::try_from(generation).ok().map(Generation).filter(|g| *g <= Generation::GEN2),
            reason: Some(reason),
            kind: Some(kind),
            ..Gc::unknown(Level::Basic)
        };
        OpenGc { record, started_ns: at_ns, bounds_known: true, ..OpenGc::default() }
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
        // A collection that began before the watch keeps that reason.
        if self.record.incomplete != Some(Incomplete::BeganBefore) {
            self.record.incomplete = Some(Incomplete::Lost);
        }
        self.damaged = true;
    }

    /// It ends after the watch.
    pub(crate) fn cut_off(&mut self) {
        self.record.incomplete.get_or_insert(Incomplete::EndedAfter);
        // One that is announced as a background collection may still run as a blocking one, in its first stop.
        if self.background() && self.record.pauses.is_empty() {
            self.record.kind = None;
        }
        self.damaged = true;
    }

    /// It ends where the stream has the events of some threads only: what is missing was not lost.
    pub(crate) fn cut_short(&mut self) {
        if self.record.incomplete == Some(Incomplete::Lost) && self.record.missing.events == 0 {
            self.record.incomplete = None;
        }
        if self.background() && !self.marked() {
            self.record.kind = None;
        }
        self.cut_off();
    }

    /// The program resumed, but the end of the collection has not come.
    pub(crate) fn resumed_without_end(&mut self) {
        self.record.incomplete.get_or_insert(Incomplete::Lost);
        self.damaged |= !self.whole();
    }

    /// GCGenerationRange came, at its start or at its end.
    pub(crate) fn bounds_seen(&mut self) {
        self.ranges_on = true;
        self.end_bounds_seen |= self.heaps_due.is_some();
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

    pub(crate) fn mark(&mut self, kind: MarkKind, bytes: u64, at_ns: u64) {
        let since_start_ns = at_ns.saturating_sub(self.started_ns);
        self.record.phases.get_or_insert_default().marked(kind, since_start_ns);
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
        for (index, sizes) in stats.generations.iter().enumerate() {
            if let Some(g) = self.generation(index) {
                g.size_after_bytes = sizes.map(|(size, _)| size);
                g.promoted_bytes = sizes.map(|(_, promoted)| promoted);
            }
        }
        let sum = |part: fn(&(u64, u64)) -> u64| {
            Some(stats.generations.iter().flatten().map(part).fold(0, u64::saturating_add))
        };
        let r = &mut self.record;
        r.heap_after_bytes = sum(|sizes| sizes.0);
        r.promoted_bytes = sum(|sizes| sizes.1);
        r.handles = Some(stats.handles);
        r.pinned_objects = Some(stats.pinned_objects);
        r.finalization_objects = Some(stats.finalization_objects);
        r.finalization_bytes = stats.finalization_bytes;
    }

    pub(crate) fn global_history(&mut self, global: GlobalHeapHistory) {
        self.record.heap_count = Some(global.heaps);
        self.record.memory_load_percent = global.memory_load_percent;
        self.heaps_due = Some(global.heaps);
        self.global = Some(global);
    }

    pub(crate) fn per_heap(&mut self, heap: &PerHeapHistory) {
        self.heaps_due = self.heaps_due.map(|n| n.saturating_sub(1));
        self.histories.add(heap, self.record.generation.unwrap_or(Generation::GEN2));
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
        // The same blocks may also have come in the runtime's events.
        self.unplaced.clear();
    }

    /// Sets the generations that blocks were moved to, by the bounds at the end of the collection.
    pub(crate) fn end_bounds(&mut self, bounds: &mut GenerationBounds) {
        let Some(moved) = self.record.moved.as_mut() else { return };
        let Some(ranges) = moved.ranges.as_mut() else { return };
        let mut counts: BTreeMap<(Generation, Generation), BlockCount> = BTreeMap::new();
        for r in ranges.iter_mut() {
            r.to = bounds.generation(r.new);
            if let (Some(from), Some(to)) = (r.from, r.to) {
                add(counts.entry((from, to)).or_default(), r.bytes);
            }
        }
        let transitions = counts.into_iter().map(|((from, to), count)| Transition { from, to, count });
        moved.transitions = Some(transitions.collect());
    }
}
