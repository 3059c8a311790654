//! What is kept alive only by the list of finalizers, or only by dependent handles.

use super::accumulation::{ClassShare, by_class};
use super::reachability::Reached;
use crate::dominators::{Amount, Dominator, Dominators};
use crate::graph::{Graph, RootKind};

/// Objects that only one thing keeps alive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// How many roots or handles of this kind there are.
    pub count: u64,
    /// All objects that nothing else keeps alive.
    pub kept: Amount,
    /// Those that are kept at first hand, by class, with what they retain; that which retains most first.
    pub classes: Vec<ClassShare>,
}

/// What would be garbage if no object waited for its finalizer.
pub fn kept_by_finalizers(graph: &Graph, dominators: &Dominators) -> Kept {
    let count = graph.roots().iter().filter(|root| root.kind == RootKind::Finalizer && !root.is_weak).count();
    Kept {
        count: count as u64,
        kept: dominators.retained_by_roots(RootKind::Finalizer),
        classes: by_class(graph, dominators.ordered_top_of(RootKind::Finalizer)),
    }
}

/// What would be garbage without dependent handles, which `ConditionalWeakTable` has.
pub fn kept_by_dependent_handles(graph: &Graph, dominators: &Dominators) -> Kept {
    let handles = || graph.edges().iter().filter(|edge| edge.handle.is_some());
    let count = handles().count() as u64;
    if count == 0 {
        return Kept::default();
    }
    let without = Reached::without_handles(graph);
    let is_kept = |object: u32| dominators.is_reachable(object) && !without.contains(object);
    let kept = (0..graph.len()).filter(|object| is_kept(*object));
    let amounts = kept.map(|object| Amount::one(graph.size_bytes(object)));
    let mut first: Vec<u32> = handles().map(|edge| edge.to).filter(|object| is_kept(*object)).collect();
    first.sort_unstable();
    first.dedup();
    // What the target of another handle dominates is counted there.
    let is_inner = |object: u32| {
        let above = |object: &u32| match dominators.dominator(*object) {
            Some(Dominator::Object(above)) if is_kept(above) => Some(above),
            _ => None,
        };
        std::iter::successors(above(&object), above)
            .take(MAX_LEVELS)
            .any(|above| first.binary_search(&above).is_ok())
    };
    let outer = first.iter().copied().filter(|object| !is_inner(*object));
    Kept {
        count,
        kept: amounts.sum(),
        classes: by_class(graph, outer.filter_map(|object| dominators.ordered(object))),
    }
}

/// So many dominators of a target are looked at for the target of another handle.
const MAX_LEVELS: usize = 1000;
