//! The verdicts on `--assert`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::json::number::{Int, Number};

/// The verdict on one bound.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Assertion {
    /// As it was typed.
    pub(crate) expr: String,
    /// Null without data.
    pub(crate) value: Option<Number>,
    /// "ns", "bytes", "count" or "percent".
    pub(crate) unit: &'static str,
    /// The level it was judged at.
    pub(crate) level: &'static str,
    /// Watching itself changed what was judged.
    pub(crate) disturbed: bool,
    /// How: "background_gc_off" (every gen2 collection blocked), "work_in_pauses" (pauses hold what the runtime and
    /// gcwatch did in them to tell blocks and roots).
    pub(crate) disturbed_by: Vec<&'static str>,
    /// Null: it could not be judged.
    pub(crate) holds: Option<bool>,
    /// With `--sample`: how many collections the value of such a metric of roots or moves rests on. Null otherwise.
    pub(crate) gcs_seen: Option<Int>,
    /// The numbers of collections that broke it, the first 100.
    pub(crate) gcs: Vec<u32>,
}
