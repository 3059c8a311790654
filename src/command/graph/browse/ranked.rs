//! The objects that retain most, a page at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The place of an object among others: those that retain most come first, then those that are largest themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    retained_bytes: Reverse<u64>,
    own_bytes: Reverse<u64>,
    pub(super) object: u32,
}

impl Rank {
    pub(super) fn new(object: u32, retained_bytes: u64, own_bytes: u64) -> Rank {
        Rank { retained_bytes: Reverse(retained_bytes), own_bytes: Reverse(own_bytes), object }
    }
}

/// Some of many objects, in the order of their ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) ranks: Vec<Rank>,
    /// How many objects come before these.
    pub(super) before: u64,
    /// How many objects there are in all.
    pub(super) all: u64,
}

impl Page {
    /// The first `count` objects behind a rank. This looks at all objects, and keeps `count` of them.
    pub(super) fn behind(after: Option<Rank>, count: usize, all: impl Iterator<Item = Rank>) -> Page {
        let mut page = Page::default();
        // The last one of those that are kept is on top.
        let mut kept: BinaryHeap<Rank> = BinaryHeap::with_capacity(count.saturating_add(1));
        for rank in all {
            page.all += 1;
            if after.is_some_and(|after| rank <= after) {
                page.before += 1;
            } else if kept.len() < count || kept.peek().is_some_and(|last| rank < *last) {
                kept.push(rank);
                if kept.len() > count {
                    kept.pop();
                }
            }
        }
        page.ranks = kept.into_sorted_vec();
        page
    }

    /// How many objects come after these.
    pub(super) fn after(&self) -> u64 {
        self.all.saturating_sub(self.before).saturating_sub(self.ranks.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_without_gaps() {
        let ranks =
            |n: u32| (0..n).map(|object| Rank::new(object, u64::from(object * 7 % 5), u64::from(object % 3)));
        let mut all: Vec<Rank> = ranks(23).collect();
        all.sort();
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = Page::behind(after, 5, ranks(23));
            assert_eq!((page.all, page.before), (23, found.len() as u64));
            found.extend(page.ranks.iter().copied());
            assert_eq!(page.after(), 23 - found.len() as u64);
            after = page.ranks.last().copied();
            if page.after() == 0 {
                break;
            }
        }
        assert_eq!(found, all);
        assert_eq!(all[0], Rank::new(7, 4, 1).min(all[0]));
        assert_eq!(Page::behind(None, 5, ranks(0)), Page::default());
    }
}
