//! What the runtime tells before the first object: roots and dependent handles, kept until the copy exists.

use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};

use crate::agent::accumulator::Roots;
use crate::sys;

/// How much is kept at most, in bytes; less where that much is not to be had.
const SIZES: [usize; 3] = [256 << 20, 32 << 20, 4 << 20];

/// A root, or a dependent handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Entry {
    /// The object; of a dependent handle, the one that keeps the other alive.
    pub(super) object: usize,
    /// The root's identifier; of a dependent handle, the handle.
    pub(super) id: usize,
    /// The object that a dependent handle keeps alive; 0: this is a root.
    pub(super) dependent: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
}

zeroed! {
    #[derive(Debug)]
    pub(super) struct Kept {
        memory: AtomicPtr<Entry>,
        bytes: AtomicUsize,
        count: AtomicUsize,
        /// Roots that did not fit.
        missing: AtomicU64,
    }
}

impl Kept {
    /// Maps memory. `false`: there is none.
    pub(super) fn prepare(&self) -> bool {
        self.clear();
        let found = SIZES.iter().find_map(|bytes| Some((sys::map_sparse(*bytes)?, *bytes)));
        let Some((memory, bytes)) = found else { return false };
        self.bytes.store(bytes, SeqCst);
        self.memory.store(memory.cast().as_ptr(), SeqCst);
        true
    }

    /// Gives the memory back. No callback may keep anything any more.
    pub(super) fn release(&self) {
        let memory = self.memory.swap(core::ptr::null_mut(), SeqCst);
        if !memory.is_null() {
            // SAFETY: `prepare` mapped it with this length; only the callbacks of a collection that is to be used write
            // to it, and the stage is another one now.
            unsafe { sys::unmap(memory.cast(), self.bytes.load(SeqCst)) };
        }
        self.clear();
    }

    /// Forgets what an earlier collection told.
    pub(super) fn clear(&self) {
        self.count.store(0, SeqCst);
        self.missing.store(0, SeqCst);
    }

    pub(super) fn missing(&self) -> u64 {
        self.missing.load(SeqCst)
    }

    /// Keeps a batch of roots. One thread at a time: the runtime walks the roots on one.
    pub(super) fn add_roots(&self, roots: Roots<'_>) {
        self.add(roots.rows().filter(|root| root.object != 0).map(|root| Entry {
            object: root.object as usize,
            id: root.root_id as usize,
            dependent: 0,
            kind: root.kind.0,
            flags: root.flags.0,
        }));
    }

    /// Keeps entries. One thread at a time.
    pub(super) fn add(&self, entries: impl Iterator<Item = Entry>) {
        let memory = self.memory.load(SeqCst);
        let capacity = self.bytes.load(SeqCst).checked_div(size_of::<Entry>()).unwrap_or(0);
        let mut count = self.count.load(SeqCst);
        for entry in entries {
            if memory.is_null() || count >= capacity {
                self.missing.fetch_add(1, SeqCst);
                continue;
            }
            // SAFETY: the memory has room for `capacity` entries, and only this thread writes.
            unsafe { memory.wrapping_add(count).write(entry) };
            count = count.saturating_add(1);
        }
        self.count.store(count, SeqCst);
    }

    /// What was kept. Only in the copy, where nothing is added any more.
    pub(super) fn all(&self) -> &[Entry] {
        let memory = self.memory.load(SeqCst);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `add` has written `count` entries.
        unsafe { core::slice::from_raw_parts(memory, self.count.load(SeqCst)) }
    }
}
