//! One sentence about background GC and the sampling windows, the same in every format.

use super::units::{count, plural};
use crate::gc::summary::Summary;

/// How many blocking gen2 collections ran while a sampling window had switched background GC off.
pub(crate) fn in_windows(sum: &Summary) -> Option<String> {
    let (off, all) = (sum.gen2_blocking_with_profiler.count, sum.gen2_blocking.count);
    let off_while = "while background GC was off: in windows, or as the profiler left";
    (off > 0).then(|| format!("{} of {} ran {off_while}", count(off), plural(all, "blocking gen2 GC")))
}
