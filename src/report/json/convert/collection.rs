//! One collection.

use super::{blocks, root_stats, roots};
use crate::gc::generation::Generation;
use crate::gc::record::{self, Gc};
use crate::report::json::number::Convert;
use crate::report::json::types::collection::{self as wire, Compacting, Mixed};

impl Convert {
    pub(crate) fn gc(&mut self, gc: &Gc) -> wire::Gc {
        wire::Gc {
            number: gc.number,
            level: gc.level.name(),
            generation: gc.generation.map(|g| g.0),
            kind: gc.kind.map(record::Kind::name),
            reason: gc.reason.map(|r| r.names().0),
            trigger_reason_code: gc.trigger_reason,
            induced: gc.reason.map(record::Reason::induced),
            compacting: gc.compacting.map(compacting),
            complete: gc.complete(),
            incomplete: gc.incomplete.map(record::Incomplete::name),
            at_ns: self.known(gc.at_ns),
            pause_ns: self.known(gc.pause_ns),
            caused_by_watching_ns: self.known(gc.caused_by_watching_ns),
            gc_ns: self.known(gc.gc_ns),
            suspend_ns: self.known(gc.suspend_ns),
            pauses: gc.pauses.iter().map(|p| self.pause(p)).collect(),
            heap_before_bytes: self.known(gc.heap_before_bytes),
            heap_after_bytes: self.known(gc.heap_after_bytes),
            promoted_bytes: self.known(gc.promoted_bytes),
            committed_bytes: self.known(gc.committed_bytes),
            heap_count: gc.heap_count,
            handles: gc.handles,
            pinned_objects: gc.pinned_objects,
            finalization: wire::Finalization {
                objects: self.known(gc.finalization_objects),
                bytes: self.known(gc.finalization_bytes),
            },
            generations: Generation::COLLECTED
                .into_iter()
                .zip(&gc.generations)
                .map(|(generation, stats)| self.generation(generation.name(), stats))
                .collect(),
            heaps: gc.heaps.iter().map(|h| self.heap(h)).collect(),
            moved: gc.moved.as_ref().map(|m| blocks::moved(self, m)),
            surviving: gc.surviving.as_ref().map(|s| blocks::surviving(self, s)),
            roots: roots::roots(self, gc),
            triggered_by: gc.induced_by.as_deref().map(root_stats::triggered_by),
            cost: gc.cost.map(|cost| wire::Cost {
                callback_ns: self.int(cost.callback_ns),
                walk_ns: self.int(cost.walk_ns),
                naming_ns: self.known(cost.naming_ns),
                armed: cost.armed,
            }),
            missing: wire::Missing {
                ranges: self.int(gc.missing.ranges),
                roots: self.int(gc.missing.roots),
                events: self.int(gc.missing.events),
            },
        }
    }

    fn pause(&mut self, pause: &record::Pause) -> wire::Pause {
        wire::Pause {
            phase: pause.phase.name(),
            at_ns: self.int(pause.at_ns),
            ns: self.int(pause.ns),
            suspend_ns: self.known(pause.suspend_ns),
            caused_by_watching: pause.caused_by_watching,
        }
    }

    fn generation(&mut self, name: &'static str, stats: &record::GenerationStats) -> wire::Generation {
        wire::Generation {
            name,
            size_before_bytes: self.known(stats.size_before_bytes),
            size_after_bytes: self.known(stats.size_after_bytes),
            promoted_bytes: self.known(stats.promoted_bytes),
            fragmentation_bytes: self.known(stats.fragmentation_bytes),
            compacted: stats.compacted,
            moved_blocks: self.known(stats.moved.map(|b| b.blocks)),
            moved_bytes: self.known(stats.moved.map(|b| b.bytes)),
            surviving_blocks: self.known(stats.surviving.map(|b| b.blocks)),
            surviving_bytes: self.known(stats.surviving.map(|b| b.bytes)),
        }
    }

    fn heap(&mut self, heap: &record::HeapStats) -> wire::Heap {
        wire::Heap {
            index: heap.index,
            size_before_bytes: self.known(heap.size_before_bytes),
            size_after_bytes: self.known(heap.size_after_bytes),
            promoted_bytes: self.known(heap.promoted_bytes),
            condemned_reasons: heap.condemned_reasons.clone(),
        }
    }
}

fn compacting(compacting: record::Compacting) -> Compacting {
    match compacting {
        record::Compacting::Yes => Compacting::Same(true),
        record::Compacting::No => Compacting::Same(false),
        record::Compacting::Mixed => Compacting::Mixed(Mixed::Mixed),
    }
}
