//! The tree of dominators, with what each object retains.

use super::amount::Amount;
use super::flow::kind_number;
use super::search::NONE;
use crate::graph::RootKind;

/// Who dominates whom: an object dominates another if every path from the roots to the other leads through it. Then it
/// retains it: without the one, the other would be garbage.
///
/// Weak roots keep nothing. A dependent handle is taken for a reference from its source to its target.
///
/// Objects have positions in the tree: behind each object come all those that it dominates.
#[derive(Debug)]
pub struct Dominators {
    pub(super) objects: u32,
    /// The node at each position. Beside the objects there are one above all, and one for each kind of root that there is.
    pub(super) nodes: Vec<u32>,
    /// How many nodes are no objects.
    pub(super) others: usize,
    /// Behind the last position that a position dominates.
    pub(super) ends: Vec<u32>,
    /// The position of the immediate dominator.
    pub(super) parents: Vec<u32>,
    /// Bytes of all positions before each one; one longer than the others.
    pub(super) bytes_before: Vec<u64>,
    /// The position of each node, or [`NONE`].
    pub(super) positions: Vec<u32>,
}

/// What dominates an object immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dominator {
    /// Another object.
    Object(u32),
    /// Roots of one kind, though no object that one of them refers to.
    Roots(RootKind),
    /// Roots of several kinds, though not those of one of them alone.
    AllRoots,
}

impl Dominators {
    /// Whether a root keeps the object alive.
    pub fn is_reachable(&self, object: u32) -> bool {
        self.position(object).is_some()
    }

    /// How many objects can be reached, and their bytes.
    pub fn reachable(&self) -> Amount {
        self.retained_at(0)
    }

    /// What would be garbage without the object, with itself. Nothing if it cannot be reached.
    pub fn retained(&self, object: u32) -> Amount {
        self.position(object).map_or(Amount::default(), |position| self.retained_at(position))
    }

    /// The bytes of [`retained`](Self::retained).
    pub fn retained_bytes(&self, object: u32) -> u64 {
        self.retained(object).bytes
    }

    /// What would be garbage without all roots of a kind.
    pub fn retained_by_roots(&self, kind: RootKind) -> Amount {
        let position = self.positions.get((self.objects + kind_number(kind)) as usize).copied();
        position.filter(|position| *position != NONE).map_or(Amount::default(), |at| self.retained_at(at))
    }

    /// What dominates an object immediately. `None` if it cannot be reached.
    pub fn dominator(&self, object: u32) -> Option<Dominator> {
        let parent = *self.parents.get(self.position(object)? as usize)?;
        let node = *self.nodes.get(parent as usize)?;
        if node < self.objects {
            return Some(Dominator::Object(node));
        }
        let kind = RootKind::ALL.into_iter().find(|kind| kind_number(*kind) == node - self.objects);
        Some(kind.map_or(Dominator::AllRoots, Dominator::Roots))
    }

    /// Whether an object dominates another; each that can be reached dominates itself.
    pub fn dominates(&self, object: u32, other: u32) -> bool {
        match (self.position(object), self.position(other)) {
            (Some(above), Some(below)) => above <= below && below < self.end(above),
            _ => false,
        }
    }

    /// The objects that an object dominates immediately.
    pub fn children(&self, object: u32) -> impl Iterator<Item = u32> {
        self.ordered_children(object).map(|child| child.object)
    }

    /// The same, with what they retain.
    pub fn ordered_children(&self, object: u32) -> impl Iterator<Item = Ordered> {
        self.position(object).into_iter().flat_map(|position| self.children_at(position))
    }

    /// The objects that roots of one kind alone keep alive, and that no other object dominates, with what they retain.
    pub fn ordered_top_of(&self, kind: RootKind) -> impl Iterator<Item = Ordered> {
        let position = self.positions.get((self.objects + kind_number(kind)) as usize).copied();
        position.filter(|at| *at != NONE).into_iter().flat_map(|at| self.children_at(at))
    }

    /// An object with what it retains. `None` if it cannot be reached.
    pub fn ordered(&self, object: u32) -> Option<Ordered> {
        self.position(object).map(|position| self.ordered_at(position))
    }

    /// The objects that no other object dominates.
    pub fn top(&self) -> impl Iterator<Item = u32> {
        self.ordered_top().map(|object| object.object)
    }

    /// The same, with what they retain.
    pub fn ordered_top(&self) -> impl Iterator<Item = Ordered> {
        let is_object = |node: &Ordered| node.object < self.objects;
        let kinds = self.children_at(0).filter(move |node| !is_object(node));
        let of_kinds = kinds.flat_map(|kind| self.children_at(kind.position));
        of_kinds.chain(self.children_at(0).filter(is_object))
    }

    /// All objects that can be reached, each before those that it dominates, with what they retain and the end of their part
    /// of this order.
    pub fn in_order(&self) -> impl Iterator<Item = Ordered> {
        (0..self.nodes.len() as u32)
            .map(|position| self.ordered_at(position))
            .filter(|at| at.object < self.objects)
    }

    /// Each object of [`in_order`](Self::in_order) with the object that dominates it immediately, if one does.
    pub(crate) fn dominators_in_order(&self) -> impl Iterator<Item = (u32, Option<u32>)> {
        let pairs = self.nodes.iter().zip(&self.parents).filter(|(node, _)| **node < self.objects);
        pairs.map(|(node, parent)| {
            let above = self.nodes.get(*parent as usize).copied();
            (*node, above.filter(|above| *above < self.objects))
        })
    }

    fn children_at(&self, position: u32) -> impl Iterator<Item = Ordered> {
        let end = self.end(position);
        let first = Some(position + 1).filter(|first| *first < end);
        let places = std::iter::successors(first, move |at| {
            Some(self.end(*at)).filter(|next| *next < end && next > at)
        });
        places.map(|at| self.ordered_at(at))
    }

    fn ordered_at(&self, position: u32) -> Ordered {
        Ordered {
            object: get(&self.nodes, position),
            position,
            end: self.end(position),
            retained: self.retained_at(position),
        }
    }

    fn position(&self, object: u32) -> Option<u32> {
        let position = self.positions.get(object as usize).copied();
        position.filter(|position| *position != NONE && object < self.objects)
    }

    fn end(&self, position: u32) -> u32 {
        self.ends.get(position as usize).copied().unwrap_or_default()
    }

    fn retained_at(&self, position: u32) -> Amount {
        let end = self.end(position);
        let before = |at: u32| self.bytes_before.get(at as usize).copied().unwrap_or_default();
        let others = match self.nodes.get(position as usize) {
            _ if position == 0 => self.others,
            Some(node) if *node >= self.objects => 1,
            _ => 0,
        };
        Amount {
            objects: u64::from(end.saturating_sub(position)).saturating_sub(others as u64),
            bytes: before(end).saturating_sub(before(position)),
        }
    }
}

fn get(list: &[u32], at: u32) -> u32 {
    list.get(at as usize).copied().unwrap_or_default()
}

/// An object in the order of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The object.
    pub object: u32,
    /// Its position.
    pub position: u32,
    /// Behind the position of the last one that it dominates.
    pub end: u32,
    /// What it retains.
    pub retained: Amount,
}
