//! GC handles that become more and more.

use crate::finding::figures::Numbers;
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence};
use crate::finding::series::Series;
use crate::gc::record::{Gc, Level};

pub(super) const ID: &str = "handle-growth";

/// The second third against the first, and the last against the second.
const MIN_RISES: [f64; 2] = [1.1, 1.2];
const MIN_GROWTH: f64 = 10_000.0;
const MIN_GCS: u64 = 9;

/// Handles in use at each collection.
#[derive(Debug, Default)]
pub(super) struct HandleGrowth {
    handles: Series,
    numbers: Numbers,
}

impl Rule for HandleGrowth {
    fn add(&mut self, gc: &Gc) {
        if let Some(handles) = gc.handles {
            self.handles.add(f64::from(handles));
            self.numbers.add(gc);
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let [first, second, last] = self.handles.thirds()?;
        let found = self.handles.count() >= MIN_GCS
            && second > first * MIN_RISES[0]
            && last > second * MIN_RISES[1]
            && last - first >= MIN_GROWTH;
        if !found {
            return None;
        }
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title: sentence![
                "the GC handles in use grew from ",
                Part::Count(first as u64),
                " to ",
                Part::Count(second as u64),
                " to ",
                Part::Count(last as u64),
                " (medians of each third of the collections)",
            ],
            evidence: vec![
                Evidence::new("handles.growth", Unit::Count, last - first, MIN_GROWTH)
                    .in_gcs(&self.numbers.0),
            ],
            remedy: sentence![
                "free each GCHandle (GCHandle.Free), and dispose what holds one (SafeHandle, timers)",
                if watch.facts.watch.level == Level::Roots {
                    ""
                } else {
                    "; --level roots shows what they hold"
                },
            ],
            share: ((last - first) / last.max(1.0)).min(1.0) / 10.0,
        })
    }
}
