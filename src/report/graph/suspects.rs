//! What may be a leak, in a sentence each.

use dotnet_heap_graph::analysis::{self, Paths, StaticArrays, SuspectKind};
use dotnet_heap_graph::{Dominators, Graph, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::amounts::Amounts;
use super::steps::{self, PathDocument, address, class_of, label};

/// What retains at least this share of all bytes is told.
const MIN_PERCENT: u32 = 10;

/// Something that retains a large part of the heap.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuspectRow {
    #[serde(rename = "type")]
    pub(crate) class: String,
    /// How many objects of the type; 1: one object alone.
    pub(crate) objects: u64,
    /// Address of the one, or of the one that retains most.
    pub(crate) address: String,
    pub(crate) retained: Amounts,
    pub(crate) share_percent: f64,
    /// The object in which what it retains comes together.
    pub(crate) accumulated_in: String,
    /// What most of that is: type and number.
    pub(crate) mostly: Option<(String, u64)>,
    /// The way from a root to that object.
    pub(crate) path: Option<PathDocument>,
}

/// Finds the suspects.
///
/// # Errors
/// The file cannot be read.
pub(super) fn suspects<'g>(
    graph: &'g Graph,
    dominators: &Dominators,
    statics: &StaticArrays,
    paths: &Paths<'g>,
) -> Result<Vec<SuspectRow>> {
    let found = analysis::suspects(graph, dominators, statics, paths, MIN_PERCENT)?;
    let row = |suspect: &analysis::Suspect<'_>| {
        let (objects, object) = match suspect.what {
            SuspectKind::Object(object) => (1, object),
            SuspectKind::Class { own, biggest } => (own.objects, biggest),
        };
        let mostly = suspect.accumulation.children.first();
        SuspectRow {
            class: label(graph, suspect.class),
            objects,
            address: address(graph, object),
            retained: suspect.retained.into(),
            share_percent: suspect.share_percent,
            accumulated_in: class_of(graph, suspect.accumulation.object),
            mostly: mostly.map(|child| (label(graph, child.class), child.own.objects)),
            path: suspect.path.as_ref().map(|path| steps::path(graph, path)),
        }
    };
    Ok(found.iter().map(row).collect())
}
