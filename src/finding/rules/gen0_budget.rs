//! Objects that live a little longer than gen0 allows, are promoted up to gen2, and die there.

use crate::finding::figures::{
    GEN0, GEN1, GEN2, Numbers, Survival, gen0_budget_remedy, promoted, size_before,
};
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence};
use crate::finding::series::Series;
use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Kind};

pub(super) const ID: &str = "gen0-budget";

const MIN_YOUNG_PER_SECOND: f64 = 5.0;
const MIN_SURVIVE_GEN0: f64 = 0.5;
/// With less the finding is `mid-life`.
const MIN_SURVIVE_GEN1: f64 = 0.3;
const MAX_SURVIVE_GEN2: f64 = 0.7;
const MIN_GEN2_GCS: u64 = 5;
const MIN_GEN2_PER_SECOND: f64 = 0.2;

/// How much of each generation survives.
#[derive(Debug, Default)]
pub(super) struct Gen0Budget {
    young: u64,
    pause_ns: u64,
    gen0: Survival,
    gen1: Survival,
    gen0_bytes: Series,
    gen2: Series,
    numbers: Numbers,
}

impl Rule for Gen0Budget {
    fn add(&mut self, gc: &Gc) {
        self.pause_ns = self.pause_ns.saturating_add(gc.pause_ns.unwrap_or(0));
        if gc.generation == Some(Generation::GEN2) {
            if gc.reason.is_some_and(|reason| reason.induced()) {
                return;
            }
            let survived = promoted(gc, GEN2).zip(size_before(gc, GEN2).filter(|&bytes| bytes > 0));
            if let Some((survived, before)) = survived {
                self.gen2.add(survived as f64 / before as f64);
                self.numbers.add(gc);
            }
        } else if gc.kind != Some(Kind::Background) {
            self.young += 1;
            self.gen0.add(gc, GEN0);
            if gc.generation == Some(Generation::GEN1) {
                self.gen1.add(gc, GEN1);
            }
            if let Some(bytes) = size_before(gc, GEN0) {
                self.gen0_bytes.add(bytes as f64);
            }
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let seconds = watch.seconds()?;
        let (gen0, gen1, gen2) = (self.gen0.part()?, self.gen1.part()?, self.gen2.median()?);
        let per_second = self.young as f64 / seconds;
        let gen2_per_second = self.gen2.count() as f64 / seconds;
        let found = per_second >= MIN_YOUNG_PER_SECOND
            && gen0 >= MIN_SURVIVE_GEN0
            && gen1 >= MIN_SURVIVE_GEN1
            && gen2 <= MAX_SURVIVE_GEN2
            && self.gen2.count() >= MIN_GEN2_GCS
            && gen2_per_second >= MIN_GEN2_PER_SECOND;
        if !found {
            return None;
        }
        let budget = self.gen0_bytes.median()?;
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title: sentence![
                Part::Share(gen0),
                " of gen0 survives its collections (",
                Part::PerSecond(per_second),
                "), and ",
                Part::Share(1.0 - gen2),
                " of gen2 is dead when it is collected (",
                Part::PerSecond(gen2_per_second),
                "): objects live longer than the gen0 budget of ",
                Part::Bytes(budget as u64),
                " allows",
            ],
            evidence: vec![
                Evidence::new("gen0.survivors", Unit::Percent, gen0 * 100.0, MIN_SURVIVE_GEN0 * 100.0),
                Evidence::new("gen2.survivors", Unit::Percent, gen2 * 100.0, MAX_SURVIVE_GEN2 * 100.0)
                    .in_gcs(&self.numbers.0),
                Evidence::new("young.rate", Unit::PerSecond, per_second, MIN_YOUNG_PER_SECOND),
            ],
            remedy: gen0_budget_remedy("", budget, per_second),
            share: watch.share_of_pauses(self.pause_ns),
        })
    }
}
