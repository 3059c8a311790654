//! Collections because memory is nearly used up.

use crate::finding::figures::Numbers;
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence};
use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Reason};

pub(super) const ID: &str = "memory-limit";

const MIN_GCS: u64 = 3;
const MIN_PART_OF_GEN2: f64 = 0.25;
/// The GC calls memory high from 90 % on, on machines with very much memory from more.
const FULL_PERCENT: u32 = 80;

/// The GC's own words for a shortage of memory (gcrecord.h).
const SHORTAGE: [&str; 6] =
    ["high_mem", "very_high_mem", "before_oom", "limit_before_oom", "limit_loh_frag", "limit_loh_reclaim"];
/// Reasons of GCStart that say the same: low memory, and out of space.
const REASONS: [Reason; 6] = [Reason(2), Reason(5), Reason(6), Reason(9), Reason(11), Reason(13)];

/// Gen2 collections, and those that came from a shortage of memory.
#[derive(Debug, Default)]
pub(super) struct MemoryLimit {
    full: u64,
    short: u64,
    pause_ns: u64,
    heap_bytes: u64,
    load_percent: u32,
    numbers: Numbers,
}

/// Whether a collection came because memory was short.
pub(super) fn is_shortage(gc: &Gc) -> bool {
    let mut named = gc.heaps.iter().flat_map(|heap| heap.condemned_reasons.iter().flatten());
    gc.reason.is_some_and(|reason| REASONS.contains(&reason)) || named.any(|reason| SHORTAGE.contains(reason))
}

impl Rule for MemoryLimit {
    fn add(&mut self, gc: &Gc) {
        if gc.generation != Some(Generation::GEN2) {
            return;
        }
        self.full += 1;
        if is_shortage(gc) {
            self.short += 1;
            self.pause_ns = self.pause_ns.saturating_add(gc.pause_ns.unwrap_or(0));
            self.load_percent = self.load_percent.max(gc.memory_load_percent.unwrap_or(0));
            self.heap_bytes = self.heap_bytes.max(gc.heap_after_bytes.unwrap_or(0));
            self.numbers.add(gc);
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let part = self.short as f64 / self.full.max(1) as f64;
        if self.short < MIN_GCS || part < MIN_PART_OF_GEN2 {
            return None;
        }
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title: sentence![
                Part::Count(self.short),
                " of ",
                Part::Count(self.full),
                " gen2 collections came because the memory that the GC may use was nearly used up, with ",
                Part::Bytes(self.heap_bytes),
                " in the heap after them; ",
                Part::Share(f64::from(self.load_percent) / 100.0),
                " of the machine's or container's memory was in use at most",
                // The GC does not tell its own limit. It is far from that of the machine or container.
                if self.load_percent < FULL_PERCENT {
                    ", so the limit is the heap's own (GCHeapHardLimit)"
                } else {
                    ""
                },
            ],
            evidence: vec![
                Evidence::new("gen2.shortage.count", Unit::Count, self.short as f64, MIN_GCS as f64)
                    .in_gcs(&self.numbers.0),
                Evidence::new("gen2.shortage.part", Unit::Percent, part * 100.0, MIN_PART_OF_GEN2 * 100.0),
            ],
            remedy: sentence![
                "give the container or the heap more memory (memory limit, DOTNET_GCHeapHardLimit), or keep less alive; DOTNET_GCConserveMemory=5 trades CPU for memory"
            ],
            share: watch.share_of_pauses(self.pause_ns).max(0.01),
        })
    }
}
