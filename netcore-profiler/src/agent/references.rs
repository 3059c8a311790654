//! The callbacks for ranges and roots. With server GC, all GC threads report ranges at once.
//!
//! The second versions always return a failure, so that the runtime does not pass the batch to the first versions, too.
//! Objects must not be read here, because the heap is inconsistent.

use core::slice;
use core::sync::atomic::Ordering;

use super::accumulator::Roots;
use super::events::Sink;
use super::profiler::Profiler;
use super::slots::Taken;
use crate::build_options::{EMPTY_ANSWER, FIRST_VERSIONS_ONLY};
use crate::hresult::{E_FAIL, HResult, S_OK};
use crate::info::Info;
use crate::sys;
use crate::wire::{GcFlags, RootFlags, RootKind};

/// How many entries of the first versions are converted at once: a full batch of the runtime.
const BATCH: usize = 512;

/// Lengths of the first versions as those of the second, and whether one of them is the largest value, which means 4
/// GiB or more.
fn widened<'a>(lengths: &[u32], wide: &'a mut [usize; BATCH]) -> (&'a [usize], bool) {
    for (wide, length) in wide.iter_mut().zip(lengths) {
        *wide = *length as usize;
    }
    (wide.get(..lengths.len()).unwrap_or_default(), lengths.contains(&u32::MAX))
}

/// The runtime's array; empty if it is null.
///
/// # Safety
/// `start` is null, or an array of `count` entries that outlives the callback.
pub(super) unsafe fn array<'a, T>(start: *const T, count: u32) -> &'a [T] {
    if start.is_null() || count == 0 || !start.is_aligned() {
        return &[];
    }
    // SAFETY: by the contract and the checks.
    unsafe { slice::from_raw_parts(start, count as usize) }
}

impl Profiler {
    /// `MovedReferences2`.
    ///
    /// # Safety
    /// The arrays are null or have `count` entries.
    pub(crate) unsafe fn moved(
        &self,
        count: u32,
        old: *const usize,
        new: *const usize,
        lengths: *const usize,
    ) -> HResult {
        // SAFETY: by the contract.
        let (old, new, lengths) = unsafe { (array(old, count), array(new, count), array(lengths, count)) };
        self.add_moved(old, new, lengths);
        E_FAIL
    }

    /// `MovedReferences`.
    ///
    /// # Safety
    /// The arrays are null or have `count` entries.
    pub(crate) unsafe fn moved_v1(
        &self,
        count: u32,
        old: *const usize,
        new: *const usize,
        lengths: *const u32,
    ) -> HResult {
        self.collection.flag(GcFlags::V1_CALLBACKS);
        // SAFETY: by the contract.
        let (old, new, lengths) = unsafe { (array(old, count), array(new, count), array(lengths, count)) };
        for ((old, new), lengths) in old.chunks(BATCH).zip(new.chunks(BATCH)).zip(lengths.chunks(BATCH)) {
            let mut wide = [0; BATCH];
            let (lengths, at_least) = widened(lengths, &mut wide);
            if at_least {
                self.collection.flag(GcFlags::MOVED_AT_LEAST);
            }
            self.add_moved(old, new, lengths);
        }
        S_OK
    }

    /// `SurvivingReferences2`.
    ///
    /// # Safety
    /// The arrays are null or have `count` entries.
    pub(crate) unsafe fn surviving(
        &self,
        count: u32,
        starts: *const usize,
        lengths: *const usize,
    ) -> HResult {
        // SAFETY: by the contract.
        let (starts, lengths) = unsafe { (array(starts, count), array(lengths, count)) };
        self.add_surviving(starts, lengths);
        E_FAIL
    }

    /// `SurvivingReferences`.
    ///
    /// # Safety
    /// The arrays are null or have `count` entries.
    pub(crate) unsafe fn surviving_v1(
        &self,
        count: u32,
        starts: *const usize,
        lengths: *const u32,
    ) -> HResult {
        self.collection.flag(GcFlags::V1_CALLBACKS);
        // SAFETY: by the contract.
        let (starts, lengths) = unsafe { (array(starts, count), array(lengths, count)) };
        for (starts, lengths) in starts.chunks(BATCH).zip(lengths.chunks(BATCH)) {
            let mut wide = [0; BATCH];
            let (lengths, at_least) = widened(lengths, &mut wide);
            if at_least {
                self.collection.flag(GcFlags::SURVIVING_AT_LEAST);
            }
            self.add_surviving(starts, lengths);
        }
        S_OK
    }

    /// `RootReferences2`.
    ///
    /// # Safety
    /// The arrays are null or have `count` entries.
    pub(crate) unsafe fn roots(
        &self,
        count: u32,
        objects: *const usize,
        kinds: *const u32,
        flags: *const u32,
        ids: *const usize,
    ) -> HResult {
        if FIRST_VERSIONS_ONLY {
            return S_OK;
        }
        // SAFETY: by the contract.
        let (objects, kinds, flags, ids) =
            unsafe { (array(objects, count), array(kinds, count), array(flags, count), array(ids, count)) };
        self.add_roots(objects, kinds, flags, ids);
        E_FAIL
    }

    /// `RootReferences`, from runtimes that do not know the second version: roots without kind, flags and id.
    ///
    /// # Safety
    /// The array is null or has `count` entries.
    pub(crate) unsafe fn roots_v1(&self, count: u32, objects: *const usize) -> HResult {
        const ROOTS: usize = 64;
        const KINDS: [u32; ROOTS] = [RootKind::UNKNOWN.0 as u32; ROOTS];
        const FLAGS: [u32; ROOTS] = [RootFlags::UNKNOWN.0 as u32; ROOTS];
        self.collection.flag(GcFlags::V1_CALLBACKS);
        // SAFETY: by the contract.
        let objects = unsafe { array(objects, count) };
        for objects in objects.chunks(ROOTS) {
            self.add_roots(objects, &KINDS, &FLAGS, &[0; ROOTS]);
        }
        S_OK
    }

    /// `ConditionalWeakTableElementReferences`: edges between objects that the runtime reports among the roots.
    ///
    /// # Safety
    /// The arrays are null or have `count` entries.
    pub(crate) unsafe fn dependent_pairs(
        &self,
        count: u32,
        keys: *const usize,
        values: *const usize,
        handles: *const usize,
    ) -> HResult {
        // SAFETY: by the contract.
        unsafe { self.keep_dependent(count, keys, values, handles) };
        self.collection.add_dependent_pairs(u64::from(count));
        S_OK
    }

    /// `FinalizeableObjectQueued`, on any GC thread.
    pub(crate) fn finalizable_queued(&self) -> HResult {
        self.collection.add_finalizable(sys::thread_id());
        S_OK
    }

    fn sink(&self, info: Info) -> Sink<'_> {
        Sink { info, events: &self.events, gc_seq: self.collection.seq() }
    }

    #[inline(never)]
    fn add_moved(&self, old: &[usize], new: &[usize], lengths: &[usize]) {
        self.add_ranges(lengths, |slot, sink| slot.moved(old, new, lengths, &self.bounds, sink));
    }

    #[inline(never)]
    fn add_surviving(&self, starts: &[usize], lengths: &[usize]) {
        self.add_ranges(lengths, |slot, sink| slot.surviving(starts, lengths, &self.bounds, sink));
    }

    /// Adds a batch of ranges to a free accumulator; without one, counts the batch as missing.
    fn add_ranges(&self, lengths: &[usize], add: impl FnOnce(&mut Taken<'_>, Sink<'_>)) {
        let entered_ns = sys::tick_ns();
        let Some(info) = self.info() else { return };
        let thread = sys::thread_id();
        let Some(mut slot) = self.slots.take(thread) else {
            let bytes = lengths.iter().fold(0_u64, |sum, length| sum.saturating_add(*length as u64));
            self.collection.add_missing_ranges(lengths.len() as u64, bytes);
            return;
        };
        slot.mark_used();
        slot.entered(entered_ns, thread);
        add(&mut slot, self.sink(info));
        slot.left(entered_ns, sys::tick_ns(), thread, lengths.len());
    }

    #[inline(never)]
    fn add_roots(&self, objects: &[usize], kinds: &[u32], flags: &[u32], ids: &[usize]) {
        let entered_ns = sys::tick_ns();
        let Some(info) = self.info() else { return };
        let Some(mut slot) = self.slots.take(sys::thread_id()) else {
            self.collection.add_missing_roots(objects.len() as u64);
            return;
        };
        slot.mark_used();
        slot.roots(Roots { objects, kinds, flags, ids }, self.sink(info));
        drop(slot);
        self.keep_roots(Roots { objects, kinds, flags, ids });
        if self.names.are_on() {
            self.names.roots.add(Roots { objects, kinds, flags, ids });
        }
        self.collection.add_root_callback(entered_ns, sys::tick_ns());
    }

    /// `GarbageCollectionStarted`.
    ///
    /// # Safety
    /// `collected` is null or has `count` entries.
    pub(crate) unsafe fn gc_started(&self, count: i32, collected: *const i32, reason: u32) -> HResult {
        let entered_ns = sys::tick_ns();
        let Some(info) = self.info() else { return S_OK };
        let count = u32::try_from(count).unwrap_or(0).min(8);
        // SAFETY: by the contract.
        let flags = unsafe { array(collected, count) };
        let bits = flags.iter().rev().fold(0_u8, |bits, flag| bits << 1 | u8::from(*flag != 0));
        self.collection.started(&self.mask, entered_ns, bits, reason);
        self.begin_graph();
        if EMPTY_ANSWER.is_none() {
            self.bounds.read(info);
            self.collection.set_bounds_ranges(self.bounds.ranges().len());
        }
        self.collection.add_callback_ns(sys::tick_ns().saturating_sub(entered_ns));
        S_OK
    }

    /// Whether raw rows are wanted.
    pub(super) fn sends_blocks(&self) -> bool {
        self.blocks.load(Ordering::Relaxed)
    }
}
