//! Immediate dominators with the algorithm Semi-NCA, from "Finding Dominators in Practice" (Georgiadis, Tarjan and Werneck).
//!
//! All numbers here are those of the depth-first search, where a dominator has a lower number than what it dominates. A
//! semidominator is the lowest number of a node from which a path leads here with only higher numbers between. A direct
//! reference from a lower number gives a candidate at once, which the search has found; so only references from higher
//! numbers have to be kept.

use std::ops::Range;

use super::flow::Flow;
use super::groups::Groups;
use super::pieces::Pieces;
use super::search::{NONE, Search, search};
use crate::graph::Offset;

/// The nodes that can be reached, and the number of the immediate dominator of each; that of the first one is itself.
#[derive(Debug)]
pub(super) struct Immediate {
    pub(super) order: Vec<u32>,
    pub(super) dominators: Vec<u32>,
}

pub(super) fn immediate(flow: &Flow<'_>) -> Immediate {
    if u32::try_from(flow.reference_count()).is_ok() {
        immediate_with::<u32>(flow)
    } else {
        immediate_with::<u64>(flow)
    }
}

fn immediate_with<T: Offset>(flow: &Flow<'_>) -> Immediate {
    let Search { order, parents, lowest_sources, backward, numbers } = search::<T>(flow);
    let backward = Backward::new(flow, &numbers, backward);
    drop(numbers);
    let semi = semidominators(backward, &parents, lowest_sources);
    Immediate { order, dominators: nearest_common(parents, &semi) }
}

/// So many references before its turn, what a reference comes from is loaded.
const SOON: usize = 24;
/// So many references before its turn, what the answer for it is found in is loaded.
const SOONER: usize = 8;

/// References from higher to lower numbers, by the lower one.
struct Backward<T> {
    /// Where the references to each node begin.
    starts: Vec<T>,
    sources: Pieces,
}

impl<T: Offset> Backward<T> {
    /// `starts` has at first how many references each node has.
    fn new(flow: &Flow<'_>, numbers: &[u32], mut starts: Vec<T>) -> Self {
        let mut sum = 0;
        for start in &mut starts {
            sum += start.to_u64();
            *start = T::from_u64(sum);
        }
        let mut sources = Pieces::new(sum as usize);
        // In the order of the nodes, not of the search: so the references are read from the first to the last. Each start is
        // still the end of its references, and goes back as they come.
        for (node, from) in (0..).zip(numbers).filter(|(_, from)| **from != NONE) {
            for to in flow.successors(node) {
                let to = numbers.get(*to as usize).copied().unwrap_or(NONE);
                let Some(start) = starts.get_mut(to as usize).filter(|_| *from > to) else { continue };
                *start = T::from_u64(start.to_u64().saturating_sub(1));
                sources.set(start.to_u64() as usize, *from);
            }
        }
        Self { starts, sources }
    }

    /// The places of the references to a node.
    #[inline]
    fn to(&self, node: usize) -> Range<usize> {
        match self.starts.get(node..) {
            Some([start, end, ..]) => start.to_u64() as usize..end.to_u64() as usize,
            _ => 0..0,
        }
    }
}

/// Makes the candidates for semidominators the true ones.
fn semidominators<T: Offset>(mut backward: Backward<T>, parents: &[u32], candidates: Vec<u32>) -> Vec<u32> {
    let mut groups = Groups::new(candidates);
    for (node, parent) in parents.iter().enumerate().skip(1).rev() {
        let mut lowest = u32::MAX;
        let places = backward.to(node);
        for at in places.clone() {
            // Nodes are far apart in memory, so the processor would wait for each.
            backward.sources.get(at.wrapping_sub(SOON)).into_iter().for_each(|source| groups.load(source));
            let next = backward.sources.get(at.wrapping_sub(SOONER));
            next.into_iter().for_each(|source| groups.load_answer(source));
            let found = backward.sources.get(at).map_or(u32::MAX, |source| groups.lowest(source));
            lowest = lowest.min(found);
        }
        groups.link(node as u32, *parent, lowest);
        backward.sources.truncate(places.start);
    }
    groups.into_semidominators()
}

/// The immediate dominator is the nearest node above, in the tree of the search, that is not below the semidominator.
fn nearest_common(mut parents: Vec<u32>, semi: &[u32]) -> Vec<u32> {
    let at = |parents: &[u32], node: u32| parents.get(node as usize).copied().unwrap_or_default();
    for (node, limit) in (0..).zip(semi).skip(1) {
        let mut dominator = at(&parents, node);
        while dominator > *limit {
            dominator = at(&parents, dominator);
        }
        if let Some(place) = parents.get_mut(node as usize) {
            *place = dominator;
        }
    }
    parents
}
