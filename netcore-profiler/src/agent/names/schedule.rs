//! When to search for static fields.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::sys;

const SECOND_NS: u64 = 1_000_000_000;
/// The longest time between two searches.
const MAX_INTERVAL_NS: u64 = 64 * SECOND_NS;

zeroed! {
    #[derive(Debug)]
    pub(super) struct Schedule {
        next_ns: AtomicU64,
        interval_ns: AtomicU64,
        /// The last collection at the time of the last search.
        gc_seq: AtomicU64,
        /// [`Modules::now`](super::modules::Modules::now) when the profiler was loaded.
        pub(super) unloads: AtomicU64,
    }
}

impl Schedule {
    pub(super) fn reset(&self, unloads: u64) {
        self.gc_seq.store(0, SeqCst);
        self.unloads.store(unloads, SeqCst);
        self.interval_ns.store(SECOND_NS, SeqCst);
        // A module whose unloading began before the profiler was loaded is gone by then.
        self.next_ns.store(sys::tick_ns().saturating_add(SECOND_NS), SeqCst);
    }

    /// A module was loaded: search soon.
    pub(super) fn hasten(&self) {
        self.interval_ns.store(SECOND_NS, SeqCst);
        self.next_ns.fetch_min(sys::tick_ns().saturating_add(SECOND_NS), SeqCst);
    }

    pub(super) fn is_due(&self, now_ns: u64, gc_seq: u64) -> bool {
        gc_seq != self.gc_seq.load(SeqCst) && now_ns >= self.next_ns.load(SeqCst)
    }

    pub(super) fn searched(&self, now_ns: u64, gc_seq: u64, found: bool) {
        let interval_ns = self.interval_ns.load(SeqCst);
        let interval_ns = if found { SECOND_NS } else { interval_ns.saturating_mul(2).min(MAX_INTERVAL_NS) };
        self.interval_ns.store(interval_ns, SeqCst);
        self.next_ns.store(now_ns.saturating_add(interval_ns), SeqCst);
        self.gc_seq.store(gc_seq, SeqCst);
    }
}
