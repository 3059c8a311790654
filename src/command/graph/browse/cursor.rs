//! Which row of a list is selected, and which rows are seen.

use std::ops::Range;

/// A step through a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// The place in a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    selected: usize,
    /// The first row that is seen.
    first: usize,
}

impl Cursor {
    /// The row that is selected.
    pub(super) fn selected(self) -> usize {
        self.selected
    }

    /// Selects a row.
    pub(super) fn select(&mut self, row: usize) {
        self.selected = row;
    }

    /// Takes a step in a list of `len` rows, of which `height` are seen at once.
    pub(super) fn step(&mut self, step: Step, len: usize, height: usize) {
        // One row stays in sight.
        let page = height.saturating_sub(1).max(1);
        self.selected = match step {
            Step::Up => self.selected.saturating_sub(1),
            Step::Down => self.selected.saturating_add(1),
            Step::PageUp => self.selected.saturating_sub(page),
            Step::PageDown => self.selected.saturating_add(page),
            Step::First => 0,
            Step::Last => usize::MAX,
        };
        self.fit(len, height);
    }

    /// Moves as little as needed, so that the selected row exists and is seen.
    pub(super) fn fit(&mut self, len: usize, height: usize) {
        self.selected = self.selected.min(len.saturating_sub(1));
        let lowest = self.selected.saturating_add(1).saturating_sub(height);
        // Nor are there empty rows below while rows are hidden above.
        self.first = self.first.max(lowest).min(self.selected).min(len.saturating_sub(height));
    }

    /// The rows that are seen.
    pub(super) fn seen(self, len: usize, height: usize) -> Range<usize> {
        let first = self.first.min(len);
        first..first.saturating_add(height).min(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(steps: &[Step], len: usize, height: usize) -> (usize, Range<usize>) {
        let mut cursor = Cursor::default();
        steps.iter().for_each(|step| cursor.step(*step, len, height));
        (cursor.selected(), cursor.seen(len, height))
    }

    #[test]
    fn the_selected_row_is_seen() {
        assert_eq!(after(&[Step::Up], 10, 4), (0, 0..4));
        assert_eq!(after(&[Step::Down; 3], 10, 4), (3, 0..4));
        assert_eq!(after(&[Step::Down; 4], 10, 4), (4, 1..5));
        assert_eq!(after(&[Step::PageDown; 2], 10, 4), (6, 3..7));
        assert_eq!(after(&[Step::Last], 10, 4), (9, 6..10));
        assert_eq!(after(&[Step::Last, Step::PageUp], 10, 4), (6, 6..10));
        assert_eq!(after(&[Step::Last, Step::PageUp, Step::Up], 10, 4), (5, 5..9));
        assert_eq!(after(&[Step::Last, Step::First], 10, 4), (0, 0..4));
    }

    #[test]
    fn any_length_and_height_will_do() {
        let all = [Step::Down, Step::PageDown, Step::Last, Step::PageUp, Step::Up, Step::First];
        for len in 0..6 {
            for height in 0..6 {
                let (selected, seen) = after(&all, len, height);
                assert!(selected == 0 && seen.end <= len && seen.len() <= height);
            }
        }
        let mut cursor = Cursor::default();
        cursor.step(Step::Last, 100, 10);
        cursor.fit(3, 10);
        assert_eq!((cursor.selected(), cursor.seen(3, 10)), (2, 0..3));
    }
}
