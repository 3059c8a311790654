//! Objects that only delegates keep alive: mostly those that have subscribed to an event and never left.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::known::{derived, is_core};
use crate::dominators::{Amount, Dominators, Ordered};
use crate::graph::Graph;

/// Objects of one class that delegates of one class keep alive, and nothing else does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelegateTargets {
    /// The class of the delegates: its place in [`Graph::classes`].
    pub delegate: u32,
    /// The class of the objects: its place in [`Graph::classes`].
    pub target: u32,
    /// The objects that such delegates dominate immediately.
    pub targets: Amount,
    /// What they retain.
    pub retained: Amount,
    /// The one that retains most.
    pub biggest: u32,
}

/// Finds the objects that only delegates keep alive, by class of delegate and object: the `count` pairs that retain most
/// bytes, most first. Other delegates, and the arrays that a delegate with several targets has, do not count as objects.
pub fn delegate_targets(graph: &Graph, dominators: &Dominators, count: usize) -> Vec<DelegateTargets> {
    let is_delegate = derived(graph, |class| is_core(class, "System", "MulticastDelegate"));
    let is_inner = |class: u32| {
        is_delegate.get(class as usize) == Some(&true)
            || graph.class(class).is_none_or(|class| class.record.is_array())
    };
    let mut pairs: HashMap<(u32, u32), DelegateTargets> = HashMap::new();
    for entry in dominators.in_order() {
        let delegate = graph.class_of(entry.object);
        if is_delegate.get(delegate as usize) != Some(&true) {
            continue;
        }
        for Ordered { object, retained, .. } in dominators.ordered_children(entry.object) {
            let target = graph.class_of(object);
            if is_inner(target) {
                continue;
            }
            let first = DelegateTargets { delegate, target, biggest: object, ..Default::default() };
            let sums = pairs.entry((delegate, target)).or_insert(first);
            sums.targets += Amount::one(graph.size_bytes(object));
            sums.retained += retained;
            if retained.bytes > dominators.retained_bytes(sums.biggest) {
                sums.biggest = object;
            }
        }
    }
    let mut pairs: Vec<DelegateTargets> = pairs.into_values().collect();
    pairs.sort_by_key(|sums| (Reverse(sums.retained.bytes), sums.delegate, sums.target));
    pairs.truncate(count);
    pairs
}
