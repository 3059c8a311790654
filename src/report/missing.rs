//! Sentences about missing data, the same in every format.

use super::units::{duration, plural};
use crate::gc::facts::{Gap, Lost};
use crate::gc::summary::Summary;

/// Whether nothing is missing, except collections that the start or end of the watch made incomplete.
pub(crate) fn nothing(lost: &Lost, summary: &Summary) -> bool {
    let [_, _, by_loss, half_armed] = summary.incomplete;
    *lost == Lost::default() && by_loss + half_armed == 0
}

/// What was lost: `2 collections, 12 events, 3 ranges`; `None`: nothing.
pub(crate) fn counts(lost: &Lost) -> Option<String> {
    let kinds =
        [(lost.gcs, "collection"), (lost.events, "event"), (lost.ranges, "range"), (lost.roots, "root")];
    let parts: Vec<String> = kinds.iter().filter(|(n, _)| *n > 0).map(|(n, one)| plural(*n, one)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Why a part of the watch is missing, and which part.
pub(crate) fn gap(gap: Gap) -> String {
    match gap {
        Gap::Killed => {
            "the process ended without ending its event stream: what it did in its last 100 ms is missing"
                .into()
        }
        Gap::Silent { since_ns } => format!(
            "the process did not answer any more (stopped, or frozen?); its last sign of life came {} after the watch \
             began: what it did since is missing",
            duration(since_ns, true)
        ),
        Gap::Left => {
            "the stream was left before its end: what the runtime had not sent by then is missing".into()
        }
        Gap::Truncated => "the recording ends before its end mark: what came after is missing".into(),
        Gap::Damaged => "the recording is damaged: what stood there is missing".into(),
    }
}
