//! The verdicts on `--assert`.

use crate::assertion::Verdict;
use crate::report::json::number::{Int, Number};
use crate::report::json::wire::wire;

wire! {
    /// The verdict on one bound.
    Assertion(to, v: Verdict) {
        /// As it was typed.
        expr: String = to.wire(&v.text),
        /// Null without data.
        value: Option<Number> = v.value.map(Number),
        /// "ns", "bytes", "count" or "percent".
        unit: &'static str,
        /// The level it was judged at.
        level: &'static str,
        /// Watching itself changed what was judged.
        disturbed: bool = !v.disturbed_by.is_empty(),
        /// How: "background_gc_off" (every gen2 collection blocked), "work_in_pauses" (pauses hold what the runtime and
        /// gcwatch did in them to tell blocks and roots).
        disturbed_by: Vec<&'static str> = v.disturbed_by.iter().map(|d| d.name()).collect(),
        /// Null: it could not be judged.
        holds: Option<bool>,
        /// With `--sample`: how many collections the value of such a metric of roots or moves rests on. Null otherwise.
        gcs_seen: Option<Int>,
        /// With `--warmup`: the time at the beginning whose collections do not count. Null otherwise.
        warmup_ns: Option<Int>,
        /// The numbers of collections that broke it, the first 100.
        gcs: Vec<u32> = v.violations.iter().map(|b| b.number).collect(),
    }
}
