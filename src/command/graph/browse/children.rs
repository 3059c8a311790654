//! The rows below a row of the tree of dominators.

use std::cmp::Reverse;
use std::collections::HashMap;

use dotnet_heap_graph::Amount;

use super::heap::Heap;
use super::ranked::{Page, Rank};

/// Up to so many objects are shown one by one; more are grouped by class.
pub(super) const MAX_UNGROUPED: usize = 100;
/// So many rows are loaded at once.
pub(super) const PAGE: usize = 100;

/// What a row of the tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Object(u32),
    /// The objects of a class among the children of an object, or among those of the roots.
    Group {
        parent: Option<u32>,
        class: u32,
        objects: u64,
    },
    /// Stands for the rows that are not loaded yet.
    More {
        of: Members,
        from: From,
        left: u64,
    },
}

/// Whose children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Members {
    /// `None`: the roots.
    pub(super) parent: Option<u32>,
    /// Only those of this class.
    pub(super) class: Option<u32>,
}

/// Where the rows that are not loaded begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Object(Rank),
    Group(usize),
}

/// A row that was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) node: Node,
    pub(super) retained: Amount,
}

/// Sums over the objects of a class that have the same parent.
#[derive(Clone, Copy)]
struct Group {
    class: u32,
    objects: u64,
    retained: Amount,
    /// One of them.
    example: u32,
}

impl Members {
    pub(super) const OF_ROOTS: Members = Members { parent: None, class: None };

    pub(super) fn of(object: u32) -> Members {
        Members { parent: Some(object), class: None }
    }

    /// Loads the first rows, or those that come next.
    pub(super) fn load(self, heap: &Heap<'_>, from: Option<From>) -> Vec<Child> {
        let groups = match from {
            Some(From::Group(_)) => true,
            Some(From::Object(_)) => false,
            None => self.class.is_none() && heap.children(self.parent).nth(MAX_UNGROUPED).is_some(),
        };
        match from {
            _ if !groups => self.objects(heap, from),
            Some(From::Group(skip)) => self.groups(heap, skip),
            _ => self.groups(heap, 0),
        }
    }

    fn objects(self, heap: &Heap<'_>, from: Option<From>) -> Vec<Child> {
        let after = match from {
            Some(From::Object(rank)) => Some(rank),
            _ => None,
        };
        let is_member = |object: &u32| self.class.is_none_or(|class| heap.class_of(*object) == class);
        let ranks = heap.children(self.parent).filter(is_member).map(|object| heap.rank(object));
        let page = Page::behind(after, PAGE, ranks);
        let child =
            |rank: &Rank| Child { node: Node::Object(rank.object), retained: heap.retained(rank.object) };
        let mut rows: Vec<Child> = page.ranks.iter().map(child).collect();
        if let Some(last) = page.ranks.last().filter(|_| page.after() > 0) {
            let node = Node::More { of: self, from: From::Object(*last), left: page.after() };
            rows.push(Child { node, retained: Amount::default() });
        }
        rows
    }

    fn groups(self, heap: &Heap<'_>, skip: usize) -> Vec<Child> {
        let groups = by_class(heap, self.parent);
        let child = |group: &Group| Child {
            node: match group.objects {
                1 => Node::Object(group.example),
                objects => Node::Group { parent: self.parent, class: group.class, objects },
            },
            retained: group.retained,
        };
        let mut rows: Vec<Child> = groups.iter().skip(skip).take(PAGE).map(child).collect();
        let next = skip.saturating_add(PAGE);
        let left = groups.get(next..).unwrap_or_default();
        if !left.is_empty() {
            let retained = left.iter().map(|group| group.retained).sum();
            let node = Node::More { of: self, from: From::Group(next), left: left.len() as u64 };
            rows.push(Child { node, retained });
        }
        rows
    }
}

/// The children of an object or of the roots, by class, that which retains most first.
fn by_class(heap: &Heap<'_>, parent: Option<u32>) -> Vec<Group> {
    let mut groups: HashMap<u32, Group, foldhash::fast::RandomState> = HashMap::default();
    for object in heap.children(parent) {
        let class = heap.class_of(object);
        let first = Group { class, objects: 0, retained: Amount::default(), example: object };
        let group = groups.entry(class).or_insert(first);
        group.objects += 1;
        group.retained += heap.retained(object);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_unstable_by_key(|group| (Reverse(group.retained.bytes), group.class));
    groups
}
