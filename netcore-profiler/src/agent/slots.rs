//! Accumulators for threads that report at the same time: server GC has one thread per heap.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use super::accumulator::{Accumulator, RAW_BYTES};
use crate::sys;

/// Server GC has at most 1024 heaps.
const MAX_SLOTS: usize = 1028;
const MIN_SLOTS: usize = 8;

/// An accumulator with its flags. All zeros is a free, empty one.
#[repr(C, align(128))]
struct Slot {
    /// A lock: a thread that takes it sees all that the one before it has written.
    busy: AtomicU32,
    /// Written only with the lock. Read without it at the end of a collection, when all callbacks have returned.
    used: AtomicU32,
    accumulator: UnsafeCell<Accumulator>,
}

// SAFETY: only the thread that has set `busy` uses the accumulator (`Slot::take`).
unsafe impl Sync for Slot {}

impl Slot {
    fn take(&self) -> Option<Taken<'_>> {
        let free = self.busy.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        // Not `then_some`: that would create a `Taken` in any case, whose drop frees the slot.
        free.then(|| Taken(self))
    }
}

/// An accumulator that is exclusive to the calling thread.
pub(super) struct Taken<'a>(&'a Slot);

impl Taken<'_> {
    /// Notes that it is not empty.
    pub(super) fn mark_used(&self) {
        self.0.used.store(1, Ordering::Release);
    }

    fn is_used(&self) -> bool {
        self.0.used.load(Ordering::Acquire) != 0
    }
}

impl Deref for Taken<'_> {
    type Target = Accumulator;

    fn deref(&self) -> &Accumulator {
        // SAFETY: this thread has set `busy`, until this is dropped.
        unsafe { &*self.0.accumulator.get() }
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut Accumulator {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { &mut *self.0.accumulator.get() }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.busy.store(0, Ordering::Release);
    }
}

zeroed! {
    /// All accumulators.
    #[derive(Debug)]
    pub(super) struct Slots {
        memory: AtomicPtr<Slot>,
        count: AtomicUsize,
        raw_memory: AtomicPtr<u8>,
    }
}

/// What [`Slots::collect`] found.
pub(super) struct Collected<'a> {
    /// The totals of all accumulators.
    pub(super) total: Taken<'a>,
    /// Whether an accumulator was still in use and is not included.
    pub(super) incomplete: bool,
}

impl Slots {
    /// Maps the accumulators, or finds those of an earlier attach, and empties them. No callback may run meanwhile.
    pub(super) fn prepare(&self, raw: bool) -> bool {
        if self.memory.load(Ordering::Acquire).is_null() {
            let count = sys::processors().saturating_add(4).clamp(MIN_SLOTS, MAX_SLOTS);
            let Some(memory) = sys::map(count.saturating_mul(size_of::<Slot>())) else { return false };
            self.count.store(count, Ordering::Release);
            self.memory.store(memory.cast().as_ptr(), Ordering::Release);
        }
        if raw && self.raw_memory.load(Ordering::Acquire).is_null() {
            let Some(memory) = sys::map(self.count().saturating_mul(RAW_BYTES)) else { return false };
            self.raw_memory.store(memory.as_ptr(), Ordering::Release);
        }
        let raw_memory = if raw { self.raw_memory.load(Ordering::Acquire) } else { ptr::null_mut() };
        for (index, slot) in self.all().iter().enumerate() {
            slot.busy.store(0, Ordering::Release);
            let Some(mut taken) = slot.take() else { return false };
            if taken.is_used() {
                taken.clear();
                slot.used.store(0, Ordering::Release);
            }
            let memory = if raw_memory.is_null() {
                raw_memory
            } else {
                raw_memory.wrapping_add(index.saturating_mul(RAW_BYTES))
            };
            taken.set_raw_memory(memory);
        }
        true
    }

    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    fn all(&self) -> &[Slot] {
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `prepare` mapped `count` slots for good; zeros are a valid slot.
        unsafe { core::slice::from_raw_parts(memory, self.count()) }
    }

    /// A free accumulator, the same one for the same thread if possible. There are more of them than GC threads, so
    /// nearly always the first one that is tried is free.
    pub(super) fn take(&self, thread: usize) -> Option<Taken<'_>> {
        let slots = self.all();
        // Thread numbers are addresses of descriptors, so mix their bits.
        let mixed = (thread as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let first = usize::try_from(mixed).unwrap_or(0).checked_rem(slots.len())?;
        let (before, after) = slots.split_at_checked(first)?;
        after.iter().chain(before).find_map(Slot::take)
    }

    /// Adds all accumulators up in one. `send` gets each one first, to send its raw rows.
    pub(super) fn collect(&self, mut send: impl FnMut(&mut Accumulator)) -> Option<Collected<'_>> {
        let mut total: Option<Taken<'_>> = None;
        let mut incomplete = false;
        for slot in self.all() {
            if slot.used.load(Ordering::Acquire) == 0 {
                continue;
            }
            let Some(mut taken) = slot.take() else {
                incomplete = true;
                continue;
            };
            slot.used.store(0, Ordering::Release);
            send(&mut taken);
            match &mut total {
                Some(total) => total.take_from(&mut taken),
                None => total = Some(taken),
            }
        }
        let total = total.or_else(|| self.take(0))?;
        Some(Collected { total, incomplete })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::zero::Zero;

    #[test]
    fn each_accumulator_is_given_to_one_thread_at_a_time() {
        let slots = Slots::ZERO;
        assert!(slots.prepare(false));
        assert!(slots.count() >= MIN_SLOTS);
        let mut taken: Vec<_> = (0..slots.count()).map(|thread| slots.take(thread << 12).unwrap()).collect();
        for _ in 0..3 {
            assert!(slots.take(7).is_none(), "a failed attempt frees nothing");
        }
        let mut addresses: Vec<_> = taken.iter().map(|slot| ptr::from_ref::<Slot>(slot.0)).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), slots.count());
        taken.pop();
        assert!(slots.take(7).is_some());
    }

    /// Threads pass accumulators on to each other and to one that adds up. Miri checks the orderings with this.
    #[test]
    fn nothing_is_lost_between_threads() {
        const THREADS: u64 = 3;
        const ROUNDS: u64 = if cfg!(miri) { 30 } else { 20_000 };
        let slots = Slots::ZERO;
        assert!(slots.prepare(false));
        let collect = || {
            let mut total = slots.collect(|_| ()).unwrap().total;
            let (nulls, stayed) = (total.null_roots, total.stayed_blocks);
            total.clear();
            assert_eq!(stayed, nulls * 2);
            nulls
        };
        let during = std::thread::scope(|scope| {
            let add = || {
                for _ in 0..ROUNDS {
                    let mut taken = slots.take(1 << 12).unwrap();
                    taken.null_roots += 1;
                    taken.stayed_blocks += 2;
                    taken.mark_used();
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(add)).collect();
            let mut sum = 0;
            while !threads.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                sum += collect();
                std::thread::yield_now();
            }
            sum
        });
        assert_eq!(during + collect(), THREADS * ROUNDS);
    }

    #[test]
    fn one_in_use_is_left_out_and_reported() {
        let slots = Slots::ZERO;
        assert!(slots.prepare(false));
        let mut seen = 0;
        let busy = slots.take(1).unwrap();
        busy.mark_used();
        assert!(slots.collect(|_| seen += 1).unwrap().incomplete);
        drop(busy);
        assert!(!slots.collect(|_| seen += 1).unwrap().incomplete);
        assert_eq!(seen, 1);
    }
}
