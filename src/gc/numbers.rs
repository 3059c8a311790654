//! The numbers of collections, and those that no collection has.

use std::collections::BTreeSet;

/// So many numbers are kept by themselves.
const MOST: usize = 64;

/// Numbers that were seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    first: Option<u32>,
    last: u32,
    seen: u64,
    /// Those below the last one that were not seen, the first [`MOST`] of them.
    absent: BTreeSet<u32>,
}

impl Numbers {
    /// Takes in the number of a record. Background collections end after others that began later.
    pub(crate) fn add(&mut self, number: u32) {
        self.seen += 1;
        match self.first {
            Some(first) if number > first => {
                let room = MOST.saturating_sub(self.absent.len());
                self.absent.extend((self.last.saturating_add(1)..number).take(room));
                self.last = self.last.max(number);
                self.absent.remove(&number);
            }
            // The first one, or one that began before the watch.
            _ => (self.first, self.last) = (Some(number), self.last.max(number)),
        }
    }

    /// How many between the first and the last have no record.
    pub(crate) fn absent(&self) -> u64 {
        let first = self.first.unwrap_or(self.last);
        (u64::from(self.last - first.min(self.last)) + u64::from(self.first.is_some()))
            .saturating_sub(self.seen)
    }

    /// Some of them.
    pub(crate) fn some_absent(&self) -> impl Iterator<Item = u32> {
        self.absent.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_between_that_never_came() {
        let of = |all: &[u32]| {
            let mut numbers = Numbers::default();
            all.iter().for_each(|n| numbers.add(*n));
            (numbers.absent(), numbers.some_absent().collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), (0, vec![]));
        assert_eq!(of(&[7]), (0, vec![]));
        assert_eq!(of(&[5, 7, 6, 8]), (0, vec![]));
        assert_eq!(of(&[5, 7, 10, 9]), (2, vec![6, 8]));
        assert_eq!(of(&[1, u32::MAX]).0, u64::from(u32::MAX) - 2);
    }
}
