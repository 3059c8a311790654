//! All objects, by generation, and those that can be reached.

use super::reachability::Reachability;
use crate::dominators::Amount;
use crate::graph::{Generation, Graph};

/// Sums over all objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All objects of the file.
    pub all: Amount,
    /// Those that a root keeps alive. The others are garbage that no collection has freed yet.
    pub reachable: Amount,
    /// The same for each generation that has objects, in the order of [`Generation::ALL`].
    pub generations: Vec<GenerationTotals>,
}

/// Sums over the objects of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerationTotals {
    /// The generation.
    pub generation: Generation,
    /// All its objects.
    pub all: Amount,
    /// Those that a root keeps alive.
    pub reachable: Amount,
}

/// Adds up all objects.
pub fn totals(graph: &Graph, reachable: &impl Reachability) -> Totals {
    let mut generations = Generation::ALL.map(|generation| GenerationTotals {
        generation,
        all: Amount::default(),
        reachable: Amount::default(),
    });
    for (objects, generation) in graph.generation_parts() {
        let Some(sums) = generations.iter_mut().find(|sums| sums.generation == generation) else { continue };
        for object in objects {
            let amount = Amount::one(graph.size_bytes(object));
            sums.all += amount;
            if reachable.is_reachable(object) {
                sums.reachable += amount;
            }
        }
    }
    Totals {
        all: generations.iter().map(|sums| sums.all).sum(),
        reachable: generations.iter().map(|sums| sums.reachable).sum(),
        generations: generations.into_iter().filter(|sums| sums.all.objects > 0).collect(),
    }
}
