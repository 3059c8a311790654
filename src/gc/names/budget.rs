//! A limit on the work for one name. A type can have itself as an argument, several times over, so that the work would
//! double with each level.

use std::cell::Cell;

/// What is left to spend.
#[derive(Debug)]
pub(super) struct Budget(Cell<usize>);

impl Budget {
    /// Enough for a text several times as long as the longest that is shown. One for each byte and each class.
    pub(super) fn of_a_text() -> Budget {
        Budget(Cell::new(16 << 10))
    }

    /// Enough for any type that a programmer writes. One for each class.
    pub(super) fn of_an_origin() -> Budget {
        Budget(Cell::new(1 << 10))
    }

    /// Spends a part; `false` where not enough is left.
    pub(super) fn spend(&self, some: usize) -> bool {
        let left = self.0.get().checked_sub(some);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}
