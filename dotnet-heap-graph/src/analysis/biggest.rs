//! The objects that retain most.

use std::cmp::Reverse;

use super::accumulation::{Accumulation, accumulation};
use super::statics::StaticArrays;
use crate::dominators::{Amount, Dominator, Dominators, Ordered};
use crate::graph::Graph;

/// How many classes are told of what an object dominates.
const MAX_CLASSES: usize = 20;

/// An object that retains much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Big {
    /// The object.
    pub object: u32,
    /// Its class: its place in [`Graph::classes`].
    pub class: u32,
    /// Its own size in bytes.
    pub own_bytes: u64,
    /// What it retains.
    pub retained: Amount,
    /// Where that comes together.
    pub accumulation: Accumulation,
}

/// The objects that retain most bytes, among those that no other object dominates.
///
/// Arrays in which the runtime keeps static fields do not count as objects here: those that they dominate come instead.
pub fn biggest(graph: &Graph, dominators: &Dominators, statics: &StaticArrays, count: usize) -> Vec<Big> {
    let mut largest: Vec<(u64, u32)> = Vec::new();
    for object in top(dominators, statics) {
        largest.push((object.retained.bytes, object.object));
        // Bounds the memory at a small cost for each object.
        if largest.len() >= count.saturating_mul(2).max(1000) {
            keep(&mut largest, count);
        }
    }
    keep(&mut largest, count);
    let objects = largest.into_iter().map(|(_, object)| Big {
        object,
        class: graph.class_of(object),
        own_bytes: graph.size_bytes(object),
        retained: dominators.retained(object),
        accumulation: accumulation(graph, dominators, object, MAX_CLASSES),
    });
    objects.collect()
}

fn keep(largest: &mut Vec<(u64, u32)>, count: usize) {
    largest.sort_unstable_by_key(|(bytes, object)| (Reverse(*bytes), *object));
    largest.truncate(count);
}

/// The objects that no other object dominates, but for arrays with static fields.
pub(crate) fn top(dominators: &Dominators, statics: &StaticArrays) -> impl Iterator<Item = Ordered> {
    let direct = dominators.ordered_top().filter(|object| !statics.contains(object.object));
    let arrays = statics.arrays().iter().filter(|array| {
        matches!(dominators.dominator(**array), Some(Dominator::Roots(_) | Dominator::AllRoots))
    });
    direct.chain(arrays.flat_map(|array| dominators.ordered_children(*array)))
}
