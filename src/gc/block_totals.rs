//! Totals of the blocks of one event. A recording may hold a thousand million blocks, so the loops are written for
//! speed: sums stay in registers.

use super::events::MovedRow;
use super::generation_bounds::{GenerationBounds, GenerationRange};
use super::histogram::Counting;
use super::record::{BlockCount, Moved};

/// By generation of the old address. The last is for addresses outside all generations.
pub(super) type ByGeneration = [BlockCount; 6];

/// Blocks that were moved, or could have been.
pub(super) struct MovedTotals<'a> {
    sizes: Counting<'a>,
    distances: Counting<'a>,
    by: ByRange<'a>,
    count: &'a mut BlockCount,
    stayed: &'a mut BlockCount,
}

impl<'a> MovedTotals<'a> {
    /// Adds to what `moved` and `by` hold.
    pub(super) fn new(moved: &'a mut Moved, by: ByRange<'a>) -> MovedTotals<'a> {
        let Moved { count, stayed, sizes, distances, .. } = moved;
        MovedTotals { sizes: sizes.many(), distances: distances.many(), by, count, stayed }
    }

    /// Adds all rows.
    pub(super) fn add(mut self, mut rows: impl ExactSizeIterator<Item = MovedRow>) {
        while rows.len() >= 4 {
            let four: [MovedRow; 4] = std::array::from_fn(|_| rows.next().unwrap_or_default());
            if four.iter().all(|(old, new, _)| old != new) {
                let [a, b, c, d] = four;
                let sizes = [a.2, b.2, c.2, d.2];
                let far = |row: MovedRow| row.1.abs_diff(row.0);
                let distances = [far(a), far(b), far(c), far(d)];
                let bytes = sum(sizes);
                self.sizes.add_four(sizes, bytes);
                self.distances.add_four(distances, sum(distances));
                if four.iter().all(|(old, ..)| self.by.bound.holds(*old)) {
                    self.by.here += BlockCount { blocks: 4, bytes };
                } else {
                    four.into_iter().for_each(|(old, _, bytes)| self.by.add(old, bytes));
                }
            } else {
                four.into_iter().for_each(|row| self.one(row));
            }
        }
        rows.for_each(|row| self.one(row));
        *self.count += self.by.end();
        self.sizes.end();
        self.distances.end();
    }

    fn one(&mut self, (old, new, bytes): MovedRow) {
        if old == new {
            add(self.stayed, bytes);
        } else {
            self.sizes.add(bytes);
            self.distances.add(new.abs_diff(old));
            self.by.add(old, bytes);
        }
    }
}

/// Blocks by generation. Neighbouring blocks mostly lie in the same range, and are added together.
pub(super) struct ByRange<'a> {
    counts: &'a mut ByGeneration,
    bounds: &'a mut GenerationBounds,
    bound: GenerationRange,
    /// Blocks in the current range.
    here: BlockCount,
    /// Blocks in the ranges before.
    all: BlockCount,
}

impl<'a> ByRange<'a> {
    pub(super) fn new(counts: &'a mut ByGeneration, bounds: &'a mut GenerationBounds) -> ByRange<'a> {
        let none = BlockCount::default();
        ByRange { counts, bounds, bound: GenerationRange::NONE, here: none, all: none }
    }

    /// Makes the range of an address the current one. Returns whether there is one.
    #[inline]
    pub(super) fn find(&mut self, address: u64) -> bool {
        if !self.bound.holds(address) {
            self.count();
            self.bound = self.bounds.bound(address);
        }
        self.bound.generation != GenerationRange::NONE.generation
    }

    /// Adds a block to the range of its address.
    #[inline]
    pub(super) fn add(&mut self, address: u64, bytes: u64) {
        self.find(address);
        add(&mut self.here, bytes);
    }

    fn count(&mut self) {
        let here = std::mem::take(&mut self.here);
        self.counts[self.bound.generation.index()] += here;
        self.all += here;
    }

    /// Returns the total.
    pub(super) fn end(mut self) -> BlockCount {
        self.count();
        self.all
    }
}

/// The sum of four values.
#[inline]
pub(super) fn sum(values: [u64; 4]) -> u64 {
    values.into_iter().fold(0, u64::saturating_add)
}

/// Adds one block.
#[inline]
pub(super) fn add(count: &mut BlockCount, bytes: u64) {
    *count += BlockCount { blocks: 1, bytes };
}
