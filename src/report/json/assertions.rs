//! The verdicts on `--assert`.

use schemars::JsonSchema;
use serde::Serialize;

use super::number::{Int, Number};
use crate::check::Verdict;

/// The verdict on one bound.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Assertion {
    /// As it was typed.
    pub(super) expr: String,
    /// Null without data.
    pub(super) value: Option<Number>,
    /// "ns", "bytes", "count" or "percent".
    pub(super) unit: &'static str,
    /// The level it was judged at.
    pub(super) level: &'static str,
    /// Watching itself changed what was judged.
    pub(super) disturbed: bool,
    /// How: "background_gc_off" (every gen2 collection blocked), "work_in_pauses" (pauses hold what the runtime and
    /// gcwatch did in them to tell blocks and roots).
    pub(super) disturbed_by: Vec<&'static str>,
    /// Null: it could not be judged.
    pub(super) holds: Option<bool>,
    /// With `--sample`: how many collections the value of such a metric of roots or moves rests on. Null otherwise.
    pub(super) gcs_seen: Option<Int>,
    /// The numbers of collections that broke it, the first 100.
    pub(super) gcs: Vec<u32>,
}

pub(super) fn assertions(verdicts: &[Verdict]) -> Vec<Assertion> {
    let one = |v: &Verdict| Assertion {
        expr: v.text.clone(),
        value: v.value.map(Number),
        unit: v.unit.name(),
        level: v.level.name(),
        disturbed: !v.disturbed_by.is_empty(),
        disturbed_by: v.disturbed_by.iter().map(|d| d.name()).collect(),
        holds: v.holds,
        gcs_seen: v.gcs_seen.map(|n| Int::saturating(n).0),
        gcs: v.broken_by.iter().map(|b| b.number).collect(),
    };
    verdicts.iter().map(one).collect()
}
