//! Ranges of moved and surviving blocks, from the runtime's events.

use super::{OpenGc, Walk};
use crate::gc::block_totals::{ByRange, MovedTotals, add, sum};
use crate::gc::events::{MovedRow, Ranges, Rows, RowsOf, SurvivingRow};
use crate::gc::generation_bounds::GenerationBounds;
use crate::gc::kept_rows::keep_rows;
use crate::gc::record::{MovedRange, SurvivingRange};

/// Ranges whose generation is looked up at the end of the collection, a bound on memory. That of others stays unknown.
const MAX_UNPLACED: usize = 100_000;
/// Threads that send ranges in one collection: no more than it has heaps.
const MAX_WALKS: usize = 4096;

impl OpenGc {
    /// Adds the ranges of one event; `moving`: of GCBulkMovedObjectRanges.
    pub(crate) fn ranges_event(
        &mut self,
        thread: u64,
        moving: bool,
        ranges: Ranges<'_>,
        bounds: &mut GenerationBounds,
        keep: bool,
    ) {
        self.walk(thread, moving, ranges.index, ranges.is_full());
        if moving {
            match ranges.moved() {
                Rows::Narrow(rows) => self.moved_rows(rows, bounds, keep),
                Rows::Wide(rows) => self.moved_rows(rows, bounds, keep),
            }
        } else {
            match ranges.surviving() {
                Rows::Narrow(rows) => self.surviving_rows(rows, bounds, keep),
                Rows::Wide(rows) => self.surviving_rows(rows, bounds, keep),
            }
        }
        self.bounds_known &= !bounds.is_empty();
    }

    fn moved_rows(&mut self, rows: impl RowsOf<MovedRow>, bounds: &mut GenerationBounds, keep: bool) {
        let moved = self.record.moved.get_or_insert_default();
        let by = ByRange::new(&mut self.moved_by_generation, bounds);
        MovedTotals::new(moved, by).add(rows.clone());
        if keep && rows.len() > 0 {
            let range =
                |(old, new, bytes)| MovedRange { old, new, bytes, from: bounds.generation(old), to: None };
            let left_out = keep_rows(moved.ranges.get_or_insert_default(), rows.map(range));
            self.record.missing.ranges = self.record.missing.ranges.saturating_add(left_out);
        }
    }

    fn surviving_rows(&mut self, rows: impl RowsOf<SurvivingRow>, bounds: &mut GenerationBounds, keep: bool) {
        let surviving = self.record.surviving.get_or_insert_default();
        let mut sizes = surviving.sizes.many();
        let mut by = ByRange::new(&mut self.surviving_by_generation, bounds);
        let unplaced = &mut self.unplaced;
        let before = unplaced.len();
        let mut place = |(start, bytes)| {
            if !by.find(start) && unplaced.len() < MAX_UNPLACED {
                unplaced.push((start, bytes));
            } else {
                by.add(start, bytes);
            }
        };
        let mut rest = rows.clone();
        while rest.len() >= 4 {
            let four: [SurvivingRow; 4] = std::array::from_fn(|_| rest.next().unwrap_or_default());
            let four_sizes = four.map(|(_, bytes)| bytes);
            sizes.add_four(four_sizes, sum(four_sizes));
            four.into_iter().for_each(&mut place);
        }
        for (start, bytes) in rest {
            sizes.add(bytes);
            place((start, bytes));
        }
        sizes.end();
        surviving.count += by.end();
        self.unplaced[before..].iter().for_each(|(_, bytes)| add(&mut surviving.count, *bytes));
        if keep && rows.len() > 0 {
            let range =
                |(start, bytes)| SurvivingRange { start, bytes, generation: bounds.generation(start) };
            let left_out = keep_rows(surviving.ranges.get_or_insert_default(), rows.map(range));
            self.record.missing.ranges = self.record.missing.ranges.saturating_add(left_out);
        }
    }

    /// Checks the number of an event in its walk. The runtime may drop a large event while there is still room for
    /// smaller ones, and report the loss much later.
    fn walk(&mut self, thread: u64, moving: bool, index: u32, full: bool) {
        if self.walks.len() >= MAX_WALKS && !self.walks.contains_key(&(thread, moving)) {
            return self.lost();
        }
        let walk = Walk { next: index.saturating_add(1), full };
        let due = self.walks.insert((thread, moving), walk).unwrap_or_default().next;
        if index != 0 && index != due {
            self.lost();
            let missing = &mut self.record.missing.events;
            *missing = missing.saturating_add(index.saturating_sub(due).into());
        }
    }
}
