//! The graph in memory is what the file says.

mod common;

use std::collections::BTreeMap;

use common::{Heap, load};
use dotnet_heap_graph::format::{
    ClassRecord, EdgeRecord, Encoder, FrameKind, MAX_REFERENCES, ObjectRecord, ObjectsEncoder, Reference,
    RootRecord, Writer,
};
use dotnet_heap_graph::{Error, Generation, Graph, Place, RootKind};
use proptest::prelude::*;

const CLASSES: [ClassRecord; 2] = [
    ClassRecord { index: 0, id: 1, flags: 0, size_units: 3, parent: None, element: None },
    ClassRecord { index: 1, id: 2, flags: ClassRecord::VARIES, size_units: 0, parent: None, element: None },
];

#[derive(Clone, Debug)]
struct Naive {
    address: u64,
    size_units: u64,
    /// Words to skip, and the place of the target among all objects; beyond them, a place where no object is.
    references: Vec<(u64, usize)>,
    /// The frame that has it.
    frame: usize,
}

/// Objects in the order of their addresses, with gaps of all sizes, in frames that may overlap.
fn objects() -> impl Strategy<Value = Vec<Naive>> {
    let gap = prop_oneof![6 => Just(0u64), 2 => 1u64..9, 1 => 4000u64..9000, 1 => Just(1 << 30)];
    let references = prop::collection::vec((0u64..3, 0usize..70), 0..6);
    let object = (gap, 3u64..9, references, 0usize..4, any::<bool>());
    prop::collection::vec(object, 0..60).prop_map(|objects| {
        let (mut end, mut frame) = (0x1_0000, 0);
        let each = objects.into_iter().map(|(gap, size_units, references, new_frame, stays)| {
            let address = end + gap * 8;
            frame = if stays { frame } else { new_frame };
            end = address + size_units * 8;
            Naive { address, size_units, references, frame }
        });
        each.collect()
    })
}

fn write(objects: &[Naive], edges: &[(usize, usize)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut classes = Encoder::new();
    CLASSES.iter().for_each(|class| classes.push(class));
    writer.write_frame(FrameKind::CLASSES, &classes.take()).unwrap();
    for frame in 0..4 {
        let mut encoder = ObjectsEncoder::new();
        // Descending and ascending addresses.
        let mut inside: Vec<_> = objects.iter().filter(|object| object.frame == frame).collect();
        if frame == 2 {
            inside.reverse();
        }
        for object in inside {
            let mut offset_bytes = 8;
            let each = object.references.iter().map(|(skip, target)| {
                let target = objects.get(*target).map_or(0x10, |target| target.address);
                let reference = Reference { offset_bytes: offset_bytes + skip * 8, target };
                offset_bytes += skip * 8 + 8;
                reference
            });
            let references: Vec<_> = each.collect();
            let class = usize::from(object.size_units != 3);
            let record =
                ObjectRecord { address: object.address, size_units: object.size_units, ..Default::default() };
            encoder.push(&CLASSES[class], &record, &references);
        }
        writer.write_frame(FrameKind::OBJECTS, &encoder.take()).unwrap();
    }
    let mut encoder = Encoder::new();
    for (from, to) in edges {
        let address = |object: usize| objects.get(object).map_or(0x18, |object| object.address);
        let kind = if from % 2 == 0 { EdgeRecord::DEPENDENT } else { EdgeRecord::NO_PLACE };
        encoder.push(&EdgeRecord { from: address(*from), to: address(*to), kind, id: 5 });
    }
    writer.write_frame(FrameKind::EDGES, &encoder.take()).unwrap();
    writer.finish(Default::default()).unwrap()
}

fn check(graph: &Graph, objects: &[Naive], edges: &[(usize, usize)]) {
    assert_eq!(graph.len() as usize, objects.len());
    let is_object = |number: &usize| *number < objects.len();
    let mut missing = 0;
    for (number, object) in (0..).zip(objects) {
        assert_eq!(graph.object_at(object.address), Some(number));
        assert_eq!(graph.object_at(object.address + 8), None);
        assert_eq!(graph.object_around(object.address + object.size_units * 8 - 1), Some(number));
        assert_eq!(graph.address(number), object.address);
        assert_eq!(graph.size_bytes(number), object.size_units * 8);
        assert_eq!(graph.class_of(number), u32::from(object.size_units != 3));
        let inside = object.references.iter().map(|(_, target)| *target);
        let behind = edges.iter().filter(|(from, _)| *from as u32 == number).map(|(_, to)| *to);
        missing += inside.clone().filter(|number| !is_object(number)).count();
        let expected: Vec<_> = inside.chain(behind).filter(is_object).map(|to| to as u32).collect();
        assert_eq!(graph.references(number), expected);
        let mut offset_bytes = 8;
        let mut expected = object.references.iter();
        graph
            .for_each_reference(number, |reference| {
                let (skip, target) = expected.next().unwrap();
                assert_eq!(reference.offset_bytes, offset_bytes + skip * 8);
                assert_eq!(
                    graph.object_at(reference.target),
                    Some(*target as u32).filter(|_| is_object(target))
                );
                offset_bytes += skip * 8 + 8;
                true
            })
            .unwrap();
        assert_eq!(expected.next(), None);
        assert_eq!(graph.record(number).unwrap().unwrap().size_units, object.size_units);
    }
    assert_eq!(graph.completeness().missing_targets, missing as u64);
    let missing = edges.iter().filter(|(from, to)| !is_object(from) || !is_object(to)).count();
    assert_eq!(graph.completeness().missing_edges, missing as u64);
    assert_eq!(graph.address(graph.len()), 0);
    assert!(graph.references(graph.len()).is_empty());
    let states = graph.for_each_record(BTreeMap::new, |state, number, record| {
        state.insert(number, record.address);
    });
    let found: BTreeMap<_, _> = states.unwrap().into_iter().flatten().collect();
    assert_eq!(found, (0..).zip(objects.iter().map(|object| object.address)).collect());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_graph_is_what_a_simple_reader_finds(
        objects in objects(),
        edges in prop::collection::vec((0usize..60, 0usize..60), 0..5),
    ) {
        let graph = load(write(&objects, &edges)).unwrap();
        check(&graph, &objects, &edges);
    }
}

#[test]
fn two_objects_at_one_place_are_an_error() {
    let object = |address, frame| Naive { address, size_units: 4, references: vec![], frame };
    let error = load(write(&[object(0x1000, 0), object(0x1000, 1)], &[])).unwrap_err();
    assert!(matches!(error, Error::Twice { address: 0x1000 }), "{error}");
}

#[test]
fn further_references_of_a_large_array_are_its_references() {
    let mut heap = Heap::new();
    let count = 2 * MAX_REFERENCES + 7;
    let small = heap.object("Small", 24, &[]);
    let all: Vec<_> = (0..count).map(|i| if i % 3 == 0 { small } else { 1 }).collect();
    let array = heap.object("Small[]", 24 + 8 * count as u64, &all);
    let behind = heap.object("Small", 24, &[]);
    heap.link(behind, array);
    heap.dependent.push((array, behind));
    let graph = heap.graph();
    assert!(graph.completeness().is_whole(), "{:?}", graph.completeness());
    let expected: Vec<_> = all.iter().chain(&[behind]).map(|to| *to as u32).collect();
    assert_eq!(graph.references(array as u32), expected);
    assert_eq!(graph.references(behind as u32), [array as u32]);
    let mut last = 0;
    graph
        .for_each_reference(array as u32, |reference| {
            last = reference.offset_bytes;
            true
        })
        .unwrap();
    assert_eq!(last, 16 + 8 * (count as u64 - 1));
}

#[test]
fn places_have_names() {
    let mut heap = Heap::new();
    heap.fields("Base", &[(8, "id"), (16, "parent")]);
    heap.fields("Derived", &[(24, "pair"), (56, "last")]);
    heap.base("Derived", "Base");
    let leaf = heap.object("Leaf", 24, &[]);
    let derived = heap.object("Derived", 64, &[]);
    let array = heap.object("Leaf[]", 64, &[]);
    heap.objects[derived].references = vec![(1, leaf), (4, array), (6, derived)];
    heap.objects[array].references = vec![(3, leaf)];
    heap.dependent.push((leaf, array));
    heap.static_field(leaf, "App.leaf");
    let graph = heap.graph();
    let place = |from: usize, to: usize| graph.place(from as u32, to as u32).unwrap();
    let field = |name: &str, class: &str| {
        let class = graph.classes().iter().find(|found| found.name.as_deref() == Some(class)).unwrap();
        Some(Place::Field { name: name.into(), class: class.record.index })
    };
    assert_eq!(place(derived, leaf), field("parent", "Base"));
    assert_eq!(place(derived, array), field("pair", "Derived"), "in a value type");
    assert_eq!(place(derived, derived), field("last", "Derived"));
    assert_eq!(place(array, leaf), Some(Place::Element { index: Some(3), field: None }));
    assert_eq!(place(leaf, array), Some(Place::Dependent { handle: 0x9000 }));
    assert_eq!(place(leaf, derived), None);
    assert_eq!(place(array + 1, leaf), Some(Place::Static { name: "App.leaf".into(), is_thread: false }));
    assert_eq!(graph.place_at(leaf as u32, 8).unwrap(), Place::Unnamed { offset_bytes: 8 });
}

#[test]
fn base_classes_in_a_circle_end() {
    let mut heap = Heap::new();
    heap.base("A", "B");
    heap.base("B", "A");
    let a = heap.object("A", 24, &[]);
    heap.link(a, a);
    assert_eq!(heap.graph().place(0, 0).unwrap(), Some(Place::Unnamed { offset_bytes: 8 }));
}

#[test]
fn roots_and_generations() {
    let mut heap = Heap::new();
    for _ in 0..4 {
        heap.object("Node", 32, &[]);
    }
    heap.root(0, RootRecord::STACK, 0);
    heap.root(1, RootRecord::HANDLE, RootRecord::PINNED | RootRecord::WEAK);
    heap.root(2, RootRecord::FINALIZER, 0);
    heap.root(3, 77, 0);
    heap.ranges = vec![(2, 0, 1), (0, 3, 3)];
    let graph = heap.graph();
    let kinds: Vec<_> = graph.roots().iter().map(|root| (root.object, root.kind, root.is_weak)).collect();
    let expected = [
        (0, RootKind::Stack, false),
        (1, RootKind::PinnedHandle, true),
        (2, RootKind::Finalizer, false),
        (3, RootKind::Other, false),
    ];
    assert_eq!(kinds, expected);
    let generations: Vec<_> = (0..4).map(|object| graph.generation_of(object)).collect();
    assert_eq!(generations, [Generation::Gen2, Generation::Gen2, Generation::Unknown, Generation::Gen0]);
    assert!(graph.completeness().is_whole());
}

#[test]
fn an_empty_file_is_an_empty_graph() {
    let graph = Heap::new().graph();
    assert!(graph.is_empty());
    assert!(graph.references(0).is_empty());
    assert_eq!((graph.size_bytes(0), graph.class_of(0)), (0, 0));
    assert_eq!(graph.record(0).unwrap(), None);
    assert_eq!(graph.place(0, 0).unwrap(), None);
}

#[test]
fn a_cut_file_is_a_smaller_graph() {
    let mut heap = Heap::new();
    let last = (0..50).fold(heap.object("Node", 32, &[]), |before, _| heap.object("Node", 32, &[before]));
    heap.handle(last);
    let file = heap.file();
    for len in 16..file.len() {
        let graph = load(file[..len].to_vec()).unwrap();
        assert!(graph.completeness().truncated.is_some());
        assert!(!graph.completeness().is_whole());
        assert!(graph.len() <= 51);
    }
}
