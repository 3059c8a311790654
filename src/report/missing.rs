//! What a report says of what is not in it: one sentence, the same in every format.

use super::units::{count, duration};
use crate::gc::facts::{Gap, Lost};
use crate::gc::summary::Summary;

/// All that happened in the watch is in the report, but for collections that its start or end cut off.
pub(crate) fn nothing(lost: &Lost, summary: &Summary) -> bool {
    let [_, _, by_loss, half_armed] = summary.incomplete;
    *lost == Lost::default() && by_loss + half_armed == 0
}

/// `2 collections, 12 events, 3 ranges`; nothing when none was lost.
pub(crate) fn counts(lost: &Lost) -> Option<String> {
    let kinds =
        [(lost.gcs, "collection"), (lost.events, "event"), (lost.ranges, "range"), (lost.roots, "root")];
    let parts: Vec<String> = kinds
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, one)| format!("{} {one}{}", count(*n), if *n == 1 { "" } else { "s" }))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Why a part is missing, and what is missing with it.
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
