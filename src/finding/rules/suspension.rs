//! Pauses that are mostly the time until all threads stand still.

use crate::finding::figures::{Numbers, ratio};
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence};
use crate::finding::series::Series;
use crate::gc::record::Gc;

pub(super) const ID: &str = "slow-suspension";

const MIN_GCS: u64 = 5;
const MIN_PART_OF_PAUSES: f64 = 0.5;
const MIN_QUARTILE_NS: f64 = 5e6;

/// Suspensions against pauses.
#[derive(Debug, Default)]
pub(super) struct Suspension {
    each_ns: Series,
    suspend_ns: u64,
    pause_ns: u64,
    numbers: Numbers,
}

impl Rule for Suspension {
    fn add(&mut self, gc: &Gc) {
        if let Some((suspend, pause)) = gc.suspend_ns.zip(gc.pause_ns) {
            self.each_ns.add(suspend as f64);
            self.suspend_ns = self.suspend_ns.saturating_add(suspend);
            self.pause_ns = self.pause_ns.saturating_add(pause);
            if suspend as f64 >= MIN_QUARTILE_NS {
                self.numbers.add(gc);
            }
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let (part, quartile) = (ratio(self.suspend_ns, self.pause_ns)?, self.each_ns.upper_quartile()?);
        if self.each_ns.count() < MIN_GCS || part < MIN_PART_OF_PAUSES || quartile < MIN_QUARTILE_NS {
            return None;
        }
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title: sentence![
                "stopping the threads takes ",
                Part::Ns(quartile as u64),
                " or more in a quarter of the collections, and ",
                Part::Share(part),
                " of all pauses; the collections themselves are short",
            ],
            evidence: vec![
                Evidence::new("suspend.part", Unit::Percent, part * 100.0, MIN_PART_OF_PAUSES * 100.0),
                Evidence::new("suspend.p75", Unit::Ns, quartile, MIN_QUARTILE_NS).in_gcs(&self.numbers.0),
            ],
            remedy: sentence![
                "look for native calls with SuppressGCTransition and for a machine or container that is short of CPU (cpu.max, load)"
            ],
            share: watch.share_of_pauses(self.suspend_ns),
        })
    }
}
