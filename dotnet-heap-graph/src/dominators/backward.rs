//! References from higher to lower numbers.
//!
//! The search comes to them by the higher number; what follows needs them by the lower one. They would be far apart in
//! memory, so they are put into shares of nodes with consecutive numbers first, and each share is sorted when it is needed:
//! that stays in the processor's cache.

use std::ops::Range;

/// So many bits of a number say which node of a share it is.
const NODE_BITS: u32 = 15;
/// How many nodes a share has.
const NODES: usize = 1 << NODE_BITS;
/// A step from one source to the next that does not fit; the source follows.
const LARGE_STEP: u32 = u32::MAX >> NODE_BITS;
/// Numbers in a piece of memory. Pieces are never moved, so none is there twice.
const PIECE: usize = 1 << 14;
/// So many references are sorted at once in any case.
const SMALL_PART: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// A share is sorted in about so many parts at most.
const MAX_PARTS: usize = 8;

/// The references to the nodes of a share.
#[derive(Debug, Default)]
struct Share {
    /// For each reference the step from the source before, and the node in the lower bits.
    full: Vec<Vec<u32>>,
    open: Vec<u32>,
    last_source: u32,
}

impl Share {
    fn push(&mut self, entry: u32) {
        if self.open.len() == self.open.capacity() {
            let full = std::mem::replace(&mut self.open, Vec::with_capacity(PIECE));
            self.full.push(full);
        }
        self.open.push(entry);
    }

    /// Calls `each` with the node in the share and the source of all references.
    fn for_each(&self, mut each: impl FnMut(usize, u32)) {
        let mut entries = self.full.iter().chain([&self.open]).flatten().copied();
        let mut source = 0_u32;
        while let Some(entry) = entries.next() {
            source = match entry >> NODE_BITS {
                LARGE_STEP => entries.next().unwrap_or_default(),
                step => source.wrapping_add(step),
            };
            each(entry as usize % NODES, source);
        }
    }
}

/// All references from higher to lower numbers.
#[derive(Debug)]
pub(super) struct Backward {
    shares: Vec<Share>,
    /// How many references to each node of the last share there are, and how many nodes of it are left.
    counts: Vec<usize>,
    left: usize,
}

impl Backward {
    /// None yet, of so many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        let mut shares = Vec::new();
        shares.resize_with(nodes / NODES + 1, Share::default);
        Self { shares, counts: Vec::new(), left: 0 }
    }

    /// Adds a reference. Sources come in ascending order.
    #[inline]
    pub(super) fn push(&mut self, source: u32, target: u32) {
        let Some(share) = self.shares.get_mut(target as usize / NODES) else { return };
        let node = target % NODES as u32;
        let step = source.wrapping_sub(share.last_source);
        share.last_source = source;
        if step < LARGE_STEP {
            share.push(step << NODE_BITS | node);
        } else {
            share.push(LARGE_STEP << NODE_BITS | node);
            share.push(source);
        }
    }

    /// Takes the references to the nodes with the highest numbers of those that are left. `false` if none are.
    pub(super) fn pop(&mut self, sorted: &mut Sorted) -> bool {
        if self.left == 0 {
            self.open();
        }
        let Some(share) = self.shares.last() else { return false };
        // A share that many nodes refer to is sorted in parts, because each reference is there twice then.
        let most = SMALL_PART.max(self.counts.iter().sum::<usize>() / MAX_PARTS);
        let (mut start, mut sum) = (self.left, 0);
        while let Some(count) = start.checked_sub(1).and_then(|node| self.counts.get(node)) {
            if sum > 0 && sum + count > most {
                break;
            }
            (start, sum) = (start - 1, sum + count);
        }
        let mut place = 0;
        sorted.ends.clear();
        // Until all are in their places this is where the next one goes.
        sorted.ends.extend(self.counts.iter().take(self.left).skip(start).map(|count| {
            place += count;
            place - count
        }));
        sorted.sources.clear();
        if sorted.sources.capacity() < sum {
            // To grow, it would be there twice.
            sorted.sources = Vec::new();
        }
        sorted.sources.resize(sum, 0);
        share.for_each(|node, source| {
            let Some(next) = sorted.ends.get_mut(node.wrapping_sub(start)) else { return };
            sorted.sources.get_mut(*next).into_iter().for_each(|place| *place = source);
            *next += 1;
        });
        sorted.first = (self.shares.len() - 1) * NODES + start;
        self.left = start;
        if start == 0 {
            self.shares.pop();
        }
        true
    }

    /// Counts the references to the nodes of the last share.
    fn open(&mut self) {
        let Some(share) = self.shares.last() else { return };
        self.counts.clear();
        self.counts.resize(NODES, 0);
        share.for_each(|node, _| self.counts.get_mut(node).into_iter().for_each(|count| *count += 1));
        self.left = NODES;
    }
}

/// References to consecutive nodes, by node.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// The first of these nodes.
    pub(super) first: usize,
    pub(super) sources: Vec<u32>,
    ends: Vec<usize>,
}

impl Sorted {
    /// All these nodes.
    pub(super) fn nodes(&self) -> Range<usize> {
        self.first..self.first + self.ends.len()
    }

    /// The places of the sources of one of them.
    #[inline]
    pub(super) fn places(&self, node: usize) -> Range<usize> {
        let end = |index: usize| self.ends.get(index).copied().unwrap_or_default();
        let index = node - self.first;
        index.checked_sub(1).map_or(0, end)..end(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_its_sources() {
        let nodes = 3 * NODES;
        let mut rng = fastrand::Rng::with_seed(1);
        let mut backward = Backward::new(nodes);
        let mut expected = vec![Vec::new(); nodes];
        // Steps of all sizes, and several references of one source.
        let mut source = 0;
        for _ in 0..200_000 {
            source += if rng.u8(..) == 0 { rng.u32(..LARGE_STEP / 20) } else { rng.u32(..3) };
            let target = rng.usize(..nodes);
            backward.push(source, target as u32);
            expected[target].push(source);
        }
        for (source, target) in [(u32::MAX - LARGE_STEP, 7), (u32::MAX - 1, 7), (u32::MAX, 7)] {
            backward.push(source, target);
            expected[target as usize].push(source);
        }
        let mut sorted = Sorted::default();
        let mut seen = 0;
        while backward.pop(&mut sorted) {
            for node in sorted.nodes().filter(|node| *node < nodes).rev() {
                assert_eq!(&sorted.sources[sorted.places(node)], expected[node]);
                seen += 1;
            }
        }
        assert_eq!(seen, nodes);
    }
}
