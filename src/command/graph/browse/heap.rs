//! What the views ask of the graph. No answer takes longer than one look at each object and each reference, and none has
//! more than a page of objects.

use std::collections::HashMap;

use dotnet_heap_graph::analysis::{self, ClassTotals, Path, PathRoot, Paths, Referrer, StaticArrays};
use dotnet_heap_graph::format::StaticName;
use dotnet_heap_graph::{Amount, Dominator, Dominators, Graph, Place, Result};

use super::ranked::{Page, Rank};
use crate::escape::{MAX_NAME_CHARS, escape_untrusted};
use crate::report::graph::{generation_text, root_text};

/// Which objects a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// All objects of a class.
    Class(u32),
    /// The objects of a class that refer to an object.
    Referrers { class: u32, target: u32 },
}

impl Source {
    pub(super) fn class(self) -> u32 {
        match self {
            Source::Class(class) | Source::Referrers { class, .. } => class,
        }
    }
}

/// A reference of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    /// Where it is. `None`: at no place that the runtime tells.
    pub(super) place: Option<Place>,
    /// The object that it leads to. `None`: the file does not have it.
    pub(super) target: Option<u32>,
}

/// A graph, and what was computed of it once.
#[derive(Debug)]
pub(crate) struct Heap<'g> {
    graph: &'g Graph,
    dominators: &'g Dominators,
    statics: StaticArrays,
    /// The objects that static fields refer to.
    static_targets: HashMap<u32, &'g StaticName>,
    paths: Paths<'g>,
    classes: Vec<ClassTotals>,
    /// All objects, reachable or not.
    all: Amount,
}

impl<'g> Heap<'g> {
    /// Computes what all views need. The time is close to proportional to the number of references.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub(crate) fn new(graph: &'g Graph, dominators: &'g Dominators) -> Result<Heap<'g>> {
        let statics = StaticArrays::new(graph);
        let static_targets = statics.targets(graph)?;
        let paths = Paths::new(graph, &statics)?;
        let classes = analysis::class_totals(graph, dominators);
        let all = classes.iter().map(|totals| totals.all).sum();
        Ok(Heap { graph, dominators, statics, static_targets, paths, classes, all })
    }

    /// The classes that have objects; that which retains most comes first.
    pub(super) fn classes(&self) -> &[ClassTotals] {
        &self.classes
    }

    /// All objects.
    pub(super) fn all(&self) -> Amount {
        self.all
    }

    /// The objects that a root keeps alive.
    pub(super) fn reachable(&self) -> Amount {
        self.dominators.reachable()
    }

    /// Whether nothing is known to be missing.
    pub(super) fn is_whole(&self) -> bool {
        self.graph.completeness().is_whole()
    }

    pub(super) fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// The name of a class, safe to show.
    pub(super) fn label(&self, class: u32) -> String {
        self.graph.class(class).map_or_else(String::new, |class| shown(&class.label()))
    }

    /// The module of a class, safe to show.
    pub(super) fn module(&self, class: u32) -> Option<String> {
        self.graph.class(class)?.module.as_deref().map(shown)
    }

    pub(super) fn class_of(&self, object: u32) -> u32 {
        self.graph.class_of(object)
    }

    pub(super) fn address(&self, object: u32) -> String {
        format!("0x{:x}", self.graph.address(object))
    }

    pub(super) fn own_bytes(&self, object: u32) -> u64 {
        self.graph.size_bytes(object)
    }

    /// The part of the heap where an object is.
    pub(super) fn generation(&self, object: u32) -> &'static str {
        generation_text(self.graph.generation_of(object))
    }

    /// What would be garbage without an object. Nothing if it is garbage itself.
    pub(super) fn retained(&self, object: u32) -> Amount {
        self.dominators.retained(object)
    }

    /// The object that keeps this one alive on its own. `None`: there is none.
    pub(super) fn dominator(&self, object: u32) -> Option<u32> {
        match self.dominators.dominator(object) {
            Some(Dominator::Object(above)) => Some(above),
            _ => None,
        }
    }

    /// The objects that an object alone keeps alive at first hand, or those that only roots keep alive. The arrays in which
    /// the runtime keeps static fields are left out; what they keep alive comes instead.
    pub(super) fn children(&self, parent: Option<u32>) -> Box<dyn Iterator<Item = u32> + '_> {
        let Some(parent) = parent else {
            let is_array = |object: &u32| self.statics.contains(*object);
            let direct = self.dominators.top().filter(move |object| !is_array(object));
            let arrays = self.dominators.top().filter(is_array);
            return Box::new(direct.chain(arrays.flat_map(|array| self.dominators.children(array))));
        };
        Box::new(self.dominators.children(parent))
    }

    /// The static field that refers to an object, safe to show.
    pub(super) fn static_field(&self, object: u32) -> Option<String> {
        let field = self.static_targets.get(&object)?;
        Some(shown(&root_text(self.graph, &PathRoot::Static(field))))
    }

    pub(super) fn has_children(&self, object: u32) -> bool {
        self.dominators.children(object).next().is_some()
    }

    pub(super) fn rank(&self, object: u32) -> Rank {
        Rank::new(object, self.dominators.retained_bytes(object), self.graph.size_bytes(object))
    }

    /// A page of objects, those that retain most first.
    pub(super) fn objects(&self, source: Source, after: Option<Rank>, count: usize) -> Page {
        let all = (0..self.graph.len()).filter(|object| self.graph.class_of(*object) == source.class());
        match source {
            Source::Class(_) => Page::behind(after, count, all.map(|object| self.rank(object))),
            Source::Referrers { target, .. } => {
                let all = all.filter(|object| self.graph.references(*object).contains(&target));
                Page::behind(after, count, all.map(|object| self.rank(object)))
            }
        }
    }

    /// The shortest way from a root. `None`: the object is garbage.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub(super) fn path(&self, object: u32) -> Result<Option<Path<'g>>> {
        self.paths.path(object)
    }

    /// All classes whose objects refer to an object.
    pub(super) fn referrers(&self, object: u32) -> Vec<Referrer> {
        analysis::referrers_of_object(self.graph, object)
    }

    /// How many references an object has.
    pub(super) fn fields_in_all(&self, object: u32) -> usize {
        self.graph.references(object).len()
    }

    /// `count` references of an object behind the first `skip`.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub(super) fn fields(&self, object: u32, skip: usize, count: usize) -> Result<Vec<Field>> {
        let (mut number, mut found) = (0, Vec::new());
        self.graph.for_each_reference(object, |reference| {
            if number >= skip {
                found.push((reference.offset_bytes, self.graph.object_at(reference.target)));
            }
            number += 1;
            found.len() < count
        })?;
        let mut fields = Vec::new();
        for (offset_bytes, target) in found {
            fields.push(Field { place: Some(self.graph.place_at(object, offset_bytes)?), target });
        }
        // These come behind all others.
        let edges = self.graph.edges_of(object).iter().skip(skip.saturating_sub(number));
        fields.extend(edges.take(count.saturating_sub(fields.len())).map(|edge| Field {
            place: edge.handle.map(|handle| Place::Dependent { handle }),
            target: Some(edge.to),
        }));
        Ok(fields)
    }
}

/// A text of the file, safe to show and not too long.
pub(super) fn shown(text: &str) -> String {
    let text: String = text.chars().take(MAX_NAME_CHARS).collect();
    escape_untrusted(&text)
}
