//! Streams that are cut at their sequence points and read as one.

use dotnet_diagnostics_client::nettrace::raw::{EventBlock, ObjectSpan, RawReader, RepeatedEvent};
use dotnet_diagnostics_client::nettrace::{BlockKind, Item, Reader};

use crate::builder::{Stream, ev, metadata};
use crate::collect::{Got, drain, end_of, events, outline, whole};

/// Several sequence points, with stack ids that start again, a late definition, and content of odd lengths.
fn stream() -> Vec<u8> {
    Stream::new()
        .stacks(1, &[b"aaaaaaaa"])
        .events(&[ev(1, 1, 10).sorted().payload(b"x").stack(1), ev(2, 1, 11).payload(b"yz").stack(1)])
        .records(&[metadata(2, "Other", 9)])
        .events(&[ev(1, 2, 20).sorted().metadata(2).payload(b"abc")])
        .sequence_point(50, &[(1, 2), (2, 1)])
        .stacks(1, &[b"bbbbbbbb"])
        .events(&[ev(1, 3, 60).sorted().metadata(2).stack(1), ev(2, 2, 61).payload(b"abcde").stack(1)])
        .sequence_point(70, &[(1, 3), (2, 2)])
        .events(&[ev(1, 4, 80).sorted()])
        .sequence_point(90, &[(1, 4), (2, 2)])
        .end()
}

/// All objects of a stream in chunks of this size.
fn objects(stream: &[u8], chunk: usize) -> Vec<ObjectSpan> {
    let mut reader = Reader::new();
    let mut all = Vec::new();
    for bytes in stream.chunks(chunk) {
        reader.feed(bytes);
        all.extend_from_slice(reader.objects());
        drain(&mut reader);
    }
    all
}

fn bytes<'s>(stream: &'s [u8], object: &ObjectSpan) -> &'s [u8] {
    &stream[object.start as usize..object.end as usize]
}

/// Cuts at the sequence points. Each part ends with a sequence point, and the next one starts with the same.
fn cut(stream: &[u8]) -> Vec<Vec<u8>> {
    let objects = objects(stream, stream.len());
    let header = &stream[..objects[0].start as usize];
    let mut kept = Vec::new();
    let mut parts = Vec::new();
    let mut part = header.to_vec();
    for object in &objects {
        object.append(bytes(stream, object), &mut part, 0);
        match object.kind {
            BlockKind::TRACE | BlockKind::METADATA => kept.push(object),
            BlockKind::SEQUENCE_POINT => {
                let mut next = header.to_vec();
                for object in kept.iter().chain([&object]) {
                    object.append(bytes(stream, object), &mut next, 0);
                }
                part.push(1);
                parts.push(std::mem::replace(&mut part, next));
            }
            _ => {}
        }
    }
    parts
}

/// Reads the parts in this order, as one stream.
fn read_parts(parts: &[&Vec<u8>]) -> Vec<Got> {
    let mut reader = Reader::new();
    let mut all = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            reader.next_part();
        }
        reader.feed(part);
        all.extend(drain(&mut reader));
    }
    all
}

#[test]
fn objects_are_told_however_the_stream_is_chunked() {
    let stream = stream();
    let at_once = objects(&stream, stream.len());
    for chunk in [1, 2, 3, 7, 64, 1000] {
        assert_eq!(objects(&stream, chunk), at_once, "chunks of {chunk}");
    }
    assert_eq!(at_once[0].kind, BlockKind::TRACE);
    assert_eq!(at_once[0].start, 32, "after the header");
    assert!(at_once.windows(2).all(|pair| pair[0].end == pair[1].start), "nothing lies between two");
    assert_eq!(at_once.last().map(|last| last.end as usize), Some(stream.len() - 1), "all but the end tag");
}

#[test]
fn a_moved_object_is_aligned_anew_and_says_the_same() {
    let stream = stream();
    let objects = objects(&stream, stream.len());
    for shift in 0..4_u64 {
        for object in objects.iter().filter(|object| object.kind != BlockKind::TRACE) {
            let mut moved = Vec::new();
            object.append(bytes(&stream, object), &mut moved, shift);
            let mut back = Vec::new();
            // Where it came from, with the padding it had there.
            object.append(bytes(&stream, object), &mut back, object.start);
            assert_eq!(back, bytes(&stream, object));
            let content = moved.len() as u64 + shift - 1;
            let unmoved = object.end - 1;
            let name = |bytes: &[u8]| bytes[15..25].to_vec();
            assert_eq!(name(&moved), name(bytes(&stream, object)));
            // Both contents start at a multiple of 4, so both ends are equally far from one.
            assert_eq!(content % 4, unmoved % 4, "{:?} moved by {shift}", object.kind);
        }
    }
}

#[test]
fn each_part_can_be_read_alone_and_loses_nothing() {
    let all = whole(&stream());
    let parts = cut(&stream());
    assert_eq!(parts.len(), 3);
    let mut from_parts = Vec::new();
    for part in &parts {
        let got = whole(part);
        assert_eq!(end_of(&got), (true, 0, 0));
        from_parts.extend(events(&got).into_iter().cloned());
    }
    let from_all: Vec<_> = events(&all).into_iter().cloned().collect();
    assert_eq!(from_parts, from_all, "each event once, with its description, payload and stack");
}

#[test]
fn parts_in_a_row_are_the_whole() {
    let parts = cut(&stream());
    let all = read_parts(&parts.iter().collect::<Vec<_>>());
    assert_eq!(outline(&all), outline(&whole(&stream())));
    assert_eq!(end_of(&all), (true, 0, 0));
}

#[test]
fn a_part_that_is_missing_between_two_is_lost_events() {
    let parts = cut(&stream());
    let all = read_parts(&[&parts[0], &parts[2]]);
    assert!(all.contains(&Got::Lost { thread: 1, events: 1, before: 70 }), "{all:?}");
    assert!(all.contains(&Got::Lost { thread: 2, events: 1, before: 70 }), "{all:?}");
    assert_eq!(end_of(&all), (true, 2, 0));
}

#[test]
fn repeated_events_are_read_in_front_of_a_part_and_nothing_is_missed() {
    let stream = stream();
    let mut reader = Reader::new();
    reader.feed(&stream);
    let mut first = Vec::new();
    while let Ok(Some(item)) = reader.next_item() {
        if let Item::Event(event) = item {
            first.push(RepeatedEvent::from(&event));
        }
    }
    let parts = cut(&stream);
    // Two blocks of a thread id that no thread has, after the first sequence point of the last part.
    let mut blocks = EventBlock::new(0);
    blocks.push(&first[0]);
    blocks.push(&first[1]);
    let mut more = blocks.next();
    more.push(&first[2]);
    let part = &parts[2];
    let point = objects(part, part.len()).into_iter().find(|o| o.kind == BlockKind::SEQUENCE_POINT).unwrap();
    let mut with = part[..point.end as usize].to_vec();
    blocks.append(&mut with, 0);
    more.append(&mut with, 0);
    let mut moved = 0;
    for object in objects(part, part.len()).iter().filter(|object| object.start >= point.end) {
        object.append(bytes(part, object), &mut with, 0);
        moved += 1;
    }
    with.push(1);
    assert!(moved >= 2);
    let got = whole(&with);
    assert_eq!(outline(&got), [10, 11, 20, 80]);
    assert_eq!(end_of(&got), (true, 0, 0));
    let events = events(&got);
    let told = |n: usize| (events[n].payload.as_slice(), events[n].metadata.event_id, events[n].sequence);
    assert_eq!((told(0), told(1), told(2)), ((&b"x"[..], 7, 1), (&b"yz"[..], 7, 2), (&b"abc"[..], 9, 3)));
    assert_eq!(events[2].thread, 0, "its capture thread");
}
