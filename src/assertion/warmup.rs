//! The time at the beginning of a watch in which assertions do not count.

use std::time::Duration;

use crate::gc::facts::Watch;
use crate::gc::record::Gc;
use crate::gc::summary::Summary;

/// What assertions see of a watch that has a warm-up.
#[derive(Debug, Clone)]
pub(super) struct Warmup {
    /// Its length from the start of the watch, ns.
    pub(super) ns: u64,
    /// The collections after it.
    pub(super) after: Summary,
}

impl Warmup {
    pub(super) fn new(length: Duration) -> Warmup {
        Warmup { ns: u64::try_from(length.as_nanos()).unwrap_or(u64::MAX), after: Summary::default() }
    }

    /// Takes in a complete collection. Returns whether it counts: it began after the warm-up.
    pub(super) fn add(&mut self, gc: &Gc) -> bool {
        let counts = gc.at_ns.is_none_or(|at_ns| at_ns >= self.ns);
        if counts {
            self.after.add(gc);
        }
        counts
    }

    /// The watch as if it had begun with the end of the warm-up. `None`: it ended before.
    pub(super) fn rest(&self, watch: &Watch) -> Option<Watch> {
        let duration_ns = match watch.duration_ns {
            Some(ns) => Some(ns.checked_sub(self.ns).filter(|rest| *rest > 0)?),
            None => None,
        };
        Some(Watch { duration_ns, ..watch.clone() })
    }
}
