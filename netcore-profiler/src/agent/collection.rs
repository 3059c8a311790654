//! The collection under way: what is counted once, not per thread.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use super::arming::Mask;
use crate::wire::GcFlags;

/// Type of a background collection in the runtime's `GCStart` event.
const TYPE_BACKGROUND: u32 = 1;
const TYPE_UNKNOWN: u32 = u32::MAX;

/// A counter that several threads add to is spread over this many cache lines.
const STRIPES: usize = 16;

zeroed! {
    #[derive(Debug)]
    #[repr(align(128))]
    struct Stripe {
        count: AtomicU64,
    }
}

zeroed! {
    /// The collection under way. `GarbageCollectionStarted` and `GarbageCollectionFinished` need not come in pairs:
    /// the first sign of a collection opens it, and `GarbageCollectionFinished` closes it. [`Collection::reset`] makes
    /// it ready.
    ///
    /// The flags are `SeqCst`, because threads that arm and leave read them; the rest belongs to the collection's own
    /// threads.
    #[derive(Debug)]
    pub(super) struct Collection {
        /// Number of the last collection that was closed.
        closed: AtomicU64,
        open: AtomicBool,
        epoch: AtomicU64,
        armed_from_the_start: AtomicBool,
        armed: AtomicBool,
        refused: AtomicBool,
        delivered: AtomicBool,
        started: AtomicBool,
        number: AtomicU32,
        kind: AtomicU32,
        started_ns: AtomicU64,
        collected: AtomicU32,
        reason: AtomicU32,
        bounds_ranges: AtomicU32,
        flags: AtomicU32,
        callback_ns: AtomicU64,
        first_root_ns: AtomicU64,
        root_callback_ns: AtomicU64,
        dependent_pairs: AtomicU64,
        missing_ranges: AtomicU64,
        missing_range_bytes: AtomicU64,
        missing_roots: AtomicU64,
        finalizable: [Stripe; STRIPES],
    }
}

/// What the runtime said of a collection when it began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) number: u32,
    /// A bit for each generation that is collected.
    pub(super) collected: u32,
    pub(super) reason: u32,
}

/// A closed collection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closed {
    pub(super) seq: u64,
    pub(super) number: u32,
    pub(super) started_ns: u64,
    pub(super) collected: u8,
    pub(super) reason: u32,
    pub(super) bounds_ranges: u32,
    pub(super) flags: GcFlags,
    /// Whether late arming worked; `None` if the collection was not to be armed.
    pub(super) late_arming_worked: Option<bool>,
    pub(super) callback_ns: u64,
    pub(super) walk_ns: u64,
    pub(super) dependent_pairs: u64,
    pub(super) missing_ranges: u64,
    pub(super) missing_range_bytes: u64,
    pub(super) missing_roots: u64,
    pub(super) finalizable_queued: u64,
}

impl Collection {
    /// Starts numbering from 1.
    pub(super) fn reset(&self) {
        self.closed.store(0, SeqCst);
        self.open.store(false, SeqCst);
        self.clear();
        for counter in self.counters() {
            counter.store(0, Relaxed);
        }
    }

    /// The running number of the collection under way.
    pub(super) fn seq(&self) -> u64 {
        self.closed.load(Relaxed).wrapping_add(1)
    }

    fn clear(&self) {
        for flag in [&self.armed_from_the_start, &self.armed, &self.refused, &self.delivered, &self.started] {
            flag.store(false, SeqCst);
        }
        for value in [&self.number, &self.collected, &self.reason, &self.bounds_ranges, &self.flags] {
            value.store(0, Relaxed);
        }
        self.kind.store(TYPE_UNKNOWN, SeqCst);
        self.started_ns.store(0, Relaxed);
    }

    fn counters(&self) -> impl Iterator<Item = &AtomicU64> {
        [
            &self.callback_ns,
            &self.first_root_ns,
            &self.root_callback_ns,
            &self.dependent_pairs,
            &self.missing_ranges,
            &self.missing_range_bytes,
            &self.missing_roots,
        ]
        .into_iter()
        .chain(self.finalizable.iter().map(|stripe| &stripe.count))
    }

    /// The collection under way, as far as it is known.
    pub(super) fn now(&self) -> Now {
        Now {
            number: self.number.load(Relaxed),
            collected: self.collected.load(Relaxed),
            reason: self.reason.load(Relaxed),
        }
    }

    /// Opens the collection, unless its other sign has opened it.
    fn open(&self, mask: &Mask, same_sign_seen: bool) {
        if self.open.swap(true, SeqCst) && !same_sign_seen {
            return;
        }
        self.clear();
        self.epoch.store(mask.epoch(), SeqCst);
        self.armed_from_the_start.store(mask.is_on(), SeqCst);
    }

    /// The runtime's `GCStart` event was delivered.
    pub(super) fn delivered(&self, mask: &Mask, number: u32, kind: u32) {
        self.open(mask, self.delivered.load(SeqCst));
        self.number.store(number, Relaxed);
        self.kind.store(kind, SeqCst);
        self.delivered.store(true, SeqCst);
    }

    /// `GarbageCollectionStarted` was called.
    pub(super) fn started(&self, mask: &Mask, now_ns: u64, collected: u8, reason: u32) {
        // It comes before `GCStart`. One that was delivered already was of a collection whose end came before the profiler
        // was loaded.
        self.open(mask, true);
        self.started_ns.store(now_ns, Relaxed);
        self.collected.store(u32::from(collected), Relaxed);
        self.reason.store(reason, Relaxed);
        self.started.store(true, SeqCst);
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load(SeqCst)
    }

    /// Whether a blocking collection is under way whose `GCStart` was delivered.
    pub(super) fn can_be_armed(&self) -> bool {
        self.open.load(SeqCst)
            && self.delivered.load(SeqCst)
            && self.kind.load(SeqCst) != TYPE_BACKGROUND
            && !self.refused.load(SeqCst)
    }

    pub(super) fn set_armed(&self) {
        self.armed.store(true, SeqCst);
    }

    pub(super) fn set_refused(&self) {
        self.refused.store(true, SeqCst);
    }

    pub(super) fn set_bounds_ranges(&self, count: usize) {
        self.bounds_ranges.store(u32::try_from(count).unwrap_or(u32::MAX), Relaxed);
    }

    pub(super) fn flag(&self, flags: GcFlags) {
        if self.flags.load(Relaxed) & flags.0 != flags.0 {
            self.flags.fetch_or(flags.0, Relaxed);
        }
    }

    pub(super) fn add_callback_ns(&self, duration_ns: u64) {
        self.callback_ns.fetch_add(duration_ns, Relaxed);
    }

    /// Adds a root callback that ran from `entered_ns` to `left_ns`.
    pub(super) fn add_root_callback(&self, entered_ns: u64, left_ns: u64) {
        let _ = self.first_root_ns.compare_exchange(0, entered_ns, Relaxed, Relaxed);
        let duration_ns = left_ns.saturating_sub(entered_ns);
        self.root_callback_ns.fetch_add(duration_ns, Relaxed);
        self.add_callback_ns(duration_ns);
    }

    pub(super) fn add_dependent_pairs(&self, count: u64) {
        self.dependent_pairs.fetch_add(count, Relaxed);
    }

    pub(super) fn add_missing_ranges(&self, count: u64, bytes: u64) {
        self.flag(GcFlags::NO_SLOT);
        self.missing_ranges.fetch_add(count, Relaxed);
        self.missing_range_bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn add_missing_roots(&self, count: u64) {
        self.flag(GcFlags::NO_SLOT);
        self.missing_roots.fetch_add(count, Relaxed);
    }

    pub(super) fn add_finalizable(&self, thread: usize) {
        let stripe = (thread >> 12).checked_rem(STRIPES).unwrap_or(0);
        if let Some(stripe) = self.finalizable.get(stripe) {
            stripe.count.fetch_add(1, Relaxed);
        }
    }

    /// Closes the collection at `now_ns`, on its own thread, and clears all counters for the next one.
    pub(super) fn close(&self, mask: &Mask, now_ns: u64) -> Closed {
        let was_open = self.open.load(SeqCst);
        let delivered = self.delivered.load(SeqCst);
        let background = self.kind.load(SeqCst) == TYPE_BACKGROUND;
        let mut flags = GcFlags(self.flags.load(Relaxed));
        if self.started.load(SeqCst) {
            flags = flags.with(GcFlags::STARTED);
        }
        if background {
            flags = flags.with(GcFlags::BACKGROUND);
        }
        let on = self.armed_from_the_start.load(SeqCst) || self.armed.load(SeqCst);
        let undisturbed = was_open && mask.undisturbed_since(self.epoch.load(SeqCst));
        if !undisturbed {
            flags = flags.with(GcFlags::HALF_ARMED);
        } else if on && !background {
            flags = flags.with(GcFlags::ARMED);
        }
        let was_to_be_armed = mask.is_late() && undisturbed && !background;
        let worked = flags.has(GcFlags::ARMED);
        let failed = self.refused.load(SeqCst) || !delivered;

        let seq = self.seq();
        self.closed.store(seq, Relaxed);
        let first_root_ns = self.first_root_ns.load(Relaxed);
        let root_callback_ns = self.root_callback_ns.load(Relaxed);
        let walk_ns = if first_root_ns == 0 {
            0
        } else {
            now_ns.saturating_sub(first_root_ns).saturating_sub(root_callback_ns)
        };
        let finalizable = self.finalizable.iter().map(|stripe| stripe.count.load(Relaxed));
        let closed = Closed {
            seq,
            number: self.number.load(Relaxed),
            started_ns: self.started_ns.load(Relaxed),
            collected: self.collected.load(Relaxed) as u8,
            reason: self.reason.load(Relaxed),
            bounds_ranges: self.bounds_ranges.load(Relaxed),
            flags,
            late_arming_worked: (was_to_be_armed && (worked || failed)).then_some(worked),
            callback_ns: self.callback_ns.load(Relaxed),
            walk_ns,
            dependent_pairs: self.dependent_pairs.load(Relaxed),
            missing_ranges: self.missing_ranges.load(Relaxed),
            missing_range_bytes: self.missing_range_bytes.load(Relaxed),
            missing_roots: self.missing_roots.load(Relaxed),
            finalizable_queued: finalizable.fold(0, u64::saturating_add),
        };
        self.clear();
        for counter in self.counters() {
            counter.store(0, Relaxed);
        }
        self.open.store(false, SeqCst);
        closed
    }
}
