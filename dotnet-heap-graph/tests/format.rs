//! What is written comes back, and damage is noticed.

use std::io::Cursor;

use dotnet_heap_graph::Error;
use dotnet_heap_graph::format::{
    ClassName, ClassRecord, Damage, Decoder, EdgeRecord, FrameBuffer, FrameKind, GraphWriter, MAX_REFERENCES,
    MoreDecoder, Names, ObjectRecord, ObjectsDecoder, RangeRecord, Reader, Reference, RootRecord, StaticName,
    TextRecord, Writer,
};
use proptest::prelude::*;

type Objects = Vec<(ObjectRecord, Vec<Reference>)>;

const CLASSES: [ClassRecord; 3] = [
    ClassRecord { index: 0, id: 0x7f00_1000, flags: 0, size_units: 4, parent: None, element: None },
    ClassRecord {
        index: 1,
        id: 0x7f00_2000,
        flags: ClassRecord::STRING | ClassRecord::VARIES,
        size_units: 0,
        parent: Some(0),
        element: None,
    },
    ClassRecord {
        index: 2,
        id: 0x7f00_3000,
        flags: ClassRecord::ARRAY | ClassRecord::VARIES | ClassRecord::REFERENCES,
        size_units: 0,
        parent: Some(0),
        element: Some(1),
    },
];

fn object(class: u32, address: u64, size_units: u64, length: u64, hash: u64) -> ObjectRecord {
    ObjectRecord { address, class, size_units, length, hash, references: 0 }
}

fn reference(offset_bytes: u64, target: u64) -> Reference {
    Reference { offset_bytes, target }
}

fn small_objects() -> Objects {
    vec![
        (object(0, 0x1000, 4, 0, 0), vec![reference(8, 0x1020), reference(24, 0x2000)]),
        (object(1, 0x1020, 5, 9, 0x1234_5678_9abc_def0), vec![]),
        (object(2, 0x2000, 6, 3, 0), vec![reference(16, 0x1000), reference(32, 0x7fff_ffff_fff8)]),
        (object(0, 0x0800, 4, 0, 0), vec![reference(16, 0x0800)]),
    ]
}

fn names() -> Names {
    Names {
        classes: vec![ClassName {
            index: 0,
            name: "App.Order".into(),
            module: Some("App.dll".into()),
            fields: vec![(8, "lines".into())],
        }],
        statics: vec![StaticName { slot: 0x2010, name: "App.Order.last".into(), thread: false }],
        ..Names::default()
    }
}

fn root() -> RootRecord {
    RootRecord { address: 0x1000, kind: RootRecord::HANDLE, flags: RootRecord::PINNED, id: 0xabc0 }
}

fn edge() -> EdgeRecord {
    EdgeRecord { from: 0x1000, to: 0x1020, kind: EdgeRecord::DEPENDENT, id: 0xdef0 }
}

fn range() -> RangeRecord {
    RangeRecord {
        generation: RangeRecord::LARGE,
        start: 0x800,
        used_bytes: 0x4000,
        reserved_bytes: 0x10_0000,
    }
}

fn file_of(objects: &Objects) -> Vec<u8> {
    let mut writer = GraphWriter::new(Vec::new()).unwrap();
    writer.info(&serde_json::json!({ "pid": 42 })).unwrap();
    CLASSES.iter().for_each(|class| writer.class(class).unwrap());
    for (object, references) in objects {
        writer.object(&CLASSES[object.class as usize], object, references).unwrap();
    }
    writer.root(&root()).unwrap();
    writer.edge(&edge()).unwrap();
    writer.range(&range()).unwrap();
    writer.names(&names()).unwrap();
    writer.texts(&[TextRecord { address: 0x1020, text: "grüezi" }]).unwrap();
    writer.finish().unwrap()
}

fn open(file: &[u8]) -> Result<Reader, Error> {
    Reader::new(Cursor::new(file.to_vec()))
}

fn objects_of(reader: &Reader) -> Objects {
    let classes = reader.classes().unwrap();
    let mut buffer = FrameBuffer::default();
    let mut objects: Objects = Vec::new();
    for frame in reader.frames() {
        let payload = reader.payload(frame, &mut buffer).unwrap();
        if frame.kind() == FrameKind::MORE {
            let more = MoreDecoder::new(payload).unwrap();
            let (object, references) = objects.last_mut().unwrap();
            assert_eq!(more.address(), object.address);
            references.extend(more.map(Result::unwrap));
        }
        if frame.kind() != FrameKind::OBJECTS {
            continue;
        }
        let mut decoder = ObjectsDecoder::new(payload, &classes).unwrap();
        while let Some(object) = decoder.next_object() {
            let mut references = Vec::new();
            while let Some(reference) = decoder.next_reference() {
                references.push(reference.unwrap());
            }
            objects.push((ObjectRecord { references: 0, ..object.unwrap() }, references));
        }
    }
    objects
}

#[test]
fn all_records_come_back() {
    let reader = open(&file_of(&small_objects())).unwrap();
    assert_eq!(reader.truncated(), None);
    assert_eq!(reader.info::<serde_json::Value>().unwrap(), Some(serde_json::json!({ "pid": 42 })));
    assert_eq!(reader.classes().unwrap(), CLASSES);
    assert_eq!(objects_of(&reader), small_objects());
    let mut found = Vec::new();
    reader.for_each_names(|names| found.push(names)).unwrap();
    assert_eq!(found, [names()]);
    reader.for_each_record(|found| assert_eq!(root(), found)).unwrap();
    reader.for_each_record(|found| assert_eq!(edge(), found)).unwrap();
    reader.for_each_record(|found| assert_eq!(range(), found)).unwrap();
    let mut buffer = FrameBuffer::default();
    let frame = reader.frames_of(FrameKind::TEXTS).next().unwrap();
    let texts = Decoder::<TextRecord<'_>>::new(reader.payload(frame, &mut buffer).unwrap());
    assert_eq!(
        texts.collect::<Result<Vec<_>, _>>().unwrap(),
        [TextRecord { address: 0x1020, text: "grüezi" }]
    );
    let end = reader.end().unwrap();
    assert_eq!((end.objects, end.references, end.strings, end.object_bytes), (4, 5, 1, 19 * 8));
    assert_eq!((end.classes, end.roots, end.edges), (3, 1, 1));
}

#[test]
fn a_large_array_has_further_frames() {
    let length = 2 * MAX_REFERENCES as u64 + 5;
    let references: Vec<_> = (0..length).map(|i| reference(16 + i * 16, 0x1000)).collect();
    let objects = vec![
        (object(2, 0x1000, 3 + length * 2, length * 2, 0), references),
        (object(0, 0x1000 + (3 + length * 2) * 8, 4, 0, 0), vec![]),
    ];
    let reader = open(&file_of(&objects)).unwrap();
    assert_eq!(reader.frames_of(FrameKind::MORE).count(), 2);
    assert_eq!(objects_of(&reader), objects);
}

#[test]
fn unknown_frames_are_skipped() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.write_frame(FrameKind(200), b"of a newer version").unwrap();
    let reader = open(&writer.finish(Default::default()).unwrap()).unwrap();
    assert_eq!(reader.truncated(), None);
    assert_eq!(reader.classes().unwrap(), []);
}

#[test]
fn a_payload_has_at_most_4_mib() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let payload = vec![0; (4 << 20) + 1];
    writer.write_frame(FrameKind::TEXTS, &payload[1..]).unwrap();
    let error = writer.write_frame(FrameKind::TEXTS, &payload).unwrap_err();
    assert!(matches!(error, Error::FrameTooLarge { bytes } if bytes == payload.len()));
}

#[test]
fn counts_are_not_believed() {
    let mut payload = vec![0xff; 9];
    payload.push(1);
    payload.extend([0; 60]);
    let allocated = allocation_counter::measure(|| read_payload(&payload, &CLASSES));
    assert_eq!(allocated.count_total, 0, "decoders need no memory");
    let mut writer = Writer::new(Vec::new()).unwrap();
    for kind in
        [FrameKind::CLASSES, FrameKind::OBJECTS, FrameKind::ROOTS, FrameKind::EDGES, FrameKind::RANGES]
    {
        writer.write_frame(kind, &payload).unwrap();
    }
    let file = writer.finish(Default::default()).unwrap();
    let reader = open(&file).unwrap();
    let allocated = allocation_counter::measure(|| {
        assert!(reader.classes().is_err());
        assert!(reader.for_each_record(|_: RootRecord| {}).is_err());
    });
    assert!(allocated.bytes_max < 1 << 20, "{allocated:?}");
}

/// Reads all that can be read, for panics.
fn read_all(reader: &Reader) {
    let Ok(classes) = reader.classes() else { return };
    let mut buffer = FrameBuffer::default();
    for frame in reader.frames() {
        let Ok(payload) = reader.payload(frame, &mut buffer) else { continue };
        read_payload(payload, &classes);
    }
    let _ = reader.info::<serde_json::Value>();
    let _ = reader.for_each_names(|_| {});
}

/// Reads a payload as every kind.
fn read_payload(payload: &[u8], classes: &[ClassRecord]) {
    let _ = Decoder::<ClassRecord>::new(payload).count();
    let _ = Decoder::<RootRecord>::new(payload).count();
    let _ = Decoder::<EdgeRecord>::new(payload).count();
    let _ = Decoder::<RangeRecord>::new(payload).count();
    let _ = Decoder::<TextRecord<'_>>::new(payload).count();
    let _ = MoreDecoder::new(payload).map(Iterator::count);
    if let Ok(mut decoder) = ObjectsDecoder::new(payload, classes) {
        while let Some(object) = decoder.next_object() {
            if object.is_ok_and(|object| object.address % 16 == 0) {
                let _ = decoder.next_reference();
            }
        }
    }
}

#[test]
fn every_changed_byte_is_noticed() {
    let file = file_of(&small_objects());
    for at in 0..file.len() {
        for mask in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
            let mut changed = file.clone();
            changed[at] ^= mask;
            if let Ok(reader) = open(&changed) {
                let truncated = reader.truncated().unwrap_or_else(|| panic!("byte {at} with {mask}"));
                assert!(truncated.offset <= at as u64, "byte {at} with {mask}: {truncated}");
                read_all(&reader);
            }
        }
    }
}

#[test]
fn every_cut_is_noticed() {
    let file = file_of(&small_objects());
    for len in 0..file.len() {
        if let Ok(reader) = open(&file[..len]) {
            let truncated = reader.truncated().unwrap_or_else(|| panic!("{len} bytes"));
            assert!(matches!(truncated.damage, Damage::NoEnd | Damage::Cut), "{len} bytes: {truncated}");
            assert!(truncated.offset <= len as u64);
            read_all(&reader);
        }
    }
    let longer = [&file[..], b"x"].concat();
    assert_eq!(open(&longer).unwrap().truncated().unwrap().damage, Damage::BehindEnd);
}

proptest! {
    #[test]
    fn any_payload_is_read_without_a_panic(payload: Vec<u8>) {
        read_payload(&payload, &CLASSES);
    }

    #[test]
    fn any_objects_come_back(
        parts in prop::collection::vec(
            (0u32..3, 0u64..64, 1u64..64, any::<u64>(), prop::collection::vec((0u64..9, any::<u64>()), 0..9)),
            0..99,
        ),
    ) {
        let mut end = 0x10_0000_u64;
        let mut objects = Objects::new();
        for (class, gap, size_units, hash, references) in parts {
            let record = CLASSES[class as usize];
            let size_units = if record.varies() { size_units } else { record.size_units };
            let address = end + gap * 8 - 0x80;
            end = address + size_units * 8;
            let length = if record.varies() { hash % 1000 } else { 0 };
            let hash = if record.is_string() { hash } else { 0 };
            let mut at = if record.is_array() { 16 } else { 8 };
            let references = references.iter().map(|(skip, target)| {
                let reference = reference(at + skip * 8, target & 0xffff_ffff_fff8);
                at += skip * 8 + 8;
                reference
            });
            objects.push((object(class, address, size_units, length, hash), references.collect()));
        }
        prop_assert_eq!(objects_of(&open(&file_of(&objects)).unwrap()), objects);
    }
}
