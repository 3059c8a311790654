//! What windows with the profiler did to background collections: one sentence for all formats.

use super::units::count;
use crate::gc::summary::Summary;

/// How many of the blocking gen2 collections ran while windows had switched background ones off.
pub(crate) fn in_windows(sum: &Summary) -> Option<String> {
    let (off, all) = (sum.gen2_blocking_with_profiler.count, sum.gen2_blocking.count);
    let gcs = if all == 1 { "GC" } else { "GCs" };
    let off_while = "while background GC was off: in windows, or as the profiler left";
    (off > 0).then(|| format!("{} of {} blocking gen2 {gcs} ran {off_while}", count(off), count(all)))
}
