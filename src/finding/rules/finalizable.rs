//! Garbage that a finalizer keeps alive for one more collection.

use crate::finding::figures::{Numbers, ratio};
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence, short};
use crate::gc::record::Gc;
use crate::gc::root_kind::RootKind;

pub(super) const ID: &str = "finalizable";

const MIN_GCS: u64 = 5;
const MIN_PART_OF_PROMOTED: f64 = 0.2;
const MIN_BYTES: f64 = 32e6;

/// Bytes that were promoted only because they wait for a finalizer.
#[derive(Debug, Default)]
pub(super) struct Finalizable {
    gcs: u64,
    objects: u64,
    bytes: u64,
    promoted: u64,
    numbers: Numbers,
}

impl Rule for Finalizable {
    fn add(&mut self, gc: &Gc) {
        let Some((bytes, promoted)) = gc.finalization_bytes.zip(gc.promoted_bytes) else { return };
        self.promoted = self.promoted.saturating_add(promoted);
        if bytes > 0 {
            self.gcs += 1;
            self.bytes = self.bytes.saturating_add(bytes);
            self.objects = self.objects.saturating_add(gc.finalization_objects.unwrap_or(0));
            self.numbers.add(gc);
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let part = ratio(self.bytes, self.promoted)?;
        if self.gcs < MIN_GCS || part < MIN_PART_OF_PROMOTED || (self.bytes as f64) < MIN_BYTES {
            return None;
        }
        let mut title = sentence![
            Part::Bytes(self.bytes),
            " (",
            Part::Share(part.min(1.0)),
            " of all promoted bytes) were garbage that waited for a finalizer: ",
            Part::Count(self.objects),
            " objects",
        ];
        let stats = watch.summary.roots.as_ref().and_then(|roots| roots.stats.as_ref());
        let waiting = stats.and_then(|stats| {
            let rows = stats.types().into_iter().filter(|row| row.kind == RootKind::FINALIZER);
            rows.max_by_key(|row| row.total_count)
        });
        if let Some(row) = waiting {
            title = title.and(format!("; most are {}", short(&row.name)));
        }
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title,
            evidence: vec![
                Evidence::new("finalization.bytes", Unit::Bytes, self.bytes as f64, MIN_BYTES)
                    .in_gcs(&self.numbers.0),
                Evidence::new("finalization.part", Unit::Percent, part * 100.0, MIN_PART_OF_PROMOTED * 100.0),
            ],
            remedy: sentence![
                "dispose of these objects (using), and call GC.SuppressFinalize in Dispose; let the finalizer be on a small object"
            ],
            share: part.min(1.0),
        })
    }
}
