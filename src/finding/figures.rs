//! Figures of collections that several rules use.

use super::model::MAX_GCS;
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
