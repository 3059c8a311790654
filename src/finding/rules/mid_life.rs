//! Objects that die soon after they were promoted to gen1.

use crate::finding::figures::{GEN0, GEN1, Numbers, Survival, gen0_budget_remedy, ratio, size_before};
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence};
use crate::finding::series::Series;
use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Kind};

pub(super) const ID: &str = "mid-life";

const MIN_SURVIVE_GEN0: f64 = 0.2;
const MAX_SURVIVE_GEN1: f64 = 0.3;
const MAX_FINALIZABLE: f64 = 0.2;
const MIN_GEN1_GCS: u64 = 5;
const MIN_GEN1_PART: f64 = 0.25;
const MIN_PROMOTED_PER_SECOND: f64 = 20e6;

/// What was in gen0 and gen1 before collections, and what survived.
#[derive(Debug, Default)]
pub(super) struct MidLife {
    gcs: u64,
    gen1_gcs: u64,
    gen1_pause_ns: u64,
    gen0: Survival,
    gen0_bytes: Series,
    gen1: Survival,
    /// Bytes that survived only because they wait for a finalizer, and all that were promoted.
    finalizable: u64,
    promoted: u64,
    numbers: Numbers,
}

impl Rule for MidLife {
    fn add(&mut self, gc: &Gc) {
        if gc.kind == Some(Kind::Background) {
            return;
        }
        self.gcs += 1;
        self.finalizable = self.finalizable.saturating_add(gc.finalization_bytes.unwrap_or(0));
        self.promoted = self.promoted.saturating_add(gc.promoted_bytes.unwrap_or(0));
        self.gen0.add(gc, GEN0);
        if let Some(bytes) = size_before(gc, GEN0) {
            self.gen0_bytes.add(bytes as f64);
        }
        if gc.generation >= Some(Generation::GEN1) {
            self.gen1_gcs += 1;
            self.gen1_pause_ns = self.gen1_pause_ns.saturating_add(gc.pause_ns.unwrap_or(0));
            self.gen1.add(gc, GEN1);
            self.numbers.add(gc);
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let (gen0, gen1) = (self.gen0.part()?, self.gen1.part()?);
        let per_second = self.gen0.survived as f64 / watch.seconds()?;
        // Such objects always survive one collection: that is another finding.
        let by_finalizers = ratio(self.finalizable, self.promoted).unwrap_or(0.0);
        let found = gen0 >= MIN_SURVIVE_GEN0
            && by_finalizers < MAX_FINALIZABLE
            && gen1 <= MAX_SURVIVE_GEN1
            && self.gen1_gcs >= MIN_GEN1_GCS
            && self.gen1_gcs as f64 >= MIN_GEN1_PART * self.gcs as f64
            && per_second >= MIN_PROMOTED_PER_SECOND;
        if !found {
            return None;
        }
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title: sentence![
                Part::Share(gen0),
                " of gen0 survives (",
                Part::BytesPerSecond(per_second),
                "), but only ",
                Part::Share(gen1),
                " of that survives gen1: objects die just after they were promoted",
            ],
            evidence: vec![
                Evidence::new("gen0.survivors", Unit::Percent, gen0 * 100.0, MIN_SURVIVE_GEN0 * 100.0),
                Evidence::new("gen1.survivors", Unit::Percent, gen1 * 100.0, MAX_SURVIVE_GEN1 * 100.0)
                    .in_gcs(&self.numbers.0),
                Evidence::new("gen0.promoted", Unit::BytesPerSecond, per_second, MIN_PROMOTED_PER_SECOND),
            ],
            remedy: gen0_budget_remedy(
                "let objects die younger: keep less alive across requests or batches, or ",
                self.gen0_bytes.median()?,
                self.gcs as f64 / watch.seconds()?,
            ),
            share: watch.share_of_pauses(self.gen1_pause_ns),
        })
    }
}
