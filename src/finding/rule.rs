//! What a rule is, and what it is told.

use std::fmt::Debug;

use super::figures::ratio;
use super::model::Finding;
use crate::gc::facts::Facts;
use crate::gc::record::Gc;
use crate::gc::summary::Summary;

/// One thing that can be wrong.
pub(super) trait Rule: Debug {
    /// Takes in a complete collection.
    fn add(&mut self, gc: &Gc);

    /// The finding, if there is one.
    fn judge(&self, watch: &Watch<'_>) -> Option<Finding>;
}

/// What is known of the whole watch when the rules judge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch<'a> {
    pub(super) facts: &'a Facts,
    pub(super) summary: &'a Summary,
}

impl Watch<'_> {
    /// How long it lasted, seconds; `None`: not known, or no time at all.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.facts.watch.duration_ns.filter(|&ns| ns > 0).map(|ns| ns as f64 / 1e9)
    }

    /// The part of all pauses that some of them are, from 0 to 1.
    pub(super) fn share_of_pauses(&self, ns: u64) -> f64 {
        ratio(ns, self.summary.pause_ns).unwrap_or(0.0).min(1.0)
    }
}
