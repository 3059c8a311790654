//! The numbers of collections, and those that are missing.
//!
//! A NoGC region uses a number without collecting: the runtime stops the program as for a collection, but starts none.
//! A number without a record and without such a stop is a collection of which nothing arrived. (Where several tools
//! begin and end sessions at the same time, the runtime can stop sending GC events for a while without counting them as
//! lost.)

use std::collections::BTreeSet;

/// Numbers that are kept one by one.
const MAX_KEPT: usize = 64;

/// The numbers that were seen, and those that were not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    first: Option<u32>,
    last: u32,
    seen: u64,
    /// The first [`MAX_KEPT`] numbers below the last that were not seen and are not explained by a stop.
    absent: BTreeSet<u32>,
    /// How many numbers a stop without a collection explains.
    without_gc: u64,
    /// The first [`MAX_KEPT`] of them.
    some_without_gc: BTreeSet<u32>,
}

impl Numbers {
    /// Takes in the number of a record that began in the watch, and how often the program was stopped for a collection
    /// that did not come, between the collection that started before it and its own start. Background collections end
    /// after others that began later.
    pub(crate) fn add(&mut self, number: u32, stops_without_gc: u32) {
        self.seen += 1;
        match self.first {
            Some(first) if number > first => {
                let next = self.last.saturating_add(1);
                // The stops explain the nearest numbers: an earlier one may be a background collection that still runs.
                let unknown = next..number.saturating_sub(stops_without_gc).max(next);
                let without_gc = unknown.end.max(next)..number.max(next);
                let room = MAX_KEPT.saturating_sub(self.absent.len());
                self.absent.extend(unknown.take(room));
                without_gc.for_each(|n| self.explained(n));
                self.last = self.last.max(number);
                if self.absent.remove(&number) {
                    for n in (first..number).rev().take(stops_without_gc as usize) {
                        if !self.absent.remove(&n) {
                            break;
                        }
                        self.explained(n);
                    }
                }
            }
            _ => (self.first, self.last) = (Some(number), self.last.max(number)),
        }
    }

    /// Takes in the number of a record that the end of the watch truncated. There the stream may have the events of
    /// some threads only, so it says nothing of the collections before it.
    pub(crate) fn add_cut_off(&mut self, number: u32) {
        if self.absent.remove(&number) {
            self.seen += 1;
        }
    }

    fn explained(&mut self, number: u32) {
        self.without_gc += 1;
        if self.some_without_gc.len() < MAX_KEPT {
            self.some_without_gc.insert(number);
        }
    }

    /// How many numbers between the first and the last have no record.
    pub(crate) fn absent(&self) -> u64 {
        let first = self.first.unwrap_or(self.last);
        (u64::from(self.last - first.min(self.last)) + u64::from(self.first.is_some()))
            .saturating_sub(self.seen)
    }

    /// How many collections began of which nothing arrived.
    pub(crate) fn not_received(&self) -> u64 {
        self.absent().saturating_sub(self.without_gc)
    }

    /// How many numbers NoGC regions used.
    pub(crate) fn without_gc(&self) -> u64 {
        self.without_gc
    }

    /// Some of them.
    pub(crate) fn some_without_gc(&self) -> impl Iterator<Item = u32> {
        self.some_without_gc.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[(u32, u32)]) -> (u64, u64, Vec<u32>) {
        let mut numbers = Numbers::default();
        all.iter().for_each(|(number, stops)| numbers.add(*number, *stops));
        (numbers.absent(), numbers.not_received(), numbers.some_without_gc().collect())
    }

    #[test]
    fn those_between_that_never_came() {
        let of = |all: &[u32]| of(&all.iter().map(|n| (*n, 0)).collect::<Vec<_>>());
        assert_eq!(of(&[]), (0, 0, vec![]));
        assert_eq!(of(&[7]), (0, 0, vec![]));
        assert_eq!(of(&[5, 7, 6, 8]), (0, 0, vec![]));
        assert_eq!(of(&[5, 7, 10, 9]), (2, 2, vec![]));
        assert_eq!(of(&[1, u32::MAX]).1, u64::from(u32::MAX) - 2);
    }

    #[test]
    fn the_end_of_the_watch_loses_nothing() {
        let mut numbers = Numbers::default();
        [5, 6, 8].into_iter().for_each(|number| numbers.add(number, 0));
        assert_eq!(numbers.not_received(), 1);
        // A background collection goes on.
        numbers.add_cut_off(7);
        // 9 to 11 were on other threads.
        numbers.add_cut_off(12);
        assert_eq!((numbers.absent(), numbers.not_received()), (0, 0));
    }

    #[test]
    fn a_stop_without_a_collection_explains_one_number() {
        assert_eq!(of(&[(5, 0), (7, 1)]), (1, 0, vec![6]));
        assert_eq!(of(&[(5, 0), (8, 1)]), (2, 1, vec![7]));
        assert_eq!(of(&[(5, 0), (6, 3), (8, 0)]), (1, 1, vec![]), "it belongs to the number before its own");
        assert_eq!(of(&[(5, 3), (7, 9)]), (1, 0, vec![6]));
        // 7 is a background collection, which ends after 9; 6 and 8 are not.
        assert_eq!(of(&[(5, 0), (9, 1), (7, 1)]), (2, 0, vec![6, 8]));
        assert_eq!(of(&[(5, 0), (9, 0), (7, 1)]), (2, 1, vec![6]));
        let many: Vec<(u32, u32)> = (0..1000).map(|n| (2 * n, 1)).collect();
        assert_eq!((of(&many).0, of(&many).1), (999, 0));
    }
}
