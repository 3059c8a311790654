//! The nodes that stand for groups of roots.

use std::collections::HashMap;

use crate::format::{RootRecord, StaticName};

/// A node without an object.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupNode {
    pub(super) name: String,
    /// Numbers of objects.
    pub(super) objects: Vec<u32>,
    /// Places of groups in the list.
    pub(super) groups: Vec<usize>,
}

/// All groups of a graph; the first has all others. Their names are those of dotnet-gcdump.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) nodes: Vec<GroupNode>,
    by_name: HashMap<(usize, String), usize>,
    /// Those of static fields.
    by_slot: HashMap<u64, usize>,
}

const OTHER_ROOTS: &str = "[other roots]";

impl Groups {
    pub(super) fn new() -> Self {
        let root = GroupNode { name: "[.NET Roots]".to_owned(), ..GroupNode::default() };
        let mut groups = Self { nodes: vec![root], by_name: HashMap::new(), by_slot: HashMap::new() };
        // PerfView shows these even if they are empty.
        groups.within(0, "[static vars]");
        groups.within(0, "[local vars]");
        groups
    }

    /// The group with this name in another, which is made if it is not there.
    fn within(&mut self, outer: usize, name: &str) -> usize {
        let next = self.nodes.len();
        let found = *self.by_name.entry((outer, name.to_owned())).or_insert(next);
        if found == next {
            self.nodes.push(GroupNode { name: name.to_owned(), ..GroupNode::default() });
            if let Some(outer) = self.nodes.get_mut(outer) {
                outer.groups.push(found);
            }
        }
        found
    }

    fn add(&mut self, group: usize, object: u32) {
        if let Some(group) = self.nodes.get_mut(group) {
            group.objects.push(object);
        }
    }

    /// Adds a root that is no static field.
    pub(super) fn root(&mut self, root: &RootRecord, object: u32) {
        let group = match root.kind {
            RootRecord::STACK => self.within(0, "[local vars]"),
            kind => {
                let name = match kind {
                    _ if root.flags & RootRecord::REFERENCE_COUNTED != 0 => "[COM/WinRT Objects]",
                    RootRecord::FINALIZER => "[finalizer Handles]",
                    RootRecord::HANDLE if root.flags & RootRecord::PINNED != 0 => "[pinning Handles]",
                    RootRecord::HANDLE => "[strong Handles]",
                    _ => "[other Handles]",
                };
                let outer = self.within(0, OTHER_ROOTS);
                self.within(outer, name)
            }
        };
        self.add(group, object);
    }

    /// Adds a static field. One without a name is in the group of all.
    pub(super) fn static_field(&mut self, slot: u64, field: Option<&StaticName>, object: u32) {
        let group = match self.by_slot.get(&slot) {
            Some(group) => *group,
            None => {
                let is_thread = field.is_some_and(|field| field.thread);
                let all = self.within(0, if is_thread { "[thread static vars]" } else { "[static vars]" });
                let own = field.map(|field| self.within(all, &format!("[static var {}]", field.name)));
                *self.by_slot.entry(slot).or_insert(own.unwrap_or(all))
            }
        };
        self.add(group, object);
    }
}
