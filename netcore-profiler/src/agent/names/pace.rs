//! How many handles are made, and how many of them are looked at.
//!
//! To find out who made a handle takes microseconds, and some programs make millions a second. So the first ones of each
//! interval are looked at and the others counted. Where these are too many, too, since even an event that nobody looks at
//! costs more than a handle, that is final: it holds for all later stays in the process.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// An interval, in nanoseconds.
const INTERVAL_NS: u64 = 100_000_000;
/// So many of its handles are looked at.
const LOOKS: u64 = 250;
/// So many of them are a storm: at most 7 % of a thread's time went into their events until then.
const STORM: u64 = 20_000;

/// What is to be done with a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// There is time to see who made it.
    Look,
    /// There is none.
    Count,
    /// There are too many, as this one shows: no more of them are to be told.
    Storm,
}

/// Counts on a cache line of its own: every thread that makes handles writes to it.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Pace {
    began_ns: AtomicU64,
    made: AtomicU64,
    storm: AtomicBool,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { began_ns: AtomicU64::new(0), made: AtomicU64::new(0), storm: AtomicBool::new(false) }
    }

    /// Whether there were too many, in this stay or an earlier one.
    pub(super) fn is_storm(&self) -> bool {
        self.storm.load(Relaxed)
    }

    /// A handle was made.
    pub(super) fn judge(&self, now_ns: u64) -> Verdict {
        let began_ns = self.began_ns.load(Relaxed);
        if now_ns.saturating_sub(began_ns) >= INTERVAL_NS
            && self.began_ns.compare_exchange(began_ns, now_ns, Relaxed, Relaxed).is_ok()
        {
            self.made.store(0, Relaxed);
        }
        match self.made.fetch_add(1, Relaxed) {
            ..LOOKS => Verdict::Look,
            LOOKS..STORM => Verdict::Count,
            _ if self.storm.swap(true, SeqCst) => Verdict::Count,
            _ => Verdict::Storm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_of_each_interval_are_looked_at() {
        let pace = Pace::new();
        for interval in 1..=50 {
            let now_ns = interval * INTERVAL_NS;
            let looked = (0..STORM).filter(|n| pace.judge(now_ns + n) == Verdict::Look).count();
            assert_eq!(looked as u64, LOOKS);
        }
        assert!(!pace.is_storm(), "so many can be counted for ever");
    }

    #[test]
    fn a_storm_is_told_once_and_stays() {
        let pace = Pace::new();
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
