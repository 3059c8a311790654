//! Where what an object retains comes together.

use std::collections::HashSet;

use crate::dominators::{Amount, Dominators, Ordered};
use crate::graph::Graph;

/// One object retains nearly all of another if it retains this share of it, in percent.
const NEARLY_ALL_PERCENT: u128 = 80;

/// The object down from another where what that retains is spread over many: a collection, mostly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accumulation {
    /// The object.
    pub object: u32,
    /// What it retains.
    pub retained: Amount,
    /// The way down to it in the tree of dominators: from the other object to this one, both included.
    pub way: Vec<u32>,
    /// What it dominates immediately, by class, that which retains most bytes first.
    pub children: Vec<ClassShare>,
}

/// Objects of one class that another object dominates immediately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassShare {
    /// The class: its place in [`Graph::classes`].
    pub class: u32,
    /// How many objects of the class, and their own size.
    pub own: Amount,
    /// What they retain.
    pub retained: Amount,
    /// The one that retains most.
    pub biggest: u32,
}

/// Goes down from an object, as long as one of the objects that it dominates retains nearly everything, and is of a class
/// that was not on the way yet. So it stops at the head of a list, whose next node retains nearly everything, too.
pub fn accumulation(graph: &Graph, dominators: &Dominators, object: u32, max_classes: usize) -> Accumulation {
    let mut way = vec![object];
    let mut classes = HashSet::from([graph.class_of(object)]);
    let mut at = object;
    loop {
        let largest = dominators.ordered_children(at).max_by_key(|child| child.retained.bytes);
        let Some(child) = largest else { break };
        let needed = u128::from(dominators.retained_bytes(at)) * NEARLY_ALL_PERCENT;
        let is_nearly_all = u128::from(child.retained.bytes) * 100 >= needed;
        if !is_nearly_all || !classes.insert(graph.class_of(child.object)) {
            break;
        }
        way.push(child.object);
        at = child.object;
    }
    let mut children = by_class(graph, dominators.ordered_children(at));
    children.truncate(max_classes);
    Accumulation { object: at, retained: dominators.retained(at), way, children }
}

/// Groups objects of which none dominates another by class, the class that retains most bytes first.
pub(crate) fn by_class(graph: &Graph, objects: impl Iterator<Item = Ordered>) -> Vec<ClassShare> {
    let mut shares: Vec<(ClassShare, u64)> = Vec::new();
    for Ordered { object, retained, .. } in objects {
        let class = graph.class_of(object) as usize;
        if class >= shares.len() {
            shares.resize(class + 1, Default::default());
        }
        let Some((share, biggest_bytes)) = shares.get_mut(class) else { continue };
        share.own += Amount::one(graph.size_bytes(object));
        share.retained += retained;
        if retained.bytes > *biggest_bytes {
            (share.biggest, *biggest_bytes) = (object, retained.bytes);
        }
    }
    let of_class = (0..).zip(shares).map(|(class, (share, _))| ClassShare { class, ..share });
    let mut shares: Vec<ClassShare> = of_class.filter(|share| share.own.objects > 0).collect();
    shares.sort_by_key(|share| (std::cmp::Reverse(share.retained.bytes), share.class));
    shares
}
