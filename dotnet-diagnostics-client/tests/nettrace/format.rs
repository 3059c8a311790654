//! Decoding of each part of version 4.

use dotnet_diagnostics_client::nettrace::raw::RawReader;
use dotnet_diagnostics_client::nettrace::{Error, FieldType, Item, Reader};

use crate::builder::{Bytes, Stream, block_header, ev, metadata, uncompressed};
use crate::collect::{Got, end_of, events, failures, outline, whole};

#[test]
fn the_trace_object() {
    let mut reader = Reader::new();
    reader.feed(&Stream::new().end());
    let Ok(Some(Item::Trace(trace))) = reader.next_item() else { panic!("no trace first") };
    assert_eq!((trace.version, trace.process_id, trace.processors, trace.pointer_size), (4, 42, 2, 8));
    assert_eq!(
        (trace.sync_timestamp, trace.frequency, trace.sampling_period_ns),
        (1_000, 10_000_000, 1_000_000)
    );
    // `date -u -d '2026-11-21 03:22:59' +%s`
    assert_eq!(trace.sync_time_utc, 1_795_231_379_007_000_000);
    assert_eq!(trace.nanoseconds(1_003), 300);
    assert_eq!(reader.trace().map(|trace| trace.process_id), Some(42));
}

#[test]
fn compressed_headers_carry_over_what_they_leave_out() {
    let block = block_header(true)
        // All fields.
        .u8(0xff)
        .vars([1, 4, 77, 1, 78, 9, 1_000])
        .raw([[0x11; 16], [0x22; 16]].concat())
        .var(2)
        .raw("ab")
        // Only the time, sorted.
        .u8(0x40)
        .var(5)
        .raw("cd")
        // A time that is earlier by 3, another activity, an empty payload.
        .u8(0xd0)
        .var(3_u64.wrapping_neg())
        .raw([0x33; 16])
        .var(0);
    let stream = Stream::new().stacks(9, &[b"12345678"]).block("EventBlock", 2, block).end();
    let all = whole(&stream);
    let events = events(&all);
    let [a, b, c] = events.as_slice() else { panic!("{all:?}") };
    assert_eq!((a.sequence, a.thread, a.processor, a.at, &*a.payload), (5, 77, 1, 1_000, &b"ab"[..]));
    assert_eq!((b.sequence, b.thread, b.processor, b.at, &*b.payload), (6, 77, 1, 1_005, &b"cd"[..]));
    assert_eq!((c.sequence, c.at, &*c.payload), (7, 1_002, &b""[..]));
    assert_eq!((a.activity_ids, c.activity_ids), ([[0x11; 16], [0x22; 16]], [[0x33; 16], [0x22; 16]]));
    assert_eq!((&*a.stack, &*b.stack), (&b"12345678"[..], &b"12345678"[..]));
}

#[test]
fn uncompressed_events() {
    let block = uncompressed(&[ev(5, 1, 10).sorted().payload(b"odd"), ev(5, 2, 11).payload(b"even")]);
    let all = whole(&Stream::new().block("EventBlock", 2, block).end());
    let events = events(&all);
    let [a, b] = events.as_slice() else { panic!("{all:?}") };
    assert_eq!((a.sequence, a.thread, a.processor, a.at, &*a.payload), (1, 5, 3, 10, &b"odd"[..]));
    assert_eq!(
        (b.sequence, b.at, &*b.payload, b.activity_ids),
        (2, 11, &b"even"[..], [[0xaa; 16], [0xbb; 16]])
    );
    assert_eq!(failures(&all), [] as [&Error; 0]);
}

#[test]
fn an_event_in_time_goes_at_once_only_if_it_is_sorted() {
    let events = [ev(5, 1, 10).sorted(), ev(5, 2, 11)];
    for block in [uncompressed(&events), crate::builder::compressed(&events)] {
        let mut reader = Reader::new();
        reader.feed(&Stream::new().block("EventBlock", 2, block).0);
        assert_eq!(outline(&crate::collect::drain(&mut reader)), [10]);
        assert_eq!(reader.held_events(), 1);
    }
}

#[test]
fn metadata_records() {
    let text = metadata(1, "Old", 3).u32(2).u32(18).text("text");
    let v1_fields = text.u32(1).u32(1).u32(9).text("inner").text("object").raw(b"\x01\0\0\0\x01\x07");
    let array = Bytes::new().text("list").u32(19).u32(7).raw("padding");
    let v2 = Bytes::new().u32(1).u32(array.0.len() as u32 + 4).raw(&array.0);
    let tagged =
        metadata(2, "New", 4).u32(0).u32(v2.0.len() as u32).u8(2).raw(&v2.0).u32(3).u8(99).raw("???");
    let damaged_fields = metadata(3, "Bare", 5).u32(u32::MAX);
    let stream = Stream::without_metadata().records(&[v1_fields, tagged, damaged_fields]).events(&[
        ev(1, 1, 1).metadata(1),
        ev(1, 2, 2).metadata(2),
        ev(1, 3, 3).metadata(3),
    ]);
    let all = whole(&stream.end());
    let events = events(&all);
    let [old, new, bare] = events.as_slice() else { panic!("{all:?}") };
    let (old, new, bare) = (&old.metadata, &new.metadata, &bare.metadata);
    assert_eq!((&*old.provider, old.event_id, old.keywords, old.version, old.level), ("Old", 3, 0x11, 2, 4));
    assert_eq!(
        (old.opcode, &*old.fields[0].name, &old.fields[0].field_type),
        (Some(7), "text", &FieldType::Utf16)
    );
    let FieldType::Struct(inner) = &old.fields[1].field_type else { panic!("{:?}", old.fields) };
    assert_eq!((&*old.fields[1].name, &*inner[0].name), ("object", "inner"));
    let FieldType::Array(list) = &new.fields[0].field_type else { panic!("{:?}", new.fields) };
    assert_eq!((&*new.fields[0].name, &list.element), ("list", &FieldType::I16));
    assert_eq!((&*bare.provider, bare.event_id, bare.fields.len()), ("Bare", 5, 0));
}

#[test]
fn metadata_can_be_said_again_and_otherwise() {
    let stream = Stream::new()
        .events(&[ev(1, 1, 1)])
        .records(&[metadata(1, "P", 7)])
        .records(&[metadata(1, "Q", 8)])
        .events(&[ev(1, 2, 2)]);
    let all = whole(&stream.end());
    let providers: Vec<_> = events(&all).iter().map(|event| event.metadata.provider.clone()).collect();
    assert_eq!(providers, ["P".into(), "Q".into()], "a held event keeps what it meant");
}

#[test]
fn stacks_are_those_of_their_stretch() {
    let stream = Stream::new()
        .stacks(1, &[b"aaaaaaaa", b""])
        .stacks(3, &[b"cccccccc"])
        .events(&[ev(1, 1, 1).stack(1), ev(1, 2, 2).stack(2), ev(1, 3, 3).stack(3), ev(1, 4, 4).stack(4)])
        .sequence_point(5, &[(1, 4)])
        .events(&[ev(1, 5, 6).stack(3)])
        .stacks(1, &[b"dddddddd"])
        .events(&[ev(1, 6, 7).stack(1)]);
    let all = whole(&stream.end());
    let stacks: Vec<_> =
        events(&all).iter().map(|event| String::from_utf8_lossy(&event.stack).into_owned()).collect();
    assert_eq!(stacks, ["aaaaaaaa", "", "cccccccc", "", "", "dddddddd"]);
}

#[test]
fn unknown_blocks_are_passed_over() {
    let stream = Stream::new()
        .block("NewBlock", 2, Bytes::new().raw("whatever"))
        .block("EventBlock", 3, Bytes::new().raw("a layout of the future"))
        .block("NewBlock", 2, Bytes::new())
        .events(&[ev(1, 1, 1)]);
    let all = whole(&stream.end());
    assert_eq!(outline(&all), [1]);
    assert_eq!(end_of(&all), (true, 0, 0));
}

#[test]
fn what_is_no_nettrace_stream_is_refused_by_name() {
    let first = |bytes: &[u8]| match whole(bytes).first() {
        Some(Got::Failed(error)) => error.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(first(b""), Error::Empty);
    // This could still have become one.
    assert!(
        matches!(whole(b"Nett")[..], [Got::End { clean: false, unparsed: 4, .. }]),
        "{:?}",
        whole(b"Nett")
    );
    assert_eq!(first(b"\x7fELF\x02\x01\x01\0\0\0"), Error::NotNettrace);
    assert_eq!(first(b"\x14\0\0\0!FastSerialization.1"), Error::NetPerf);
    assert_eq!(first(b"Nettrace\0\0\0\0\x07\0\0\0\0\0\0\0"), Error::UnsupportedVersion { version: 7 });
    let mut newer = Stream::without_metadata().0;
    assert_eq!(newer[39], 4, "the reader version of the trace object");
    newer[39] = 6;
    assert_eq!(first(&newer), Error::UnsupportedVersion { version: 6 });
    assert!(matches!(first(b"Nettrace\x15\0\0\0!FastSerialization.1"), Error::Container { offset: 8, .. }));
}

#[test]
fn boundaries_are_where_a_file_can_be_cut() {
    let head = Stream::new();
    let all = head.clone().events(&[ev(1, 1, 1)]);
    let mut reader = Reader::new();
    reader.feed(&all.0[..all.0.len() - 1]);
    assert_eq!(reader.boundary(), head.0.len() as u64);
    reader.feed(&all.0[all.0.len() - 1..]);
    assert_eq!(reader.boundary(), all.0.len() as u64);
    let cut = whole(&all.end());
    assert_eq!((outline(&cut), end_of(&cut)), (vec![1], (true, 0, 0)));
}
