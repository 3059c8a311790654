//! Which objects a root keeps alive.

use crate::dominators::Dominators;
use crate::graph::Graph;

/// Says which objects a root keeps alive: [`Dominators`] and [`Paths`](super::Paths) do. What asks only for this need not wait
/// for the dominators, which take longer.
pub trait Reachability: Sync {
    /// Whether a root keeps the object alive.
    fn is_reachable(&self, object: u32) -> bool;
}

impl Reachability for Dominators {
    fn is_reachable(&self, object: u32) -> bool {
        Dominators::is_reachable(self, object)
    }
}

/// A bit for each object.
#[derive(Debug)]
pub(super) struct Reached(Vec<u64>);

impl Reached {
    /// None yet, of so many objects.
    pub(super) fn none(objects: u32) -> Self {
        Self(vec![0; objects as usize / 64 + 1])
    }

    /// All objects that a root keeps alive.
    pub(super) fn all(graph: &Graph) -> Self {
        Self::search(graph, |object| (graph.references(object), None.into_iter()))
    }

    /// All objects that a root keeps alive without dependent handles.
    pub(super) fn without_handles(graph: &Graph) -> Self {
        Self::search(graph, |object| {
            let references = graph.references(object);
            let edges = graph.edges_of(object);
            let (fields, _) = references.split_at(references.len().saturating_sub(edges.len()));
            (fields, edges.iter().filter(|edge| edge.handle.is_none()).map(|edge| edge.to))
        })
    }

    fn search<'g, I: Iterator<Item = u32>>(
        graph: &'g Graph,
        references: impl Fn(u32) -> (&'g [u32], I),
    ) -> Self {
        let mut found = Self::none(graph.len());
        let strong = graph.roots().iter().filter(|root| !root.is_weak);
        let mut open: Vec<u32> = strong.map(|root| root.object).collect();
        open.retain(|object| found.insert(*object));
        while let Some(object) = open.pop() {
            let (some, others) = references(object);
            for to in some.iter().copied().chain(others) {
                if found.insert(to) {
                    open.push(to);
                }
            }
        }
        found
    }

    #[inline]
    pub(super) fn contains(&self, object: u32) -> bool {
        self.0.get(object as usize / 64).is_some_and(|bits| bits & 1 << (object % 64) != 0)
    }

    /// `false` if it was there, or there is no such object.
    #[inline]
    pub(super) fn insert(&mut self, object: u32) -> bool {
        let Some(bits) = self.0.get_mut(object as usize / 64) else { return false };
        let is_new = *bits & 1 << (object % 64) == 0;
        *bits |= 1 << (object % 64);
        is_new
    }
}
