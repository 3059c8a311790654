//! The graph that dominators are computed of: the objects, above them a node for each kind of root, and one above all.

use crate::graph::{Graph, RootKind};

/// Nodes below `objects` are objects. Then comes the node above all, then the kinds of roots.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    graph: &'a Graph,
    objects: u32,
    kinds: Vec<u32>,
    /// For each kind the objects that roots of this kind refer to.
    held: Vec<Vec<u32>>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let mut held = vec![Vec::new(); RootKind::ALL.len()];
        for root in graph.roots().iter().filter(|root| !root.is_weak && root.object < graph.len()) {
            held.get_mut(root.kind as usize).into_iter().for_each(|objects| objects.push(root.object));
        }
        for objects in &mut held {
            objects.sort_unstable();
            objects.dedup();
        }
        let objects = graph.len();
        let kinds = (0..).zip(&held).filter(|(_, held)| !held.is_empty());
        let kinds = kinds.map(|(kind, _): (u32, _)| objects + 1 + kind).collect();
        Self { graph, objects, kinds, held }
    }

    /// The node above all.
    pub(super) fn top(&self) -> u32 {
        self.objects
    }

    /// How many numbers nodes have.
    pub(super) fn len(&self) -> usize {
        self.objects as usize + 1 + self.held.len()
    }

    #[inline]
    pub(super) fn successors(&self, node: u32) -> &[u32] {
        if node < self.objects {
            return self.graph.references(node);
        }
        match (node - self.objects).checked_sub(1) {
            None => &self.kinds,
            Some(kind) => self.held.get(kind as usize).map_or(&[], Vec::as_slice),
        }
    }

    /// The size of a node in bytes: that of an object.
    pub(super) fn size_bytes(&self, node: u32) -> u64 {
        self.graph.size_bytes(node)
    }
}

/// The number of the node of a kind of root, less that of the node above all.
pub(super) fn kind_number(kind: RootKind) -> u32 {
    1 + kind as u32
}
