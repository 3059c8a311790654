//! Collections that the program asks for.

use crate::finding::figures::Numbers;
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence, short};
use crate::gc::generation::Generation;
use crate::gc::record::Gc;

pub(super) const ID: &str = "induced";

const MIN_GCS: u64 = 3;
const MIN_PER_MINUTE: f64 = 1.0;
/// Either bound is enough.
const MIN_PART_OF_PAUSES: f64 = 0.1;
const MIN_PART_OF_GEN2: f64 = 0.5;

/// Induced collections.
#[derive(Debug, Default)]
pub(super) struct Induced {
    gcs: u64,
    pause_ns: u64,
    full: u64,
    induced_full: u64,
    numbers: Numbers,
}

impl Rule for Induced {
    fn add(&mut self, gc: &Gc) {
        let is_full = gc.generation == Some(Generation::GEN2);
        self.full += u64::from(is_full);
        if gc.reason.is_some_and(|reason| reason.induced()) {
            self.gcs += 1;
            self.induced_full += u64::from(is_full);
            self.pause_ns = self.pause_ns.saturating_add(gc.pause_ns.unwrap_or(0));
            self.numbers.add(gc);
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let per_minute = self.gcs as f64 / watch.seconds()? * 60.0;
        let of_pauses = watch.share_of_pauses(self.pause_ns);
        let of_gen2 = self.induced_full as f64 / self.full.max(1) as f64;
        let found = self.gcs >= MIN_GCS
            && per_minute >= MIN_PER_MINUTE
            && (of_pauses >= MIN_PART_OF_PAUSES || of_gen2 >= MIN_PART_OF_GEN2);
        if !found {
            return None;
        }
        let mut title = sentence![
            "the program asked for ",
            Part::Count(self.gcs),
            " collections, which took ",
            Part::Ns(self.pause_ns),
            " (",
            Part::Share(of_pauses),
            " of all pauses)",
        ];
        let callers = watch.summary.induced.rows().unwrap_or_default();
        let is_named = |method: &str| !method.starts_with('(');
        let named = callers.iter().find(|caller| is_named(&caller.method));
        let of_named: u64 = callers.iter().filter(|c| is_named(&c.method)).map(|c| c.count).sum();
        let unnamed = self.gcs.saturating_sub(of_named);
        let remedy = match named {
            Some(caller) => {
                title = title.and("; ").and(Part::Count(caller.count));
                title = title.and(format!(" of them by {}", short(&caller.method)));
                if unnamed > 0 {
                    title = title.and(", ").and(Part::Count(unnamed)).and(" by methods that are not known");
                }
                sentence![format!("remove the call of GC.Collect in {}", short(&caller.method))]
            }
            None => sentence!["remove the calls of GC.Collect"],
        };
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title,
            evidence: vec![
                Evidence::new("induced.count", Unit::Count, self.gcs as f64, MIN_GCS as f64)
                    .in_gcs(&self.numbers.0),
                Evidence::new(
                    "induced.pause.part",
                    Unit::Percent,
                    of_pauses * 100.0,
                    MIN_PART_OF_PAUSES * 100.0,
                ),
                Evidence::new("induced.gen2.part", Unit::Percent, of_gen2 * 100.0, MIN_PART_OF_GEN2 * 100.0),
            ],
            remedy,
            share: of_pauses,
        })
    }
}
