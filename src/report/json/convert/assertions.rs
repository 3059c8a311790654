//! The verdicts on `--assert`.

use crate::assertion::Verdict;
use crate::report::json::number::{Int, Number};
use crate::report::json::types::assertions::Assertion;

pub(crate) fn assertions(verdicts: &[Verdict]) -> Vec<Assertion> {
    let one = |v: &Verdict| Assertion {
        expr: v.text.clone(),
        value: v.value.map(Number),
        unit: v.unit.name(),
        level: v.level.name(),
        disturbed: !v.disturbed_by.is_empty(),
        disturbed_by: v.disturbed_by.iter().map(|d| d.name()).collect(),
        holds: v.holds,
        gcs_seen: v.gcs_seen.map(|n| Int::saturating(n).0),
        gcs: v.violations.iter().map(|b| b.number).collect(),
    };
    verdicts.iter().map(one).collect()
}
