//! Ways from a root to an object, in the words of the programmer.

use dotnet_heap_graph::analysis::{Path, PathRoot, Step};
use dotnet_heap_graph::{Graph, Place, RootKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::short;
use crate::escape::{MAX_NAME_CHARS, cut};
use crate::gc::names;

/// A way from a root to an object.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphPath")]
pub(crate) struct PathDocument {
    /// Where it begins: a static field, a local variable of a method, a handle.
    pub(crate) root: String,
    /// The same without namespaces.
    #[serde(skip)]
    short_root: String,
    /// The objects on it.
    pub(crate) steps: Vec<StepDocument>,
}

/// Objects of one type on a way, one behind the other.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphStep")]
pub(crate) struct StepDocument {
    #[serde(rename = "type")]
    pub(crate) class: String,
    /// Address of the first one.
    pub(crate) address: String,
    /// How many follow each other, as the nodes of a linked list.
    pub(crate) count: u64,
    /// Where the object before refers to the first one; absent for the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// Where each of them refers to the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) each_by: Option<String>,
    /// How many objects were left out before it, because the way is too long.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) omitted_before: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

pub(super) fn address(graph: &Graph, object: u32) -> String {
    format!("0x{:x}", graph.address(object))
}

/// The name of an object's class.
pub(super) fn class_of(graph: &Graph, object: u32) -> String {
    label(graph, graph.class_of(object))
}

/// The name of a class. A file can have names of any length.
pub(super) fn label(graph: &Graph, class: u32) -> String {
    graph.class(class).map_or_else(String::new, |class| name(&class.label()))
}

/// A name of the file, not too long.
pub(super) fn name(of: &str) -> String {
    match of.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, c)) => cut(of[..end + c.len_utf8()].to_owned(), MAX_NAME_CHARS),
        None => of.to_owned(),
    }
}

/// What kind of root it is.
pub(super) fn kind(kind: RootKind) -> &'static str {
    match kind {
        RootKind::Stack => "local variables",
        RootKind::Static => "static fields",
        RootKind::StrongHandle => "strong handles",
        RootKind::PinnedHandle => "pinned handles",
        RootKind::CountedHandle => "counted handles",
        RootKind::Finalizer => "finalizer queue",
        RootKind::Frozen => "frozen heap",
        RootKind::Other => "other roots",
    }
}

/// What a way begins with.
pub(crate) fn root(graph: &Graph, root: &PathRoot<'_>) -> String {
    root_with(graph, root, name)
}

fn root_with(graph: &Graph, root: &PathRoot<'_>, name: fn(&str) -> String) -> String {
    match root {
        PathRoot::Static(field) if field.thread => format!("thread-static {}", name(&field.name)),
        PathRoot::Static(field) => format!("static {}", name(&field.name)),
        PathRoot::Root { kind: RootKind::Stack, id } => match graph.method_name(*id) {
            Some(method) => format!("local variable of {}", name(method)),
            None => "local variable".to_owned(),
        },
        PathRoot::Root { kind, .. } => match kind {
            RootKind::Static => "static field",
            RootKind::StrongHandle => "strong handle",
            RootKind::PinnedHandle => "pinned handle",
            RootKind::CountedHandle => "counted handle",
            RootKind::Finalizer => "finalizer queue",
            RootKind::Frozen => "frozen heap",
            _ => "root",
        }
        .to_owned(),
    }
}

/// A field as the programmer knows it: what holds a property's value has the property's name.
fn written(field: &str) -> String {
    name(names::field(field))
}

/// Where a reference is. It begins with a blank if it is no field or element.
pub(crate) fn place(place: &Place) -> String {
    match place {
        Place::Field { name: field, .. } => format!(".{}", written(field)),
        Place::Element { index: Some(index), field: None } => format!("[{index}]"),
        Place::Element { index: Some(index), field: Some(field) } => format!("[{index}].{}", written(field)),
        Place::Element { index: None, .. } => "[...]".to_owned(),
        Place::Static { name: field, .. } => format!(" (static {})", name(field)),
        Place::Dependent { .. } => " (dependent handle)".to_owned(),
        Place::Unnamed { offset_bytes } => format!(" (+{offset_bytes})"),
        _ => String::new(),
    }
}

pub(super) fn steps(graph: &Graph, steps: &[Step]) -> Vec<StepDocument> {
    let document = |step: &Step| StepDocument {
        class: label(graph, step.class),
        address: address(graph, step.object),
        count: step.count,
        by: step.place.as_ref().map(place).filter(|by| !by.is_empty()),
        each_by: step.inner.as_ref().map(place).filter(|by| !by.is_empty()),
        omitted_before: step.omitted_before,
    };
    steps.iter().map(document).collect()
}

pub(super) fn path(graph: &Graph, path: &Path<'_>) -> PathDocument {
    let short_root = root_with(graph, &path.root, |of| name(&short::member(of)));
    PathDocument { root: root(graph, &path.root), short_root, steps: steps(graph, &path.steps) }
}

impl PathDocument {
    /// The way in one line, without namespaces.
    pub(super) fn text(&self, arrow: &str) -> String {
        let mut text = self.short_root.clone();
        for (nth, step) in self.steps.iter().enumerate() {
            if step.omitted_before > 0 {
                text += &format!(" {arrow} ({} more)", step.omitted_before);
            }
            text += &format!(" {arrow} {}", short::type_name(&step.class));
            if step.count > 1 {
                text += &format!("{} ({} in a row)", step.each_by.as_deref().unwrap_or(""), step.count);
            }
            if let Some(by) = self.steps.get(nth + 1).and_then(|next| next.by.as_deref()) {
                text += by;
            }
        }
        text
    }
}
