//! The entry for heap graphs: every answer that gcwatch has of one.

use std::io;
use std::num::NonZero;

use dotnet_heap_graph::analysis::{Earlier, Paths, Snapshot, StaticArrays, changes, class_totals};
use dotnet_heap_graph::exchange::gcdump;
use dotnet_heap_graph::format::Reader;
use dotnet_heap_graph::{Dominators, Graph, Limits};
use serde::Serialize;

use super::sink::{Kind, checked, terminal};
use crate::escape::to_json_pretty;
use crate::report::Units;
use crate::report::graph::{
    self as report, DifferenceDocument, FollowedDocument, GraphDocument, IdentityDocument, Noise,
    ObjectDocument, Side, TypeDocument,
};

/// How many rows the reports have.
const TOP: usize = 20;
/// How many objects and types are reported on.
const ASKED: u32 = 4;

/// Reads a graph, and reports on it, on some of its objects and types, and on how it differs from an empty one.
///
/// # Panics
/// A report is not valid, or two analyses contradict each other.
pub fn graph(reader: Reader) {
    let mut limits = Limits::default();
    // Allocations are counted on one thread.
    limits.threads = NonZero::<usize>::MIN;
    let Ok(graph) = Graph::load(reader, limits) else { return };
    let dominators = Dominators::new(&graph);
    // An answer may need a frame of the file that makes no sense; that is an error of this answer only.
    let _ = reports(&graph, &dominators);
    let _ = gcdump::write(graph.reader(), &gcdump::Description::default(), io::sink());
}

fn reports(graph: &Graph, dominators: &Dominators) -> dotnet_heap_graph::Result<()> {
    let text = |text: String| checked(Kind::Text, text.as_bytes());
    let paths = Paths::new(graph, &StaticArrays::new(graph))?;
    for object in 0..graph.len() {
        assert_eq!(paths.is_reachable(object), dominators.is_reachable(object), "who is right?");
    }
    drop(paths);
    let classes = class_totals(graph, dominators);
    let now = Snapshot::new(graph, dominators, &classes);
    let sides = [Side::new(graph, dominators, None)?, Side::new(graph, dominators, None)?];
    // As if the objects had been followed from the graph to itself: what the file says of that is hostile, too.
    let statics = StaticArrays::new(graph);
    let noise = Noise::of(dominators.reachable().bytes);
    let found = changes(&Earlier::new(graph, dominators), graph, dominators, &statics)?;
    let paths = Paths::new(graph, &statics)?;
    let followed = FollowedDocument::new(&found, graph, &paths, noise, TOP)?;
    drop(paths);
    let difference = DifferenceDocument::new(
        &Snapshot::default().difference(&now),
        sides,
        Some(&found),
        IdentityDocument { known: true, ..Default::default() },
        Some(followed),
        noise,
        TOP,
    );
    json(&difference);
    text(difference.text(&terminal(false), Units::Iec));
    for class in (0..graph.classes().len() as u32).take(ASKED as usize) {
        let document = TypeDocument::new(graph, &[class], TOP)?;
        json(&document);
        text(report::type_text(&document, &terminal(false), Units::Si));
    }
    for object in 0..graph.len().min(ASKED) {
        let document = ObjectDocument::new(graph, object, TOP)?;
        json(&document);
        text(report::object_text(&document, &terminal(false), Units::Iec));
    }
    let document = GraphDocument::new(graph, TOP)?;
    json(&document);
    text(report::text(&document, &terminal(false), Units::Iec));
    Ok(())
}

fn json(document: &impl Serialize) {
    let Ok(json) = to_json_pretty(document) else { panic!("a document cannot be written") };
    checked(Kind::Json, json.as_bytes());
}
