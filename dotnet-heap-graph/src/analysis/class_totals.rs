//! What there is of each class, and what it retains.

use crate::dominators::{Amount, Dominators};
use crate::graph::Graph;

/// Sums over the objects of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTotals {
    /// The class: its place in [`Graph::classes`].
    pub class: u32,
    /// All its objects.
    pub all: Amount,
    /// Those that a root keeps alive.
    pub reachable: Amount,
    /// What its objects retain: the sum over those that no other object of the class dominates. What several objects of the
    /// class keep alive together, but none of them alone, is not in it.
    pub retained: Amount,
}

/// Adds up the objects of each class that has any. The class that retains most bytes comes first.
pub fn class_totals(graph: &Graph, dominators: &Dominators) -> Vec<ClassTotals> {
    let mut totals: Vec<ClassTotals> =
        (0..graph.classes().len() as u32).map(|class| ClassTotals { class, ..Default::default() }).collect();
    for object in 0..graph.len() {
        let Some(sums) = totals.get_mut(graph.class_of(object) as usize) else { continue };
        sums.all += Amount::one(graph.size_bytes(object));
    }
    // The end of the part of the tree that the last counted object of each class dominates.
    let mut counted = vec![0; totals.len()];
    for entry in dominators.in_order() {
        let class = graph.class_of(entry.object) as usize;
        let (Some(sums), Some(end)) = (totals.get_mut(class), counted.get_mut(class)) else { continue };
        sums.reachable += Amount::one(graph.size_bytes(entry.object));
        if entry.position >= *end {
            sums.retained += entry.retained;
            *end = entry.end;
        }
    }
    totals.retain(|sums| sums.all.objects > 0);
    totals.sort_by_key(|sums| (std::cmp::Reverse((sums.retained.bytes, sums.all.bytes)), sums.class));
    totals
}
