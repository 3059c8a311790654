//! The heap snapshot in a recording of a real runtime.

use std::io::Cursor;

use dotnet_heap_graph::exchange::snapshot::{self, Taken, type_name};
use dotnet_heap_graph::exchange::{Counts, Error, Result};
use dotnet_heap_graph::format::GraphWriter;
use dotnet_heap_graph::{Graph, Place, RootKind};

use crate::oracle::{Heap, data, load, nothing_has_a_place};

pub(crate) fn import(recording: &[u8], number: u32) -> Result<(Vec<u8>, Taken, Counts)> {
    let mut writer = GraphWriter::new(Vec::new())?;
    let (taken, counts) = snapshot::read(Cursor::new(recording), number, &type_name, &mut writer)?;
    Ok((writer.finish()?, taken, counts))
}

fn holders() -> (Graph, Taken, Counts) {
    let (file, taken, counts) = import(&data("holders-9.0.18.nettrace"), 0).unwrap();
    (load(file), taken, counts)
}

#[test]
fn every_object_and_reference_is_what_the_other_reader_says() {
    let expected = Heap::parse(&String::from_utf8(data("holders-9.0.18.txt")).unwrap());
    let (graph, taken, counts) = holders();
    assert!(taken.is_whole(), "{taken:?}");
    assert_eq!((taken.snapshots, taken.objects_without_references), (1, 0));
    assert!(taken.process_id.is_some() && taken.gc_number.is_some());
    assert_eq!((counts.objects, counts.impossible), (577, 0));
    Heap::of(&graph).assert_same_objects(&expected);
    nothing_has_a_place(&graph);
}

#[test]
fn roots_and_dependent_handles_are_what_the_other_reader_says() {
    let mut expected = Heap::parse(&String::from_utf8(data("holders-9.0.18.txt")).unwrap()).roots;
    let (graph, ..) = holders();
    for (kind, name) in [
        (RootKind::Stack, "[local vars]"),
        (RootKind::StrongHandle, "[strong Handles]"),
        (RootKind::PinnedHandle, "[pinning Handles]"),
        (RootKind::CountedHandle, "[COM/WinRT Objects]"),
    ] {
        let roots = graph.roots().iter().filter(|root| root.kind == kind && !root.is_weak);
        let mut found: Vec<u64> = roots.map(|root| graph.address(root.object)).collect();
        found.sort_unstable();
        assert_eq!(Some(found), expected.remove(name), "{name}");
    }
    // The other reader leaves weak roots out.
    assert!(graph.roots().iter().any(|root| root.is_weak));
    let mut dependent: Vec<u64> = graph.edges().iter().map(|edge| graph.address(edge.to)).collect();
    dependent.sort_unstable();
    assert_eq!(Some(dependent), expected.remove("[Dependent Handles]"));
    // What is left are static fields.
    let fields = expected.values().map(Vec::len).sum::<usize>();
    assert!(expected.keys().all(|name| name.starts_with("[static var ")));
    assert_eq!(graph.statics().len(), fields);
}

#[test]
fn static_fields_are_where_the_runtime_has_them() {
    let (graph, ..) = holders();
    let mut seen = 0;
    for array in 0..graph.len() {
        for target in graph.references(array) {
            if let Some(Place::Static { name, .. }) = graph.place(array, *target).unwrap() {
                seen += 1;
                if name == "kept" {
                    let class = graph.class(graph.class_of(*target)).unwrap();
                    assert_eq!(class.label(), "System.Collections.Generic.List<System.Object>");
                }
            }
        }
    }
    let roots = graph.roots().iter().filter(|root| root.kind == RootKind::Static).count();
    assert_eq!(seen + roots, graph.statics().len());
    assert!(roots < graph.statics().len() / 10, "{roots} of {} have no place", graph.statics().len());
}

#[test]
fn methods_of_local_variables_have_names() {
    let (graph, ..) = holders();
    let named = graph.roots().iter().filter(|root| root.kind == RootKind::Stack);
    let named: Vec<_> = named.filter_map(|root| graph.method_name(root.id)).collect();
    assert!(named.contains(&"Holders.Main"), "{named:?}");
}

#[test]
fn lengths_come_from_sizes() {
    let (graph, ..) = holders();
    let mut checked = 0;
    for object in 0..graph.len() {
        let class = graph.class(graph.class_of(object)).unwrap();
        let length = graph.record(object).unwrap().unwrap().length;
        let bytes = match class.label().as_ref() {
            "System.String" => 22 + 2 * length,
            "System.Char[]" => 24 + 2 * length,
            "System.Object[]" => 24 + 8 * length,
            _ => continue,
        };
        assert_eq!(graph.size_bytes(object), bytes.next_multiple_of(8));
        checked += 1;
    }
    assert!(checked > 50);
}

#[test]
fn a_recording_without_a_second_snapshot_says_so() {
    assert!(matches!(import(&data("holders-9.0.18.nettrace"), 1), Err(Error::NoSnapshot { found: 1 })));
    assert!(matches!(import(b"something else", 0), Err(Error::NoSnapshot { found: 0 })));
}
