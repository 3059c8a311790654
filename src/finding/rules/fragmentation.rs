//! Free space in old generations that nothing uses.

use crate::finding::figures::{GEN2, LARGE, Numbers, fragmentation as free_in, size_after};
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence};
use crate::finding::series::Series;
use crate::gc::generation::Generation;
use crate::gc::record::Gc;

pub(super) const ID: &str = "fragmentation";

const MIN_GCS: u64 = 3;
const MIN_FREE: f64 = 0.4;
const MIN_FREE_BYTES: f64 = 64e6;

/// Free space in gen2 and in the large object heap after gen2 collections.
#[derive(Debug, Default)]
pub(super) struct Fragmentation {
    sizes: Series,
    free: Series,
    free_in_large: Series,
    numbers: Numbers,
}

impl Rule for Fragmentation {
    fn add(&mut self, gc: &Gc) {
        if gc.generation != Some(Generation::GEN2) {
            return;
        }
        let sizes = size_after(gc, GEN2).zip(size_after(gc, LARGE));
        if let Some(((gen2, large), (free2, free3))) = sizes.zip(free_in(gc, GEN2).zip(free_in(gc, LARGE))) {
            self.sizes.add(gen2.saturating_add(large) as f64);
            self.free.add(free2.saturating_add(free3) as f64);
            self.free_in_large.add(free3 as f64);
            self.numbers.add(gc);
        }
    }

    fn judge(&self, _watch: &Watch<'_>) -> Option<Finding> {
        // The last third: a program's beginning may differ.
        let (size, free) = (self.sizes.thirds()?[2], self.free.thirds()?[2]);
        let part = free / size.max(1.0);
        if self.free.count() < MIN_GCS || part < MIN_FREE || free < MIN_FREE_BYTES {
            return None;
        }
        let is_large = self.free_in_large.thirds()?[2] > free / 2.0;
        let (place, remedy) = if is_large {
            (
                "the large object heap",
                sentence![
                    "reuse large arrays; to give the space back once, set GCSettings.LargeObjectHeapCompactionMode to CompactOnce"
                ],
            )
        } else {
            (
                "gen2",
                sentence![
                    "set DOTNET_GCConserveMemory=5 to compact more often; unpin objects that live long"
                ],
            )
        };
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title: sentence![
                Part::Bytes(free as u64),
                " of ",
                Part::Bytes(size as u64),
                " in gen2 and the large object heap are free space between objects (",
                Part::Share(part.min(1.0)),
                format!("), most of it in {place}"),
            ],
            evidence: vec![
                Evidence::new("old.free", Unit::Bytes, free, MIN_FREE_BYTES).in_gcs(&self.numbers.0),
                Evidence::new("old.free.part", Unit::Percent, part * 100.0, MIN_FREE * 100.0),
            ],
            remedy,
            share: part.min(1.0),
        })
    }
}
