//! Who refers to objects, by class.

use std::cmp::Reverse;

use foldhash::{HashMap, HashMapExt};

use crate::graph::Graph;

/// Objects of one class that refer to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Referrer {
    /// The class of the objects that refer: its place in [`Graph::classes`].
    pub class: u32,
    /// How many objects refer.
    pub objects: u64,
    /// How many references they have to the others.
    pub references: u64,
    /// One of them.
    pub example: u32,
}

/// All objects that refer to an object, by class, that with most objects first. Roots are not among them. This looks at all
/// references.
pub fn referrers_of_object(graph: &Graph, object: u32) -> Vec<Referrer> {
    sorted(collect(graph, 0..graph.len(), |to| (to == object).then_some(0)).remove(&0))
}

/// All objects that refer to objects of a class, by class, that with most objects first. This looks at all references.
pub fn referrers_of_class(graph: &Graph, class: u32) -> Vec<Referrer> {
    sorted(collect(graph, 0..graph.len(), |to| (graph.class_of(to) == class).then_some(0)).remove(&0))
}

/// The same for several groups of objects at once. `group` says to which group an object belongs, `from` which objects'
/// references count.
pub(crate) fn referrers_of_groups(
    graph: &Graph,
    from: impl Iterator<Item = u32>,
    group: impl Fn(u32) -> Option<u32>,
) -> HashMap<u32, Vec<Referrer>> {
    collect(graph, from, group).into_iter().map(|(group, found)| (group, sorted(Some(found)))).collect()
}

type ByClass = HashMap<u32, Referrer>;

fn collect(
    graph: &Graph,
    from: impl Iterator<Item = u32>,
    group: impl Fn(u32) -> Option<u32>,
) -> HashMap<u32, ByClass> {
    let mut groups: HashMap<u32, ByClass> = HashMap::new();
    for object in from {
        for to in graph.references(object) {
            let Some(group) = group(*to) else { continue };
            let class = graph.class_of(object);
            let by_class = groups.entry(group).or_default();
            let first = Referrer { class, example: u32::MAX, ..Referrer::default() };
            let referrer = by_class.entry(class).or_insert(first);
            referrer.references += 1;
            // All references of one object come after each other.
            if referrer.example != object {
                referrer.objects += 1;
                referrer.example = object;
            }
        }
    }
    groups
}

fn sorted(by_class: Option<ByClass>) -> Vec<Referrer> {
    let mut referrers: Vec<Referrer> = by_class.unwrap_or_default().into_values().collect();
    referrers.sort_by_key(|referrer| (Reverse(referrer.objects), referrer.class));
    referrers
}
