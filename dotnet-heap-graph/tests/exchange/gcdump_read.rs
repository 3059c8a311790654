//! A `.gcdump` file that Microsoft's classes wrote.

use std::collections::BTreeMap;

use dotnet_heap_graph::RootKind;

use crate::oracle::{Heap, Object, data, import, load, nothing_has_a_place};

#[test]
fn every_object_and_reference_is_what_the_other_reader_says() {
    let expected = Heap::parse(&String::from_utf8(data("holders-9.0.18.txt")).unwrap());
    let (file, description, counts) = import(&data("holders-9.0.18.gcdump")).unwrap();
    let graph = load(file);
    let found = Heap::of(&graph);
    found.assert_same_objects(&expected);
    assert_eq!(graph.len(), 577);
    assert_eq!(counts.objects, 577);
    let sum = |of: fn(&Object) -> u64| expected.objects.values().map(of).sum::<u64>();
    assert_eq!(counts.references, sum(|object| object.references.len() as u64));
    assert_eq!(counts.object_bytes, sum(|object| object.size_bytes));
    assert_eq!((counts.references_to_nowhere, counts.impossible), (0, 0));
    assert_eq!(description.tool.as_deref(), Some("heapdump"));
    nothing_has_a_place(&graph);
}

#[test]
fn groups_of_roots_become_roots_with_kinds() {
    let expected = Heap::parse(&String::from_utf8(data("holders-9.0.18.txt")).unwrap());
    let graph = load(import(&data("holders-9.0.18.gcdump")).unwrap().0);
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for root in graph.roots() {
        let name = match root.kind {
            RootKind::Stack => "[local vars]".to_owned(),
            RootKind::PinnedHandle => "[pinning Handles]".to_owned(),
            RootKind::CountedHandle => "[COM/WinRT Objects]".to_owned(),
            RootKind::StrongHandle => "[strong Handles]".to_owned(),
            RootKind::Finalizer => "[finalizer Handles]".to_owned(),
            RootKind::Frozen => continue,
            RootKind::Other => unreachable!(),
            RootKind::Static => {
                let field = graph.statics().iter().find(|field| field.slot == root.id).unwrap();
                format!("[static var {}]", field.name)
            }
        };
        found.entry(name).or_default().push(graph.address(root.object));
    }
    found.values_mut().for_each(|objects| objects.sort_unstable());
    // This reader has one kind for both.
    let mut expected = expected.roots;
    let dependent = expected.remove("[Dependent Handles]").unwrap();
    assert_eq!(dependent.len(), 13);
    let strong = expected.get_mut("[strong Handles]").unwrap();
    strong.extend(dependent);
    strong.sort_unstable();
    assert_eq!(found, expected);
}
