//! How much may be done for one name. Types can have themselves as arguments, several times over: without a bound the
//! work would grow with each level, though the text is cut in the end.

use std::cell::Cell;

/// What is left to spend.
#[derive(Debug)]
pub(super) struct Budget(Cell<usize>);

impl Budget {
    /// Enough for a text several times as long as the longest that is shown; in bytes, and one for each class.
    pub(super) fn of_a_text() -> Budget {
        Budget(Cell::new(16 << 10))
    }

    /// Enough for all classes of any type that a programmer writes.
    pub(super) fn of_an_origin() -> Budget {
        Budget(Cell::new(1 << 10))
    }

    /// Takes some of it; `false` where that is more than there is.
    pub(super) fn spend(&self, some: usize) -> bool {
        let left = self.0.get().checked_sub(some);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}
