//! The non-null roots of the collection under way, kept until its end, when their types are looked up.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};

use crate::agent::accumulator::Roots as Batch;
use crate::sys;

/// How many different roots are kept in one collection.
const CAPACITY: usize = 10_000;

/// A root, and how many equal ones came directly after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Kept {
    pub(super) object: u64,
    pub(super) root_id: u64,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) repeats: u16,
}

zeroed! {
    #[derive(Debug)]
    pub(in crate::agent) struct Roots {
        memory: AtomicPtr<Kept>,
        count: AtomicUsize,
        /// Roots that were not kept: the table was full or in use.
        untyped: AtomicU64,
        /// Whether a thread has the table.
        busy: AtomicBool,
    }
}

/// The table, exclusive to the thread that holds this.
pub(super) struct Table<'a> {
    roots: &'a Roots,
    all: &'a mut [Kept],
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        self.roots.busy.store(false, SeqCst);
    }
}

impl Table<'_> {
    /// Keeps a batch, or as much of it as fits.
    fn add(&mut self, batch: Batch<'_>) {
        // Local counters, because a batch may be long.
        let mut count = self.roots.count.load(SeqCst);
        if count >= CAPACITY {
            self.roots.skip(batch);
            return;
        }
        let mut untyped = 0_u64;
        for root in batch.rows().filter(|root| root.object != 0) {
            if count >= CAPACITY {
                untyped = untyped.saturating_add(1);
                continue;
            }
            let new = Kept {
                object: root.object,
                root_id: root.root_id,
                kind: root.kind.0,
                flags: root.flags.0,
                repeats: 0,
            };
            let last = count.checked_sub(1).and_then(|last| self.all.get_mut(last));
            if let Some(last) = last
                && last.repeats < u16::MAX
                && (Kept { repeats: 0, ..*last }) == new
            {
                last.repeats = last.repeats.saturating_add(1);
            } else if let Some(free) = self.all.get_mut(count) {
                *free = new;
                count = count.saturating_add(1);
            }
        }
        self.roots.count.store(count, SeqCst);
        self.roots.untyped.fetch_add(untyped, SeqCst);
    }

    pub(super) fn kept(&self) -> &[Kept] {
        self.all.get(..self.roots.count.load(SeqCst)).unwrap_or_default()
    }
}

impl Roots {
    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(SeqCst).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<Kept>())) else { return false };
            self.memory.store(memory.cast().as_ptr(), SeqCst);
        }
        self.busy.store(false, SeqCst);
        self.clear();
        true
    }

    pub(super) fn clear(&self) {
        self.count.store(0, SeqCst);
        self.untyped.store(0, SeqCst);
    }

    /// Roots that were not kept since the last [`Roots::clear`].
    pub(super) fn untyped(&self) -> u64 {
        self.untyped.load(SeqCst)
    }

    /// The table, unless another thread has it.
    pub(super) fn table(&self) -> Option<Table<'_>> {
        let memory = self.memory.load(SeqCst);
        if memory.is_null() || self.busy.swap(true, SeqCst) {
            return None;
        }
        // SAFETY: `prepare` mapped CAPACITY entries, zeroed, for good; this thread has set `busy`, and nobody else gets
        // the table until it is dropped.
        let all = unsafe { core::slice::from_raw_parts_mut(memory, CAPACITY) };
        Some(Table { roots: self, all })
    }

    /// Keeps a batch, or as much of it as fits.
    pub(in crate::agent) fn add(&self, batch: Batch<'_>) {
        match self.table() {
            Some(mut table) => table.add(batch),
            None => self.skip(batch),
        }
    }

    /// Counts a batch that is not kept.
    fn skip(&self, batch: Batch<'_>) {
        let non_null = batch.objects.iter().filter(|object| **object != 0);
        self.untyped.fetch_add(non_null.count() as u64, SeqCst);
    }
}
