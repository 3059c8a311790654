//! In which generation an address lay when the collection began.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::info::{GenerationRange, Info};
use crate::sys;
use crate::wire::BLOCK_GENERATIONS;

/// Enough for 2 TiB in regions of 4 MiB. The memory is reserved once and only used as far as needed.
const CAPACITY: usize = 512 * 1024;

/// The entry for what is in no generation: frozen objects, or bounds that are not known.
const UNKNOWN: usize = BLOCK_GENERATIONS - 1;

/// An entry of the table, by its generation's place in
/// [`RangeTotals::by_generation`](crate::wire::RangeTotals::by_generation).
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    start: usize,
    length: usize,
    pub(super) generation: usize,
}

impl Span {
    /// Holds nothing, and stands for what no entry holds.
    pub(super) const NOWHERE: Self = Self { start: 0, length: 0, generation: UNKNOWN };

    pub(super) fn holds(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.length
    }

    pub(super) fn is_in_a_generation(&self) -> bool {
        self.generation != UNKNOWN
    }
}

/// The table. It is written between collections' walks and only read during them.
#[derive(Debug)]
pub(super) struct Bounds {
    memory: AtomicPtr<GenerationRange>,
    count: AtomicUsize,
    known: AtomicBool,
}

impl Bounds {
    pub(super) const fn new() -> Self {
        Self {
            memory: AtomicPtr::new(ptr::null_mut()),
            count: AtomicUsize::new(0),
            known: AtomicBool::new(false),
        }
    }

    /// Reserves the table.
    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(Ordering::Acquire).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<GenerationRange>())) else {
                return false;
            };
            self.memory.store(memory.cast().as_ptr(), Ordering::Release);
        }
        self.forget();
        true
    }

    /// Reads the bounds. Only in `GarbageCollectionStarted` and `GarbageCollectionFinished`, where
    /// they are exact and no other callback runs.
    pub(super) fn read(&self, info: Info) {
        self.forget();
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return;
        }
        // SAFETY: the table has that much room.
        let Ok(count) = (unsafe { info.generation_bounds(memory, CAPACITY as u32) }) else { return };
        let count = count as usize;
        if count > CAPACITY {
            return;
        }
        // SAFETY: the table has room for `count` entries, which the runtime has just written; nobody
        // else reads it now.
        let ranges = unsafe { core::slice::from_raw_parts_mut(memory, count) };
        if !ranges.is_sorted_by_key(|range| range.start) {
            ranges.sort_unstable_by_key(|range| range.start);
        }
        self.count.store(count, Ordering::Release);
        self.known.store(true, Ordering::Release);
    }

    /// Makes all addresses unknown, so that one collection's bounds never serve the next.
    pub(super) fn forget(&self) {
        self.known.store(false, Ordering::Release);
        self.count.store(0, Ordering::Release);
    }

    pub(super) fn are_known(&self) -> bool {
        self.known.load(Ordering::Acquire)
    }

    /// The ranges, by rising address.
    pub(super) fn ranges(&self) -> &[GenerationRange] {
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `read` wrote that many.
        unsafe { core::slice::from_raw_parts(memory, self.count.load(Ordering::Acquire)) }
    }

    /// The part of the table that an address lies in.
    #[inline(never)]
    pub(super) fn span(&self, address: usize) -> Span {
        let ranges = self.ranges();
        let after = ranges.partition_point(|range| range.start <= address);
        let Some(range) = ranges.get(after.wrapping_sub(1)) else { return Span::NOWHERE };
        let span = Span {
            start: range.start,
            length: range.length,
            generation: usize::try_from(range.generation).unwrap_or(UNKNOWN).min(UNKNOWN),
        };
        if span.holds(address) { span } else { Span::NOWHERE }
    }
}
