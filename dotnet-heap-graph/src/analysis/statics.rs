//! Static fields: the arrays that have them, and what they refer to.

use std::collections::HashMap;

use super::reachability::Reached;
use crate::error::Result;
use crate::format::StaticName;
use crate::graph::Graph;

/// The arrays in which the runtime keeps static fields. They are no objects of the program, and would stand before all that
/// static fields retain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticArrays {
    arrays: Vec<u32>,
}

impl StaticArrays {
    /// Finds the arrays that have static fields with names.
    pub fn new(graph: &Graph) -> Self {
        let mut arrays: Vec<u32> =
            graph.statics().iter().filter_map(|field| graph.object_around(field.slot)).collect();
        arrays.sort_unstable();
        arrays.dedup();
        Self { arrays }
    }

    /// Whether an object is such an array.
    pub fn contains(&self, object: u32) -> bool {
        self.arrays.binary_search(&object).is_ok()
    }

    /// All of them.
    pub fn arrays(&self) -> &[u32] {
        &self.arrays
    }

    /// The objects that static fields refer to, each with the first of these fields; without those in arrays that no root keeps
    /// alive. This reads a frame of the file for each array.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn targets<'g>(&self, graph: &'g Graph) -> Result<HashMap<u32, &'g StaticName>> {
        let mut targets = HashMap::new();
        for array in self.reachable(graph) {
            let address = graph.address(array);
            graph.for_each_reference(array, |reference| {
                let slot = address.wrapping_add(reference.offset_bytes);
                if let Some(field) = graph.static_at(slot)
                    && let Some(object) = graph.object_at(reference.target)
                {
                    targets.entry(object).or_insert(field);
                }
                true
            })?;
        }
        Ok(targets)
    }

    /// Those that a root keeps alive.
    fn reachable(&self, graph: &Graph) -> Vec<u32> {
        let mut is_held = vec![false; self.arrays.len()];
        for root in graph.roots().iter().filter(|root| !root.is_weak) {
            let array = self.arrays.binary_search(&root.object).ok();
            array.and_then(|array| is_held.get_mut(array)).into_iter().for_each(|is_held| *is_held = true);
        }
        // Mostly each has a handle. To find others takes a look at all references.
        if is_held.iter().all(|is_held| *is_held) {
            return self.arrays.clone();
        }
        let reached = Reached::all(graph);
        self.arrays.iter().copied().filter(|array| reached.contains(*array)).collect()
    }
}
