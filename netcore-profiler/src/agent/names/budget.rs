//! Limits the time that looking up types and names may take inside pauses.

use core::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

/// One part in twenty of the elapsed time, in the long run.
const DIVISOR: u64 = 20;
/// The largest budget, in ns.
const MAX_NS: i64 = 100_000_000;

zeroed! {
    /// Only the thread that ends a collection uses this.
    #[derive(Debug)]
    pub(super) struct Budget {
        left_ns: AtomicI64,
        since_ns: AtomicU64,
    }
}

impl Budget {
    pub(super) fn reset(&self, now_ns: u64) {
        self.left_ns.store(MAX_NS, SeqCst);
        self.since_ns.store(now_ns, SeqCst);
    }

    /// Whether anything may be looked up now.
    pub(super) fn allows(&self, now_ns: u64) -> bool {
        let since_ns = now_ns.saturating_sub(self.since_ns.swap(now_ns, SeqCst));
        let earned_ns = i64::try_from(since_ns.checked_div(DIVISOR).unwrap_or(0)).unwrap_or(MAX_NS);
        let left_ns = self.left_ns.load(SeqCst).saturating_add(earned_ns).min(MAX_NS);
        self.left_ns.store(left_ns, SeqCst);
        left_ns > 0
    }

    /// Takes time off the budget.
    pub(super) fn spend(&self, spent_ns: u64) {
        let spent_ns = i64::try_from(spent_ns).unwrap_or(i64::MAX);
        self.left_ns.store(self.left_ns.load(SeqCst).saturating_sub(spent_ns), SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::zero::Zero;

    #[test]
    fn one_part_in_twenty_is_spent_in_the_long_run() {
        const EACH_NS: u64 = 3_000_000;
        let budget = Budget::ZERO;
        budget.reset(0);
        let (mut now_ns, mut spent_ns) = (0, 0);
        for _ in 0..10_000 {
            now_ns += 5_000_000;
            if budget.allows(now_ns) {
                budget.spend(EACH_NS);
                spent_ns += EACH_NS;
            }
        }
        let expected_ns = now_ns / DIVISOR + MAX_NS as u64;
        assert!(spent_ns.abs_diff(expected_ns) <= EACH_NS, "{spent_ns} of {now_ns}");
        budget.spend(u64::MAX);
        assert!(!budget.allows(now_ns + 1_000_000_000));
    }
}
