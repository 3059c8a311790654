//! Damaged streams and random bytes: no panic, and everything readable is read.

use dotnet_diagnostics_client::nettrace::{BlockKind, Error, Limits, Reader};
use proptest::prelude::*;

use crate::builder::{Bytes, Stream, block_header, ev, metadata};
use crate::collect::{Got, drain, end_of, failures, in_chunks, outline, whole};

const SMALL: &[u8] = include_bytes!("../data/gccollect-ws-9.0.18.nettrace");

/// The streams to damage.
fn samples() -> [Vec<u8>; 2] {
    let built = Stream::new()
        .stacks(1, &[b"aaaaaaaa", b"bbbbbbbb"])
        .events(&[
            ev(1, 1, 10).sorted().stack(1).payload(b"hello"),
            ev(1, 2, 15).stack(2),
            ev(2, 1, 12).sorted(),
        ])
        .block("EventBlock", 2, crate::builder::uncompressed(&[ev(3, 1, 16).sorted().payload(b"abc")]))
        .sequence_point(20, &[(1, 2), (2, 2), (3, 1)])
        .events(&[ev(1, 3, 21).sorted()]);
    [built.end(), crate::version6::sample()]
}

#[test]
fn a_stream_cut_anywhere_gives_what_it_holds() {
    for stream in samples() {
        let complete = outline(&whole(&stream));
        let mut before = 0;
        for len in 0..stream.len() {
            let got = whole(&stream[..len]);
            assert!(!end_of(&got).0, "cut at {len}");
            let fatal = failures(&got);
            assert!(len < 8 || fatal.is_empty(), "cut at {len}: {fatal:?}");
            let events = outline(&got).len();
            assert!(events <= complete.len() && events + 1 >= before, "cut at {len}");
            before = events;
        }
    }
}

#[test]
fn any_single_byte_may_be_wrong() {
    for stream in samples() {
        for at in 0..stream.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = stream.clone();
                damaged[at] ^= flip;
                let got = whole(&damaged);
                assert!(matches!(got.last(), Some(Got::End { .. })), "byte {at} with {flip:#x}");
                assert_eq!(in_chunks(&damaged, &[1]), got, "byte {at} with {flip:#x}");
            }
        }
    }
}

#[test]
fn a_real_recording_damaged_at_many_places() {
    // A prime step reaches all alignments of the format, and headers of blocks too.
    for at in (0..SMALL.len()).step_by(149) {
        let mut damaged = SMALL.to_vec();
        damaged[at] ^= 0x55;
        let got = whole(&damaged);
        assert!(matches!(got.last(), Some(Got::End { .. })), "byte {at}");
        let (clean, ..) = end_of(&got);
        assert!(
            clean || !failures(&got).is_empty() || at >= SMALL.len() - 1,
            "byte {at}: an end without a reason"
        );
        assert!(!end_of(&whole(&SMALL[..at])).0);
    }
}

#[test]
fn what_comes_after_a_damaged_block_is_read() {
    let good = Stream::new();
    let broken = good.clone().block("EventBlock", 2, block_header(true).u8(0x8f).var(1).raw([0xff; 11]));
    let all = whole(&broken.clone().events(&[ev(1, 1, 30).sorted()]).end());
    let [Error::Block { block: BlockKind::EVENT, block_offset, offset, .. }] = failures(&all)[..] else {
        panic!("{all:?}")
    };
    assert_eq!(*offset, block_offset + 24, "the event that is damaged");
    assert_eq!(outline(&all), [30]);
    assert_eq!(end_of(&all), (true, 0, 13));
}

#[test]
fn damage_between_objects_ends_the_stream_with_what_was_held() {
    let mut stream = Stream::new().events(&[ev(1, 1, 10).sorted(), ev(1, 2, 11)]);
    let intact = stream.0.len();
    stream.0.extend(b"noise");
    let all = whole(&stream.0);
    assert_eq!(outline(&all), [10, 11]);
    assert!(
        matches!(failures(&all)[..], [Error::Container { offset, .. }] if *offset == intact as u64),
        "{all:?}"
    );
    assert!(failures(&all)[0].is_fatal());
    assert_eq!(end_of(&all), (false, 0, 5));
}

#[test]
fn events_without_metadata_are_told_once() {
    let stream = Stream::new().events(&[
        ev(1, 1, 10).sorted().metadata(5).payload(b"1234"),
        ev(1, 2, 11).metadata(5).payload(b"1234"),
        ev(1, 3, 12),
    ]);
    let all = whole(&stream.end());
    assert!(matches!(failures(&all)[..], [Error::UnknownMetadata { id: 5, .. }]), "{all:?}");
    assert_eq!((outline(&all), end_of(&all)), (vec![12], (true, 0, 8)));
}

#[test]
fn one_damaged_record_does_not_hide_the_others() {
    let stream = Stream::without_metadata()
        .records(&[metadata(1, "P", 1), Bytes::new().u32(2).raw("no terminator"), metadata(3, "P", 3)])
        .events(&[ev(1, 1, 1).metadata(1), ev(1, 2, 2).metadata(3)]);
    let all = whole(&stream.end());
    assert!(matches!(failures(&all)[..], [Error::Block { block: BlockKind::METADATA, .. }]), "{all:?}");
    assert_eq!(outline(&all), [1, 2]);
}

#[test]
fn absurd_sizes_reserve_nothing() {
    let mut reader = Reader::new();
    reader.feed(&Stream::new().0);
    let name = Bytes::new().raw([5, 5, 1]).u32(2).u32(2).u32(10).raw("EventBlock").u8(6);
    reader.feed(&name.clone().u32(u32::MAX).raw([0; 64]).0);
    assert!(matches!(failures(&drain(&mut reader))[..], [Error::Container { .. }]));

    let counts = Stream::new()
        .block("StackBlock", 2, Bytes::new().u32(1).u32(u32::MAX))
        .block("SPBlock", 2, Bytes::new().i64(1).u32(u32::MAX))
        .events(&[ev(1, 1, 1)]);
    let all = whole(&counts.end());
    assert_eq!(failures(&all).len(), 2);
    assert_eq!(outline(&all), [1]);
}

#[test]
fn what_is_held_has_a_bound() {
    let mut limits = Limits::default();
    limits.max_held_events = 10;
    let mut reader = Reader::with_limits(limits);
    let unsorted: Vec<_> = (1..=100).map(|number| ev(1, number, number.into())).collect();
    reader.feed(&Stream::new().events(&unsorted).0);
    let all = drain(&mut reader);
    assert_eq!(outline(&all), (1..=90).collect::<Vec<i64>>());
    assert!(matches!(failures(&all)[..], [Error::Limit { .. }]), "it is told once: {all:?}");
    assert_eq!(reader.held_events(), 10);

    let mut limits = Limits::default();
    limits.max_metadata_bytes = 500;
    let mut reader = Reader::with_limits(limits);
    let records: Vec<_> = (1..50).map(|id| metadata(id, "Provider", id)).collect();
    reader.feed(&Stream::without_metadata().records(&records).0);
    assert!(matches!(failures(&drain(&mut reader))[..], [Error::Block { block: BlockKind::METADATA, .. }]));
}

proptest! {
    #[test]
    fn any_bytes_in_any_chunks(bytes in proptest::collection::vec(any::<u8>(), 0..600), size in 1..64_usize) {
        let mut stream = Stream::new().0;
        stream.extend(&bytes);
        prop_assert_eq!(in_chunks(&stream, &[size]), whole(&stream));
        prop_assert_eq!(in_chunks(&bytes, &[size]), whole(&bytes));
    }

    /// Blocks with a valid frame and random content, so that the content reaches the inner parsers.
    #[test]
    fn any_content_of_any_block(
        blocks in proptest::collection::vec((0..5_usize, any::<bool>(), proptest::collection::vec(any::<u8>(), 0..80)), 1..8),
        sizes in proptest::collection::vec(1..50_usize, 1..5),
    ) {
        let mut stream = Stream::new();
        for (kind, with_header, noise) in blocks {
            let name = ["EventBlock", "MetadataBlock", "StackBlock", "SPBlock", "Other"][kind];
            let start = if with_header { block_header(noise.len() % 2 == 0) } else { Bytes::new() };
            stream = stream.block(name, 2, start.raw(noise));
        }
        let stream = stream.end();
        let got = whole(&stream);
        prop_assert!(end_of(&got).0);
        prop_assert_eq!(in_chunks(&stream, &sizes), got);
    }

    #[test]
    fn many_wrong_bytes(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..12), which in 0..2_usize) {
        let mut stream = samples()[which].clone();
        for (at, value) in changes {
            let at = at % stream.len();
            stream[at] = value;
        }
        prop_assert_eq!(in_chunks(&stream, &[7]), whole(&stream));
    }
}
