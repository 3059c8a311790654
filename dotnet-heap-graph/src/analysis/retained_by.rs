//! What dominates an object, up to a root.

use super::fold::{Step, fold};
use crate::dominators::{Dominator, Dominators};
use crate::graph::Graph;

/// The objects that each keep an object alive on their own, from the one next to a root to the object itself; and what
/// dominates the first of them. `None` if the object cannot be reached.
pub fn retained_by(graph: &Graph, dominators: &Dominators, object: u32) -> Option<(Dominator, Vec<Step>)> {
    let mut way = vec![object];
    let mut dominator = dominators.dominator(object)?;
    while let Dominator::Object(above) = dominator {
        way.push(above);
        dominator = dominators.dominator(above)?;
    }
    way.reverse();
    Some((dominator, fold(graph, &way).into_iter().map(|(step, _)| step).collect()))
}
