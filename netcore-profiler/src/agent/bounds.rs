//! The generation of an address, before a collection or after it.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::info::{GenerationRange, Info};
use crate::sys;
use crate::wire::BLOCK_GENERATIONS;

/// Enough for a heap of 2 TiB in regions of 4 MiB. Only what is used takes physical memory.
const CAPACITY: usize = 512 * 1024;

/// The entry for addresses in no generation: frozen objects, or any address while the bounds are unknown.
const UNKNOWN: usize = BLOCK_GENERATIONS - 1;

/// An address range of one generation, which is an index of
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

zeroed! {
    /// The table. It is only read while ranges are reported. `count` is stored with `Release` after the entries.
    #[derive(Debug)]
    pub(super) struct Bounds {
        memory: AtomicPtr<GenerationRange>,
        count: AtomicUsize,
        known: AtomicBool,
    }
}

impl Bounds {
    /// Maps the table.
    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(Ordering::Acquire).is_null() {
            // The second half is scratch space to sort in.
            let bytes = CAPACITY.saturating_mul(2).saturating_mul(size_of::<GenerationRange>());
            let Some(memory) = sys::map(bytes) else { return false };
            self.memory.store(memory.cast().as_ptr(), Ordering::Release);
        }
        self.forget();
        true
    }

    /// Reads the bounds. Only in `GarbageCollectionStarted` and `GarbageCollectionFinished`, where they are exact and
    /// no other callback runs.
    pub(super) fn read(&self, info: Info) {
        self.forget();
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return;
        }
        // SAFETY: the table has room for CAPACITY entries.
        let Ok(count) = (unsafe { info.generation_bounds(memory, CAPACITY as u32) }) else { return };
        let count = count as usize;
        if count > CAPACITY {
            return;
        }
        // SAFETY: the runtime has just written `count` entries, and the second half has room for as many; all of it is
        // mapped and was zeroed, and no other thread uses it now.
        let (ranges, spare) = unsafe {
            (
                core::slice::from_raw_parts_mut(memory, count),
                core::slice::from_raw_parts_mut(memory.wrapping_add(CAPACITY), count),
            )
        };
        sort(ranges, spare);
        self.count.store(count, Ordering::Release);
        self.known.store(true, Ordering::Release);
    }

    /// Makes all addresses unknown, so that the bounds of one collection are never used for the next.
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
        // SAFETY: `read` has written `count` entries.
        unsafe { core::slice::from_raw_parts(memory, self.count.load(Ordering::Acquire)) }
    }

    /// The span that an address lies in.
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

/// The end of the ascending run that begins at `from`.
fn end_of_run(ranges: &[GenerationRange], from: usize) -> usize {
    let rest = ranges.get(from..).unwrap_or_default();
    let rises = |pair: &&[GenerationRange]| matches!(pair, [a, b] if a.start <= b.start);
    let steps = rest.windows(2).take_while(rises).count();
    from.saturating_add(steps).saturating_add(rest.len().min(1))
}

/// Merges the ascending runs in pairs, and returns the number of merged runs.
fn merge_runs(from: &[GenerationRange], to: &mut [GenerationRange]) -> usize {
    let (mut begin, mut merged) = (0_usize, 0_usize);
    while begin < from.len() {
        let middle = end_of_run(from, begin);
        let end = end_of_run(from, middle);
        let mut left = from.get(begin..middle).unwrap_or_default();
        let mut right = from.get(middle..end).unwrap_or_default();
        for free in to.get_mut(begin..end).unwrap_or_default() {
            let take_left = match (left.first(), right.first()) {
                (Some(left), Some(right)) => left.start <= right.start,
                (left, _) => left.is_some(),
            };
            let side = if take_left { &mut left } else { &mut right };
            let Some((first, rest)) = side.split_first() else { break };
            *free = *first;
            *side = rest;
        }
        begin = end;
        merged = merged.saturating_add(1);
    }
    merged
}

/// Sorts by address, by merging ascending runs. The runtime lists one generation after the other, each mostly in
/// ascending order, so there are few runs.
fn sort(ranges: &mut [GenerationRange], spare: &mut [GenerationRange]) {
    if end_of_run(ranges, 0) == ranges.len() {
        return;
    }
    loop {
        let done = merge_runs(ranges, spare) <= 1;
        // The result of every second merge is in `ranges`.
        merge_runs(spare, ranges);
        if done {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_sorted_whatever_their_order() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        for count in (0..70).chain([1000]) {
            for runs in [1, 2, 7, 1000] {
                let range = |generation: usize, start| GenerationRange {
                    generation: generation as i32,
                    start,
                    length: 1,
                    reserved: 1,
                };
                let mut ranges: Vec<_> = (0..count).map(|index| range(index, random() % 500)).collect();
                for run in ranges.chunks_mut(count / runs + 1) {
                    run.sort_by_key(|range| range.start);
                }
                let mut expected = ranges.clone();
                expected.sort_by_key(|range| range.start);
                let mut spare = vec![range(0, 0); count];
                sort(&mut ranges, &mut spare);
                assert_eq!(ranges, expected, "{count} in {runs}");
            }
        }
    }
}
