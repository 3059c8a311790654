//! Values in objects of their own.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::known::{derived, is_core};
use super::reachability::Reachability;
use super::referrers::{Referrer, referrers_of_groups};
use crate::dominators::Amount;
use crate::graph::Graph;

/// So many classes are told that refer to values of a class.
const MAX_HOLDERS: usize = 10;

/// Values of one type, each in an object of its own because a reference to it was needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoxedValues {
    /// The class of the objects: its place in [`Graph::classes`].
    pub class: u32,
    /// The objects.
    pub values: Amount,
    /// The classes whose objects refer to them.
    pub holders: Vec<Referrer>,
}

/// Finds values in objects of their own, that is, objects of classes with the base class `System.ValueType` or `System.Enum`,
/// among those that can be reached: those of the `count` classes with most bytes, most first.
pub fn boxed_values(graph: &Graph, reachable: &impl Reachability, count: usize) -> Vec<BoxedValues> {
    let is_value =
        derived(graph, |class| is_core(class, "System", "ValueType") || is_core(class, "System", "Enum"));
    let objects = || (0..graph.len()).filter(|object| reachable.is_reachable(*object));
    let mut sums: HashMap<u32, Amount> = HashMap::new();
    for object in objects() {
        let class = graph.class_of(object);
        if is_value.get(class as usize) == Some(&true) {
            *sums.entry(class).or_default() += Amount::one(graph.size_bytes(object));
        }
    }
    let mut sums: Vec<(u32, Amount)> = sums.into_iter().collect();
    sums.sort_by_key(|(class, amount)| (Reverse(amount.bytes), *class));
    sums.truncate(count);
    let mut wanted = vec![false; graph.classes().len()];
    for (class, _) in &sums {
        wanted.get_mut(*class as usize).into_iter().for_each(|is| *is = true);
    }
    let from = objects().filter(|_| !sums.is_empty());
    let mut found = referrers_of_groups(graph, from, |object| {
        let class = graph.class_of(object);
        wanted.get(class as usize).is_some_and(|is| *is).then_some(class)
    });
    let of_class = sums.into_iter().map(|(class, values)| {
        let mut holders = found.remove(&class).unwrap_or_default();
        holders.truncate(MAX_HOLDERS);
        BoxedValues { class, values, holders }
    });
    of_class.collect()
}
