//! Applies the runtime's events to the collection that is open.

use super::{Fold, make_room};
use crate::gc::events::{GlobalHeapHistory, RuntimeEvent};
use crate::gc::generation_bounds::{GenerationBounds, GenerationRange};
use crate::gc::open::OpenGc;
use crate::gc::record::Reason;
use crate::gc::stops::Owner;
use crate::gc::stream_event::StreamEvent;

impl Fold {
    pub(super) fn runtime(&mut self, e: &StreamEvent<'_>, event: RuntimeEvent<'_>) {
        if let RuntimeEvent::GenerationRange { generation, start, used_bytes } = event {
            let range = GenerationRange { start, bytes: used_bytes, generation };
            return self.generation_range(e.thread, range);
        }
        if let Some(bounds) = self.bounds_coming.interrupted(e.thread) {
            self.bounds = bounds;
        }
        let current = self.current();
        match event {
            RuntimeEvent::Triggered { reason } => {
                self.trigger = Some((reason, e.thread, self.callers.stack(e.stack, e.pointer_size)));
            }
            RuntimeEvent::SuspendBegin { reason } => {
                if let Some(unfinished) = self.stops.begin(e.thread, e.at_ns, reason) {
                    self.stop_lost(unfinished);
                }
            }
            RuntimeEvent::SuspendEnd => self.stopped(e),
            RuntimeEvent::RestartBegin => self.stops.resumed(e.thread, e.at_ns),
            RuntimeEvent::RestartEnd => self.restart(e),
            RuntimeEvent::GcStart { .. } if self.lease_lost_ns.is_some() => {
                if let Some(stop) = self.stops.in_force() {
                    stop.collected = true;
                }
            }
            RuntimeEvent::GcStart { number, generation, reason, kind } => {
                self.start(e, number, generation, Reason(reason), kind);
            }
            RuntimeEvent::GcEnd { number } => self.gc_end(e, number),
            RuntimeEvent::HeapStats(stats) => {
                let number = self.ended.remove(&e.thread);
                if let Some(gc) = self.numbered(number) {
                    gc.heap_stats(&stats);
                }
                self.background_done();
            }
            RuntimeEvent::Global(global) => self.global_history(e.thread, global),
            RuntimeEvent::PerHeap(heap) => {
                let number = self.histories.get(&e.thread).copied();
                if let Some(gc) = self.numbered(number).filter(|gc| gc.heaps_due != Some(0)) {
                    gc.per_heap(&heap);
                }
                self.background_done();
            }
            RuntimeEvent::MarkWithType { kind, bytes } => {
                if let Some(gc) = self.open(current) {
                    gc.mark(kind, bytes, e.at_ns);
                }
            }
            RuntimeEvent::LohCompact => {
                if let Some(gc) = self.open(current) {
                    gc.loh_compact();
                }
            }
            RuntimeEvent::CommittedUsage { total_bytes } => {
                // The first one is from before the collection. Background collections have no second one.
                if let Some(gc) = self.open(current).filter(|gc| !gc.background() && gc.heaps_due.is_some()) {
                    gc.record.committed_bytes = Some(total_bytes);
                }
            }
            RuntimeEvent::GenerationRange { .. } => {}
            RuntimeEvent::Moved(ranges) => {
                self.blocks(current, |gc, bounds, keep| {
                    gc.ranges_event(e.thread, true, ranges, bounds, keep)
                });
            }
            RuntimeEvent::Surviving(ranges) => {
                self.blocks(current, |gc, bounds, keep| {
                    gc.ranges_event(e.thread, false, ranges, bounds, keep)
                });
            }
        }
    }

    fn generation_range(&mut self, thread: u64, range: GenerationRange) {
        let follows = self.bounds_coming.add(thread, range);
        self.lost_totals = self.lost_totals.saturating_add(self.bounds_coming.take_left_out());
        // Hundreds of them come in a row. The first is enough for the collection.
        let owner = if follows { None } else { self.current() };
        if let Some(gc) = self.open(owner) {
            gc.bounds_seen();
        }
    }

    fn global_history(&mut self, thread: u64, global: GlobalHeapHistory) {
        let owner = if global.concurrent() { Owner::Background } else { Owner::Blocking };
        let full = global.condemned_generation == 2;
        if owner == Owner::Blocking && full && self.blocking.as_ref().is_none_or(|gc| gc.ended) {
            self.turn_blocking();
        }
        self.stream_info.heaps(global.heaps);
        self.histories.remove(&thread);
        if let Some(gc) = self.slot(owner).as_mut().filter(|gc| gc.heaps_due.is_none()) {
            gc.global_history(global);
            let number = gc.record.number;
            make_room(&mut self.histories);
            self.histories.extend(number.map(|number| (thread, number)));
        }
    }

    /// Adds blocks to a collection. Those of a background collection come in a stop of their own.
    fn blocks(&mut self, owner: Option<Owner>, book: impl FnOnce(&mut OpenGc, &mut GenerationBounds, bool)) {
        self.ranges_seen = true;
        if let Some(stop) = self.stops.in_force().filter(|stop| stop.for_background) {
            stop.walked = true;
        }
        let keep = self.keep_blocks;
        let mut bounds = std::mem::take(&mut self.bounds);
        if let Some(gc) = self.open(owner) {
            book(gc, &mut bounds, keep);
        }
        self.bounds = bounds;
    }
}
