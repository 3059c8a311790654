//! The result of an assertion.

use super::disturbance::Disturbance;
use super::metric::Unit;
use crate::gc::generation::Generation;
use crate::gc::record::{Kind, Level, Reason};

/// A collection that violates an assertion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Violation {
    pub(crate) number: u32,
    pub(crate) generation: Option<Generation>,
    pub(crate) kind: Option<Kind>,
    pub(crate) reason: Option<Reason>,
    /// Its value, in the metric's unit. `None`: the metric counts collections.
    pub(crate) value: Option<u64>,
}

/// The result of an assertion.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    /// As it was typed.
    pub(crate) text: String,
    /// In `unit`. `None`: there are no data.
    pub(crate) value: Option<f64>,
    pub(crate) unit: Unit,
    /// The level of the watch.
    pub(crate) level: Level,
    /// The ways in which watching changed the value. Empty: it did not.
    pub(crate) disturbed_by: Vec<Disturbance>,
    /// `None`: there is no verdict.
    pub(crate) holds: Option<bool>,
    /// With `--sample`: the number of collections behind the value of a metric of roots or moves.
    pub(crate) gcs_seen: Option<u64>,
    /// Why there is no verdict.
    pub(crate) unjudged: Option<&'static str>,
    /// The time at the beginning whose collections do not count, ns. `None`: all count.
    pub(crate) warmup_ns: Option<u64>,
    /// The first 100 collections that violate it.
    pub(crate) violations: Vec<Violation>,
}
