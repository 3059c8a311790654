//! Limits how many handles are looked up.
//!
//! Finding the method that allocated a handle takes microseconds, and some programs allocate millions of handles a
//! second. So the first ones of each interval are looked up and the others counted. Even an event that is ignored costs
//! more than the handle itself: if there are too many events, handles are no longer watched for the rest of the
//! process's life.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

const INTERVAL_NS: u64 = 100_000_000;
/// How many handles of an interval are looked up.
const MAX_LOOKUPS: u64 = 250;
/// With this many in an interval it is a storm: until then, at most 7 % of a thread's time went into their events.
const STORM: u64 = 20_000;

/// What to do with a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Look up which method allocated it.
    Look,
    /// Ignore it.
    Count,
    /// It makes a storm: stop watching.
    Storm,
}

zeroed! {
    /// On a cache line of its own, because every thread that allocates handles writes to it. The numbers only limit the
    /// work, so it does not matter in which order threads see them.
    #[derive(Debug)]
    #[repr(align(128))]
    pub(super) struct Pace {
        began_ns: AtomicU64,
        count: AtomicU64,
        storm: AtomicBool,
    }
}

impl Pace {
    /// Whether there was a storm since the library was loaded.
    pub(super) fn is_storm(&self) -> bool {
        self.storm.load(Relaxed)
    }

    /// Counts a handle.
    pub(super) fn judge(&self, now_ns: u64) -> Verdict {
        let began_ns = self.began_ns.load(Relaxed);
        if now_ns.saturating_sub(began_ns) >= INTERVAL_NS
            && self.began_ns.compare_exchange(began_ns, now_ns, Relaxed, Relaxed).is_ok()
        {
            self.count.store(0, Relaxed);
        }
        match self.count.fetch_add(1, Relaxed) {
            ..MAX_LOOKUPS => Verdict::Look,
            MAX_LOOKUPS..STORM => Verdict::Count,
            _ if self.storm.swap(true, SeqCst) => Verdict::Count,
            _ => Verdict::Storm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::zero::Zero;

    #[test]
    fn a_limited_number_of_each_interval_is_looked_up() {
        let pace = Pace::ZERO;
        for interval in 1..=50 {
            let now_ns = interval * INTERVAL_NS;
            let looked_up = (0..STORM).filter(|n| pace.judge(now_ns + n) == Verdict::Look).count();
            assert_eq!(looked_up as u64, MAX_LOOKUPS);
        }
        assert!(!pace.is_storm(), "this many can be counted for ever");
    }

    #[test]
    fn a_storm_is_reported_once_and_is_final() {
        let pace = Pace::ZERO;
        let storms = std::thread::scope(|scope| {
            let make = || (0..STORM).filter(|_| pace.judge(INTERVAL_NS) == Verdict::Storm).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        assert_eq!(storms, 1);
        assert!(pace.is_storm());
        pace.judge(1000 * INTERVAL_NS);
        assert!(pace.is_storm());
    }
}
