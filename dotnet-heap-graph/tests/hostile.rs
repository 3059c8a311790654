//! Files whose checksums are right and whose contents are wrong: no panic, and no endless loop.

mod common;

use common::{Heap, load};
use dotnet_heap_graph::analysis::*;
use dotnet_heap_graph::format::{FrameBuffer, FrameKind, Reader, RootRecord, Writer};
use dotnet_heap_graph::{Dominators, Graph};
use proptest::prelude::*;

/// A graph with something of everything.
fn heap() -> Heap {
    let mut heap = Heap::new();
    heap.base("System.Int32", "System.ValueType");
    heap.base("System.Action", "System.MulticastDelegate");
    heap.fields("App.Node", &[(8, "next"), (16, "value")]);
    let text = heap.string(40, 7);
    let same = heap.string(40, 7);
    let boxed = heap.object("System.Int32", 24, &[]);
    let array = heap.object("App.Node[]", 24 + 8 * 20, &[text, same, boxed]);
    let first = heap.object("App.Node", 32, &[]);
    for _ in 0..20 {
        let node = heap.object("App.Node", 32, &[text, array]);
        heap.link(first, node);
    }
    let action = heap.object("System.Action", 64, &[first]);
    let waiting = heap.object("App.Waiting", 24, &[]);
    heap.dependent.push((action, waiting));
    heap.handle(action);
    heap.root(waiting, RootRecord::FINALIZER, 0);
    heap.root(array, RootRecord::STACK, RootRecord::INTERIOR);
    heap.static_field(array, "App.array");
    heap.ranges = vec![(0, 0, 5), (2, 6, 9)];
    heap
}

/// The payloads of all frames.
fn payloads(file: Vec<u8>) -> Vec<(FrameKind, Vec<u8>)> {
    let reader = Reader::new(std::io::Cursor::new(file)).unwrap();
    let mut buffer = FrameBuffer::default();
    let payload = |frame| Reader::payload(&reader, frame, &mut buffer).unwrap().to_vec();
    let payloads: Vec<_> = reader.frames().iter().map(payload).collect();
    reader.frames().iter().map(|frame| frame.kind()).zip(payloads).collect()
}

fn ask_everything(graph: &Graph) -> dotnet_heap_graph::Result<()> {
    let dominators = Dominators::new(graph);
    let statics = StaticArrays::new(graph);
    let paths = Paths::new(graph, &statics)?;
    totals(graph, &dominators);
    let classes = class_totals(graph, &dominators);
    pending_work(graph, &classes);
    root_totals(graph, &dominators);
    biggest(graph, &dominators, &statics, 5);
    suspects(graph, &dominators, &statics, &paths, 1)?;
    duplicate_strings(graph, &dominators, 5)?;
    wasted_arrays(graph, &dominators, 5)?;
    boxed_values(graph, &dominators, 5);
    delegate_targets(graph, &dominators, 5);
    kept_by_finalizers(graph, &dominators);
    kept_by_dependent_handles(graph, &dominators);
    Snapshot::new(graph, &dominators, &classes);
    for object in 0..graph.len() {
        assert_eq!(paths.is_reachable(object), dominators.is_reachable(object));
        assert_eq!(retained_by(graph, &dominators, object).is_some(), dominators.is_reachable(object));
        paths.path(object)?;
        graph.generation_of(object);
    }
    Ok(())
}

#[test]
fn the_graph_itself_has_answers() {
    let graph = heap().graph();
    assert!(graph.completeness().is_whole());
    ask_everything(&graph).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_payloads(
        frame: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut frames = payloads(heap().file());
        let last = frames.len() - 1;
        let (_, payload) = &mut frames[frame.index(last)];
        for (at, value) in changes {
            let at = at.index(payload.len());
            payload[at] = value;
        }
        if let Some(cut) = cut {
            payload.truncate(cut.index(payload.len()));
        }
        let mut writer = Writer::new(Vec::new()).unwrap();
        for (kind, payload) in &frames {
            writer.write_frame(*kind, payload).unwrap();
        }
        let file = writer.finish(Default::default()).unwrap();
        if let Ok(graph) = load(file) {
            let _ = ask_everything(&graph);
        }
    }
}
