//! Figures of collections that several rules use.

use super::model::MAX_GCS;
use super::sentence::{Part, Sentence, sentence};
use crate::gc::record::{Gc, GenerationStats};

pub(super) const GEN0: usize = 0;
pub(super) const GEN1: usize = 1;
pub(super) const GEN2: usize = 2;
pub(super) const LARGE: usize = 3;

/// A figure of a generation, in the order of `Generation::COLLECTED`.
fn of_generation(gc: &Gc, index: usize, figure: fn(&GenerationStats) -> Option<u64>) -> Option<u64> {
    gc.generations.get(index).and_then(figure)
}

pub(super) fn promoted(gc: &Gc, index: usize) -> Option<u64> {
    of_generation(gc, index, |g| g.promoted_bytes)
}

pub(super) fn size_before(gc: &Gc, index: usize) -> Option<u64> {
    of_generation(gc, index, |g| g.size_before_bytes)
}

pub(super) fn size_after(gc: &Gc, index: usize) -> Option<u64> {
    of_generation(gc, index, |g| g.size_after_bytes)
}

pub(super) fn fragmentation(gc: &Gc, index: usize) -> Option<u64> {
    of_generation(gc, index, |g| g.fragmentation_bytes)
}

/// The first numbers of the collections that show something.
#[derive(Debug, Default)]
pub(super) struct Numbers(pub(super) Vec<u32>);

impl Numbers {
    pub(super) fn add(&mut self, gc: &Gc) {
        if self.0.len() < MAX_GCS {
            self.0.extend(gc.number);
        }
    }
}

/// `None`: the whole is nothing.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What of a generation survived, over all collections.
#[derive(Debug, Default)]
pub(super) struct Survival {
    before: u64,
    pub(super) survived: u64,
}

impl Survival {
    pub(super) fn add(&mut self, gc: &Gc, index: usize) {
        if let Some((before, survived)) = size_before(gc, index).zip(promoted(gc, index)) {
            self.before = self.before.saturating_add(before);
            self.survived = self.survived.saturating_add(survived);
        }
    }

    pub(super) fn part(&self) -> Option<f64> {
        ratio(self.survived, self.before)
    }
}

/// The gen0 budget that the GC would get, and what that does to the number of collections.
pub(super) fn gen0_budget_remedy(before: &str, budget_bytes: f64, gcs_per_second: f64) -> Sentence {
    const TIMES: u64 = 8;
    const MAX_BYTES: u64 = 1 << 30;
    const MIN_BYTES: u64 = 16 << 20;
    let wanted =
        (budget_bytes.max(1.0) as u64).saturating_mul(TIMES).clamp(MIN_BYTES, MAX_BYTES).next_power_of_two();
    let rate = gcs_per_second * budget_bytes / wanted as f64;
    sentence![
        format!("{before}raise the gen0 budget: DOTNET_GCgen0size=0x{wanted:X} ("),
        Part::Bytes(wanted),
        ") means about ",
        Part::PerSecond(rate),
        " instead of ",
        Part::PerSecond(gcs_per_second),
        ", each longer, and more memory",
    ]
}
