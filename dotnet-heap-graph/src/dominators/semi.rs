//! Immediate dominators with the algorithm Semi-NCA, from "Finding Dominators in Practice" (Georgiadis, Tarjan and Werneck).
//!
//! All numbers here are those of the depth-first search, where a dominator has a lower number than what it dominates. A
//! semidominator is the lowest number of a node from which a path leads here with only higher numbers between. A direct
//! reference from a lower number gives a candidate at once, which the search has found; so only references from higher
//! numbers have to be kept.

use super::backward::{Backward, Sorted};
use super::flow::Flow;
use super::groups::Groups;
use super::search::{Search, search};

/// The nodes that can be reached, and the number of the immediate dominator of each; that of the first one is itself.
#[derive(Debug)]
pub(super) struct Immediate {
    pub(super) order: Vec<u32>,
    pub(super) dominators: Vec<u32>,
}

pub(super) fn immediate(flow: &Flow<'_>) -> Immediate {
    let Search { order, parents, lowest_sources, backward } = search(flow);
    let semi = semidominators(backward, &parents, lowest_sources);
    Immediate { order, dominators: nearest_common(parents, &semi) }
}

/// So many references before its turn, what a reference comes from is loaded.
const SOON: usize = 24;
/// So many references before its turn, what the answer for it is found in is loaded.
const SOONER: usize = 8;

/// Makes the candidates for semidominators the true ones.
fn semidominators(mut backward: Backward, parents: &[u32], candidates: Vec<u32>) -> Vec<u32> {
    let mut groups = Groups::new(candidates);
    let mut sorted = Sorted::default();
    while backward.pop(&mut sorted) {
        // The first node of all has no semidominator.
        let nodes = sorted.nodes();
        let nodes = nodes.start.max(1)..nodes.end.min(parents.len());
        for (node, parent) in nodes.clone().zip(parents.get(nodes).unwrap_or_default()).rev() {
            let mut lowest = u32::MAX;
            for at in sorted.places(node) {
                // Nodes are far apart in memory, so the processor would wait for each.
                let source = |at: usize| sorted.sources.get(at).copied();
                source(at.wrapping_sub(SOON)).into_iter().for_each(|source| groups.load(source));
                source(at.wrapping_sub(SOONER)).into_iter().for_each(|source| groups.load_answer(source));
                lowest = lowest.min(source(at).map_or(u32::MAX, |source| groups.lowest(source)));
            }
            groups.link(node as u32, *parent, lowest);
        }
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
