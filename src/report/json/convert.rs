//! From the model to the wire.

use std::time::Duration;

use super::number::Int;
use super::types::{self as wire, Compacting, Mixed};
use super::{blocks, holders, roots};
use crate::gc::facts::{Estimate, Exit, Gap, Lost, Sample, Target, Watch, WindowLength};
use crate::gc::record::{self, GENERATION_NAMES, Gc};
use crate::report::TOOL_VERSION;

/// Builds wire values, and counts the integers that had to be cut on the way.
#[derive(Debug, Default)]
pub(super) struct Convert {
    saturated: u64,
}

impl Convert {
    /// An integer as the wire holds it.
    pub(super) fn int(&mut self, value: u64) -> Int {
        let (int, cut) = Int::saturating(value);
        self.saturated += u64::from(cut);
        int
    }

    /// The same, where it is known.
    pub(super) fn known(&mut self, value: Option<u64>) -> Option<Int> {
        value.map(|v| self.int(v))
    }

    pub(super) fn gc(&mut self, gc: &Gc) -> wire::Gc {
        wire::Gc {
            number: gc.number,
            level: gc.level.name(),
            generation: gc.generation,
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
            generations: GENERATION_NAMES
                .iter()
                .zip(&gc.generations)
                .map(|(name, stats)| self.generation(name, stats))
                .collect(),
            heaps: gc.heaps.iter().map(|h| self.heap(h)).collect(),
            moved: gc.moved.as_ref().map(|m| blocks::moved(self, m)),
            surviving: gc.surviving.as_ref().map(|s| blocks::surviving(self, s)),
            roots: roots::roots(self, gc),
            triggered_by: gc.induced_by.as_deref().map(holders::triggered_by),
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

    pub(super) fn watch(&mut self, watch: &Watch) -> wire::Watch {
        wire::Watch {
            level: watch.level.name(),
            level_reason: watch.level_reason.clone(),
            started_at: watch.started_at.map(|t| t.to_string()),
            duration_ns: self.known(watch.duration_ns),
            background_gc: watch.background_gc.name(),
            arming: watch.arming.map(|a| a.name()),
            sample: watch.sample.map(|sample| self.sample(sample)),
            windows: wire::Windows {
                taken: self.int(watch.windows.taken),
                skipped: self.int(watch.windows.skipped()),
                skipped_by: wire::SkippedBy {
                    background_gc: self.int(watch.windows.busy),
                    refused: self.int(watch.windows.refused),
                },
            },
            estimate: watch.estimate.map(|estimate| self.estimate(estimate, watch.max_blocking_ns)),
            stepped_back: watch.stepped_back.as_ref().map(|stepped_back| wire::SteppedBack {
                at_ns: self.int(stepped_back.at_ns),
                reason: stepped_back.reason.clone(),
                from: "roots",
                to: "windows",
            }),
        }
    }

    fn estimate(&mut self, estimate: Estimate, limit_ns: Option<u64>) -> wire::Estimate {
        wire::Estimate {
            blocking_gc_ns: self.int(estimate.blocking_gc_ns),
            bytes: self.int(estimate.bytes),
            bytes_from: if estimate.by_statistics { "statistics" } else { "memory" },
            ns_per_mib: self.int(estimate.ns_per_mib),
            pace_from: if estimate.pace_measured { "collections" } else { "usual" },
            limit_ns: self.known(limit_ns),
        }
    }

    fn sample(&mut self, sample: Sample) -> wire::Sample {
        let mut ns = |time: Duration| self.int(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let (gcs, window_ns) = match sample.each {
            WindowLength::Gcs(n) => (Some(n), None),
            WindowLength::Time(time) => (None, Some(ns(time))),
        };
        wire::Sample { gcs, window_ns, every_ns: ns(sample.every), between: sample.between.name() }
    }

    /// What was lost, and how many integers were cut so far: convert it last.
    pub(super) fn lost(&mut self, lost: &Lost) -> wire::Lost {
        wire::Lost {
            gcs: self.int(lost.gcs),
            events: self.int(lost.events),
            ranges: self.int(lost.ranges),
            roots: self.int(lost.roots),
            gap: lost.gap.map(Gap::name),
            silent_since_ns: match lost.gap {
                Some(Gap::Silent { since_ns }) => Some(self.int(since_ns)),
                _ => None,
            },
            saturated: self.int(self.saturated),
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

/// The program that writes.
pub(super) fn tool() -> wire::Tool {
    wire::Tool { name: "gcwatch", version: TOOL_VERSION }
}

/// The process that is watched.
pub(super) fn target(target: &Target) -> wire::Target {
    wire::Target {
        pid: target.pid,
        command_line: target.command_line.clone(),
        args: target.args.clone(),
        executable: target.executable.clone(),
        runtime: wire::Runtime {
            name: target.runtime_name.clone(),
            version: target.runtime_version.clone(),
            arch: target.arch.clone(),
            os: target.os.clone(),
        },
        gc: wire::GcSettings {
            server: target.gc.server,
            concurrent: target.gc.concurrent,
            heaps: target.gc.heaps,
            regions: target.gc.regions,
            source: target.gc.source,
        },
    }
}

/// How it ended.
pub(super) fn exit(exit: &Exit) -> wire::Exit {
    wire::Exit { gcwatch: Some(exit.gcwatch), child: exit.child, reason: exit.reason }
}
