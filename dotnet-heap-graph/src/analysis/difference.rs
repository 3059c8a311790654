//! What has changed between two graphs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt};

use super::class_totals::ClassTotals;
use crate::dominators::{Amount, Dominators};
use crate::graph::Graph;

/// What of a graph is compared. It is small, so one graph can go before the other is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    classes: BTreeMap<String, ClassAmounts>,
    held: BTreeMap<(String, String), Amount>,
}

/// The sums of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassAmounts {
    /// The objects that can be reached.
    pub reachable: Amount,
    /// What they retain, as [`ClassTotals::retained`](super::ClassTotals::retained) says.
    pub retained: Amount,
}

/// A class in two graphs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassDifference {
    /// The name of the class.
    pub class: String,
    /// Its sums in the first graph.
    pub before: ClassAmounts,
    /// Its sums in the second graph.
    pub after: ClassAmounts,
}

/// Objects of a class that objects of another class dominate immediately, in two graphs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderDifference {
    /// The name of the class.
    pub class: String,
    /// The name of the class of the objects that dominate them; empty if roots do.
    pub holder: String,
    /// The objects in the first graph.
    pub before: Amount,
    /// The objects in the second graph.
    pub after: Amount,
}

/// What has changed between two graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphDifference {
    /// All classes of both graphs, that which has grown most first, by the bytes of its objects.
    pub classes: Vec<ClassDifference>,
    /// Those with another number of objects or bytes, by the class of what dominates the objects.
    pub holders: Vec<HolderDifference>,
}

impl Snapshot {
    /// Takes from a graph and its [`class_totals`](super::class_totals) what is compared. Classes of one name are one class here, because each process has its own
    /// identifiers.
    pub fn new(graph: &Graph, dominators: &Dominators, totals: &[ClassTotals]) -> Self {
        let mut snapshot = Self::default();
        let name =
            |class: u32| graph.class(class).map(|class| class.label().into_owned()).unwrap_or_default();
        for sums in totals {
            let amounts = snapshot.classes.entry(name(sums.class)).or_default();
            amounts.reachable += sums.reachable;
            amounts.retained += sums.retained;
        }
        let mut held: HashMap<(u32, Option<u32>), Amount> = HashMap::new();
        for (object, dominator) in dominators.dominators_in_order() {
            let key = (graph.class_of(object), dominator.map(|holder| graph.class_of(holder)));
            *held.entry(key).or_default() += Amount::one(graph.size_bytes(object));
        }
        for ((class, holder), amount) in held {
            let key = (name(class), holder.map(name).unwrap_or_default());
            *snapshot.held.entry(key).or_default() += amount;
        }
        snapshot
    }

    /// What has changed since this one.
    pub fn difference(&self, after: &Self) -> GraphDifference {
        let mut classes: Vec<ClassDifference> = joined(&self.classes, &after.classes)
            .map(|(class, before, after)| ClassDifference { class: class.clone(), before, after })
            .collect();
        classes.sort_by_key(|found| Reverse(growth(found.before.reachable, found.after.reachable)));
        let mut holders: Vec<HolderDifference> = joined(&self.held, &after.held)
            .map(|((class, holder), before, after)| HolderDifference {
                class: class.clone(),
                holder: holder.clone(),
                before,
                after,
            })
            .filter(|found| found.before != found.after)
            .collect();
        holders.sort_by_key(|found| Reverse(growth(found.before, found.after)));
        GraphDifference { classes, holders }
    }
}

fn growth(before: Amount, after: Amount) -> i128 {
    i128::from(after.bytes) - i128::from(before.bytes)
}

/// All keys of both maps, with the values of both.
fn joined<'a, K: Ord, V: Copy + Default>(
    before: &'a BTreeMap<K, V>,
    after: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = (&'a K, V, V)> {
    let new = after.iter().filter(|(key, _)| !before.contains_key(*key));
    let old = before.iter().map(|(key, value)| (key, *value, after.get(key).copied().unwrap_or_default()));
    old.chain(new.map(|(key, value)| (key, V::default(), *value)))
}
