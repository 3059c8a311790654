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

    /// The entry of [`RangeTotals::by_generation`](crate::wire::RangeTotals::by_generation) that an
    /// address belongs to. `hint` remembers where the last one was: neighbours come one after another.
    pub(super) fn generation(&self, address: u64, hint: &mut usize) -> usize {
        let ranges = self.ranges();
        let Ok(address) = usize::try_from(address) else { return UNKNOWN };
        let holds = |range: &GenerationRange| address.wrapping_sub(range.start) < range.length;
        let generation =
            |range: &GenerationRange| usize::try_from(range.generation).unwrap_or(UNKNOWN).min(UNKNOWN);
        if let Some(range) = ranges.get(*hint).filter(|range| holds(range)) {
            return generation(range);
        }
        let after = ranges.partition_point(|range| range.start <= address);
        let at = after.wrapping_sub(1);
        match ranges.get(at).filter(|range| holds(range)) {
            Some(range) => {
                *hint = at;
                generation(range)
            }
            None => UNKNOWN,
        }
    }
}
