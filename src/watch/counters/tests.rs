//! Tests with streams as a runtime sends them: the fields of a counter are named, inside an object without a use.

use super::*;
use crate::watch::decoder::{Decoder, StreamItem};

// Type codes of fields.
const OBJECT: u32 = 1;
const INT32: u32 = 9;
const FLOAT32: u32 = 13;
const FLOAT64: u32 = 14;
const STRING: u32 = 18;

const HEAD: &[u8] =
    b"Nettrace\x14\0\0\0!FastSerialization.1\x05\x05\x01\x04\0\0\0\x04\0\0\0\x05\0\0\0Trace\x06";

fn text(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn numbers(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The object of a list of fields: their number, and type and name of each.
fn fields(fields: &[(u32, &str)]) -> Vec<u8> {
    let field = |(kind, name): &(u32, &str)| [numbers(&[*kind]), text(name)].concat();
    [numbers(&[fields.len() as u32]), fields.iter().flat_map(field).collect()].concat()
}

/// A definition of an event of counters, with these fields in its wrapper.
fn definition(id: u32, inside: &[(u32, &str)]) -> Vec<u8> {
    [
        numbers(&[id]),
        text(PROVIDER),
        numbers(&[0]),
        text(EVENT),
        numbers(&[0, 0, 0, 4]),
        numbers(&[1, OBJECT]),
        fields(inside),
        text("Payload"),
    ]
    .concat()
}

fn block(name: &str, blobs: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut content = [vec![20, 0, 0, 0], vec![0; 16]].concat();
    for (n, (id, payload)) in blobs.iter().enumerate() {
        let head = [numbers(&[*id, n as u32 + 1, 7, 0, 7, 0, 0, 0, 5, 0]), vec![0; 32]].concat();
        let blob = [head, numbers(&[payload.len() as u32]), payload.clone()].concat();
        content.extend(numbers(&[blob.len() as u32]));
        content.extend(blob);
        content.resize(content.len().next_multiple_of(4), 0);
    }
    [vec![5, 5, 1, 2, 0, 0, 0, 2, 0, 0, 0], numbers(&[name.len() as u32]), name.as_bytes().to_vec(), vec![6]]
        .concat()
        .into_iter()
        .chain(numbers(&[content.len() as u32]))
        .chain(content)
        .collect()
}

/// The stream's bytes; its blocks begin at multiples of four.
fn stream(events: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mean = definition(
        1,
        &[
            (STRING, "Name"),
            (STRING, "DisplayName"),
            (FLOAT64, "Mean"),
            (INT32, "Count"),
            (FLOAT32, "IntervalSec"),
            (STRING, "Series"),
        ],
    );
    let increment = definition(
        2,
        &[(STRING, "Name"), (STRING, "DisplayName"), (FLOAT64, "Increment"), (FLOAT32, "IntervalSec")],
    );
    let mut stream = HEAD.to_vec();
    stream.extend([2026_u16, 11, 6, 21, 3, 22, 59, 7].into_iter().flat_map(u16::to_le_bytes));
    stream.extend([0; 8]);
    stream.extend(1_000_000_000_i64.to_le_bytes());
    stream.extend(numbers(&[8, 42, 2, 0]));
    stream.push(6);
    for (name, blobs) in [("MetadataBlock", vec![(0, mean), (0, increment)]), ("EventBlock", events.to_vec())]
    {
        let block = block(name, &blobs);
        // The content of a block is aligned: the name and its length come before it.
        let at = stream.len() + 15 + name.len() + 1;
        let split = 11 + 4 + name.len() + 1 + 4;
        stream.extend(&block[..split]);
        stream.resize(stream.len() + (at + 4).next_multiple_of(4) - (at + 4), 0);
        stream.extend(&block[split..]);
        stream.push(6);
    }
    stream.push(1);
    stream
}

fn heap(megabytes: f64) -> (u32, Vec<u8>) {
    let payload = [
        text("gc-heap-size"),
        text("GC Heap Size"),
        megabytes.to_le_bytes().to_vec(),
        numbers(&[1]),
        1.0_f32.to_le_bytes().to_vec(),
        text("Interval=1000"),
    ];
    (1, payload.concat())
}

fn allocated(bytes: f64, seconds: f32) -> (u32, Vec<u8>) {
    let payload = [
        text("alloc-rate"),
        text("Allocation Rate"),
        bytes.to_le_bytes().to_vec(),
        seconds.to_le_bytes().to_vec(),
    ];
    (2, payload.concat())
}

fn read(events: &[(u32, Vec<u8>)]) -> Counters {
    let mut decoder = Decoder::default();
    decoder.reader.feed(&stream(events));
    decoder.reader.finish();
    let (mut reader, mut seen) = (CounterReader::default(), 0);
    while let Some(item) = decoder.next() {
        match item {
            StreamItem::Event { event: Some(event), .. } => {
                seen += 1;
                reader.add(&event, 9);
            }
            StreamItem::End { .. } => break,
            _ => {}
        }
    }
    assert_eq!(seen, events.len(), "the stream of the test is whole");
    reader.now
}

#[test]
fn the_last_values_count_and_not_the_first_rate() {
    let now = read(&[heap(0.891176), allocated(71_960.0, 1.0)]);
    assert_eq!((now.heap_bytes, now.allocated_per_s, now.at_ns), (Some(891_176), None, 9));
    let now = read(&[heap(3.0), allocated(7e6, 1.0), heap(0.924072), allocated(16_400.0, 2.0)]);
    assert_eq!((now.heap_bytes, now.allocated_per_s), (Some(924_072), Some(8200)));
}

#[test]
fn a_target_can_send_anything() {
    for wrong in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
        let now = read(&[heap(wrong), allocated(1.0, 1.0), allocated(wrong, 1.0)]);
        assert_eq!((now.heap_bytes, now.allocated_per_s), (None, None), "{wrong}");
    }
    assert_eq!(read(&[allocated(1.0, 1.0), allocated(1.0, 0.0)]).allocated_per_s, None);
    let whole = heap(1.0);
    for end in 0..whole.1.len() {
        let now = read(&[(1, whole.1[..end].to_vec())]);
        assert!(now.heap_bytes.is_none_or(|bytes| bytes == 1_000_000), "{end}");
    }
    let long = [vec![b'x'; 1 << 16], vec![0; 64]].concat();
    assert_eq!(read(&[(1, long)]).heap_bytes, None);
}
