//! `.gcdump` files that this program writes. Microsoft's own classes read them in `tests/it/graph/exchange.rs`.

use std::collections::BTreeMap;
use std::io::Cursor;

use dotnet_heap_graph::exchange::gcdump::{self, Description};
use dotnet_heap_graph::exchange::{Counts, Error};
use dotnet_heap_graph::format::{
    ClassName, ClassRecord, EdgeRecord, GraphWriter, Names, ObjectRecord, RangeRecord, Reader, Reference,
    RootRecord, StaticName,
};
use dotnet_heap_graph::{Generation, Graph, Limits};

use crate::oracle::{Heap, data, import, load};
use crate::snapshot_read;

/// A `.gcdump` file of a `.gcgraph` file.
fn export(file: Vec<u8>, description: &Description) -> (Vec<u8>, Counts) {
    let reader = Reader::new(Cursor::new(file)).unwrap();
    gcdump::write(&reader, description, Vec::new()).unwrap()
}

/// Kind, flags and address of each root.
fn roots(graph: &Graph) -> BTreeMap<String, Vec<u64>> {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for root in graph.roots().iter().filter(|root| !root.is_weak) {
        let field = graph.statics().iter().find(|field| field.slot == root.id);
        let name = format!("{:?} {:?}", root.kind, field.map(|field| &field.name));
        all.entry(name).or_default().push(graph.address(root.object));
    }
    all.values_mut().for_each(|objects| objects.sort_unstable());
    all
}

#[test]
fn what_was_read_of_another_tool_comes_back() {
    let (file, ..) = import(&data("holders-9.0.18.gcdump")).unwrap();
    let before = load(file.clone());
    let (gcdump, counts) = export(file, &Description::default());
    assert_eq!((counts.objects, counts.references_to_nowhere, counts.impossible), (577, 0, 0));
    let (file, _, again) = import(&gcdump).unwrap();
    assert_eq!(
        (again.objects, again.references, again.roots),
        (counts.objects, counts.references, counts.roots)
    );
    let after = load(file);
    Heap::of(&after).assert_same_objects(&Heap::of(&before));
    assert_eq!(roots(&after), roots(&before));
}

#[test]
fn static_fields_in_arrays_become_roots() {
    let (file, ..) = snapshot_read::import(&data("holders-9.0.18.nettrace"), 0).unwrap();
    let before = load(file.clone());
    let (gcdump, counts) = export(file, &Description::default());
    let after = load(import(&gcdump).unwrap().0);
    assert_eq!(counts.objects, u64::from(after.len()));
    assert_eq!(counts.edges, before.edges().len() as u64);
    assert_eq!(after.reference_count(), before.reference_count());
    let kept = roots(&after).into_iter().find(|(name, _)| name == "Static Some(\"kept\")").unwrap().1;
    assert_eq!(kept.len(), 1);
    let names: Vec<_> = after.statics().iter().map(|field| &field.name).collect();
    assert!(before.statics().iter().all(|field| names.contains(&&field.name)));
}

/// A graph of one class with a name, one without, and everything that the format has beside.
fn everything() -> Vec<u8> {
    let mut writer = GraphWriter::new(Vec::new()).unwrap();
    let node = ClassRecord { index: 0, id: 1, size_units: 4, ..ClassRecord::default() };
    let flags = ClassRecord::ARRAY | ClassRecord::VARIES;
    let array = ClassRecord { index: 1, id: 0xabc, flags, ..ClassRecord::default() };
    writer.class(&node).unwrap();
    writer.class(&array).unwrap();
    let at =
        |address, class, size_units| ObjectRecord { address, class, size_units, ..ObjectRecord::default() };
    let to = |offset_bytes, target| Reference { offset_bytes, target };
    writer.object(&node, &at(0x1000, 0, 4), &[to(8, 0x1020), to(16, 0x9990)]).unwrap();
    writer.object(&node, &at(0x1020, 0, 4), &[]).unwrap();
    // More references than one frame has.
    let many: Vec<_> = (0..200_000).map(|number| to(16 + 8 * number, 0x1000)).collect();
    writer.object(&array, &at(0x10_0000, 1, 200_003), &many).unwrap();
    writer.object(&array, &at(0x100_0000, 1, 1 << 30), &[]).unwrap();
    let root = |address, kind, flags, id| RootRecord { address, kind, flags, id };
    for root in [
        root(0x1000, RootRecord::STACK, 0, 0),
        root(0x1038, RootRecord::STACK, RootRecord::INTERIOR | RootRecord::PINNED, 0),
        root(0x10_0000, RootRecord::HANDLE, RootRecord::PINNED, 5),
        root(0x10_0000, RootRecord::HANDLE, RootRecord::WEAK, 6),
        root(0x100_0000, RootRecord::FINALIZER, 0, 0),
        root(0x1000, RootRecord::HANDLE, RootRecord::REFERENCE_COUNTED, 7),
        root(0x1000, RootRecord::STATIC, 0, 0x70),
        root(0x8880, RootRecord::HANDLE, 0, 8),
    ] {
        writer.root(&root).unwrap();
    }
    writer.edge(&EdgeRecord { from: 0x1020, to: 0x1000, kind: EdgeRecord::DEPENDENT, id: 9 }).unwrap();
    let range =
        |generation, start| RangeRecord { generation, start, used_bytes: 0x1000, reserved_bytes: 0x2000 };
    writer.range(&range(2, 0x1000)).unwrap();
    writer.range(&range(RangeRecord::LARGE, 0x10_0000)).unwrap();
    let class =
        ClassName {
            index: 0, name: "Größe.𝔘日<T>".into(), module: Some("a.dll".into()), fields: vec![]
        };
    let fields = [(0x70, "A.One", false), (0x10_0000 + 24, "A.Two", true)];
    let statics = fields.map(|(slot, name, thread)| StaticName { slot, name: name.into(), thread });
    let names = Names { classes: vec![class], statics: statics.into(), ..Names::default() };
    writer.names(&names).unwrap();
    writer.finish().unwrap()
}

#[test]
fn everything_that_the_format_can_say_is_said() {
    let mut description = Description::default();
    description.process_name = Some("app".into());
    description.process_id = Some(42);
    description.machine_name = Some("host".into());
    description.collected_ticks = Some(638_000_000_000_000_000);
    description.tool = Some("gcwatch".into());
    let (gcdump, counts) = export(everything(), &description);
    assert_eq!((counts.objects, counts.references, counts.roots, counts.edges), (4, 200_002, 6, 1));
    assert_eq!((counts.references_to_nowhere, counts.oversized, counts.impossible), (2, 1, 0));

    let (file, found, again) = import(&gcdump).unwrap();
    assert_eq!(found, description);
    assert_eq!((again.objects, again.references, again.references_to_nowhere), (4, 200_002, 0));
    let graph = load(file);
    let object = |address| graph.object_at(address).unwrap();
    let class = graph.class(graph.class_of(object(0x1000))).unwrap();
    assert_eq!((class.name.as_deref(), class.module.as_deref()), (Some("Größe.𝔘日<T>"), Some("a.dll")));
    let class = graph.class(graph.class_of(object(0x10_0000))).unwrap();
    assert_eq!(class.name.as_deref(), Some("unknown class 0xabc"));
    assert_eq!(graph.size_bytes(object(0x10_0000)), 200_003 * 8);
    assert_eq!(graph.size_bytes(object(0x100_0000)), 1 << 31);
    assert_eq!(graph.references(object(0x10_0000)), vec![object(0x1000); 200_000]);
    assert_eq!(graph.references(object(0x1020)), [object(0x1000)]);
    assert_eq!(graph.generation_of(object(0x1000)), Generation::Gen2);
    assert_eq!(graph.generation_of(object(0x10_0000)), Generation::Large);
    let expected: [(&str, &[u64]); 6] = [
        ("CountedHandle None", &[0x1000]),
        ("Finalizer None", &[0x100_0000]),
        ("Static Some(\"A.One\")", &[0x1000]),
        ("Static Some(\"A.Two\")", &[0x1000]),
        ("PinnedHandle None", &[0x10_0000]),
        ("Stack None", &[0x1000, 0x1020]),
    ];
    assert_eq!(roots(&graph), expected.map(|(name, objects)| (name.to_owned(), objects.to_vec())).into());
    let thread: Vec<_> =
        graph.statics().iter().filter(|field| field.thread).map(|field| &field.name).collect();
    assert_eq!(thread, ["A.Two"]);
}

#[test]
fn a_graph_that_is_cut_or_changed_does_no_harm() {
    let whole = everything();
    let mut random = fastrand::Rng::with_seed(3);
    for round in 0..300 {
        let mut file = whole.clone();
        if round % 2 == 0 {
            file.truncate(random.usize(16..whole.len()));
        } else {
            // In a payload: the checksum is made right again.
            let place = random.usize(16..file.len());
            file[place] ^= 1 << random.u32(..8);
            repair(&mut file);
        }
        let Ok(reader) = Reader::new(Cursor::new(file)) else { continue };
        match gcdump::write(&reader, &Description::default(), Vec::new()) {
            Ok((gcdump, _)) => {
                import(&gcdump).unwrap();
            }
            Err(Error::Graph(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Makes the checksums of all frames right.
fn repair(file: &mut [u8]) {
    let mut at = 16;
    while let Some(head) = file.get(at..at + 16) {
        let stored = u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize;
        let Some(frame) = file.get_mut(at..at + 16 + stored) else { return };
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&frame[..12]);
        checksum.update(&frame[16..]);
        frame[12..16].copy_from_slice(&checksum.finalize().to_le_bytes());
        at += 16 + stored;
    }
}

#[test]
fn a_graph_without_objects_is_a_file() {
    let file = GraphWriter::new(Vec::new()).unwrap().finish().unwrap();
    let (gcdump, counts) = export(file, &Description::default());
    assert_eq!(counts, Counts::default());
    let graph = Graph::load(Reader::new(Cursor::new(import(&gcdump).unwrap().0)).unwrap(), Limits::default());
    assert_eq!(graph.unwrap().len(), 0);
}
