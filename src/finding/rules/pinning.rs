//! Pinned objects that keep young generations from being compacted.

use crate::finding::figures::{GEN0, GEN1, Numbers, fragmentation};
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence, short};
use crate::finding::series::Series;
use crate::gc::record::{Gc, Kind};
use crate::gc::root_stats::PinnedTotals;

pub(super) const ID: &str = "pinning";

const MIN_PINNED: f64 = 100.0;
/// Free space in gen0 and gen1 after a collection, as a part of the heap.
const MIN_FREE: f64 = 0.3;

/// Pinned objects, and the gaps between them.
#[derive(Debug, Default)]
pub(super) struct Pinning {
    objects: Series,
    free: Series,
    free_bytes: Series,
    numbers: Numbers,
}

impl Rule for Pinning {
    fn add(&mut self, gc: &Gc) {
        if gc.kind == Some(Kind::Background) {
            return;
        }
        let free = fragmentation(gc, GEN0).zip(fragmentation(gc, GEN1)).map(|(a, b)| a.saturating_add(b));
        let after = gc.heap_after_bytes.filter(|&bytes| bytes > 0);
        if let (Some(objects), Some(free), Some(after)) = (gc.pinned_objects, free, after) {
            self.objects.add(f64::from(objects));
            self.free.add(free as f64 / after as f64);
            self.free_bytes.add(free as f64);
            if f64::from(objects) >= MIN_PINNED {
                self.numbers.add(gc);
            }
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let (objects, free) = (self.objects.median()?, self.free.median()?);
        if objects < MIN_PINNED || free < MIN_FREE {
            return None;
        }
        let mut title = sentence![
            Part::Count(objects as u64),
            " pinned objects leave gaps of ",
            Part::Bytes(self.free_bytes.median()? as u64),
            " in gen0 and gen1 (",
            Part::Share(free.min(1.0)),
            " of the heap)",
        ];
        let stats = watch.summary.roots.as_ref().and_then(|roots| roots.stats.as_ref());
        // Of some handles gcwatch did not see the making. A row with a method says more, if it is not much smaller.
        let weight = |row: &&PinnedTotals| {
            row.max_count.saturating_mul(if row.allocated_by.is_some() { 4 } else { 1 })
        };
        let most = stats.and_then(|stats| stats.pinned().into_iter().max_by_key(weight));
        if let Some(row) = most {
            let by =
                row.allocated_by.as_ref().map_or(String::new(), |method| format!(" of {}", short(method)));
            title = title.and(format!("; most are {}, by a {}{by}", short(&row.type_name), row.by));
        }
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title,
            evidence: vec![
                Evidence::new("pinned.objects", Unit::Count, objects, MIN_PINNED).in_gcs(&self.numbers.0),
                Evidence::new("young.free", Unit::Percent, free * 100.0, MIN_FREE * 100.0),
            ],
            remedy: sentence![
                "allocate buffers for native code once with GC.AllocateArray(pinned: true), or pin for a shorter time"
            ],
            share: free.min(1.0),
        })
    }
}
