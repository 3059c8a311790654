//! Deferred payloads: each is where the reader says, and nothing else changes.

use dotnet_diagnostics_client::nettrace::Reader;
use dotnet_diagnostics_client::nettrace::raw::RawReader;
use proptest::prelude::*;

use crate::builder::{Ev, Stream, ev, metadata};
use crate::collect::{Got, drain, end_of, whole};

static LARGE: [u8; 5000] = {
    let mut bytes = [0; 5000];
    let mut n = 0;
    while n < bytes.len() {
        bytes[n] = (n * 7 % 251) as u8;
        n += 1;
    }
    bytes
};
const SMALL: &[u8] = b"less than 4 KiB";

/// Reads in chunks. The payloads of event 7 are deferred, and then taken from the stream. Their bytes are fed, or
/// skipped. Also returns how many bytes were skipped, and how many payloads deferred.
fn deferring(stream: &[u8], sizes: &[usize], skip: bool) -> (Vec<Got>, u64, usize) {
    let mut reader = Reader::new();
    reader.defer(|metadata| metadata.event_id == 7);
    let (mut all, mut skipped, mut deferred) = (Vec::new(), 0, 0);
    let (mut at, mut sizes) = (0, sizes.iter().cycle());
    while at < stream.len() {
        if skip && reader.skippable_bytes() > 0 {
            let bytes = reader.skippable_bytes().min((stream.len() - at) as u64);
            reader.skip(bytes);
            skipped += bytes;
            at += bytes as usize;
        } else {
            let size = sizes.next().map_or(1, |size| *size).clamp(1, stream.len() - at);
            reader.feed(&stream[at..at + size]);
            at += size;
        }
        all.extend(take(&mut reader, stream, &mut deferred));
    }
    reader.finish();
    all.extend(take(&mut reader, stream, &mut deferred));
    (all, skipped, deferred)
}

fn take(reader: &mut Reader, stream: &[u8], deferred: &mut usize) -> Vec<Got> {
    let mut all = drain(reader);
    for got in &mut all {
        if let Got::Event(event) = got
            && let Some(place) = event.deferred.take()
        {
            *deferred += 1;
            let payload = &stream[place.offset as usize..][..place.len];
            assert_eq!(event.payload, payload[..16]);
            event.payload = payload.to_vec();
        }
    }
    all
}

fn stream() -> Vec<u8> {
    let large = |e: Ev<'static>| e.payload(&LARGE);
    Stream::without_metadata()
        .records(&[metadata(1, "P", 7), metadata(2, "P", 8)])
        .events(&[ev(1, 1, 10).sorted()])
        .events(&[
            large(ev(1, 2, 20)).sorted(),
            ev(1, 3, 21).payload(SMALL),
            large(ev(1, 4, 22)),
            large(ev(1, 5, 23)).metadata(2),
            large(ev(1, 6, 24)),
        ])
        .events(&[large(ev(2, 1, 15)).sorted(), large(ev(2, 2, 25))])
        .block("EventBlock", 2, crate::builder::uncompressed(&[large(ev(3, 1, 26))]))
        .sequence_point(30, &[(1, 6), (2, 2), (3, 1)])
        .events(&[ev(1, 7, 31).sorted(), large(ev(1, 9, 32))])
        .end()
}

#[test]
fn what_is_deferred_is_where_the_reader_says() {
    let stream = stream();
    let expected = whole(&stream);
    for skip in [false, true] {
        // In the chunk with the definition, payloads are not deferred.
        for (size, count) in [(1, 6), (17, 6), (100, 6), (1_000, 3)] {
            let (got, skipped, deferred) = deferring(&stream, &[size], skip);
            assert!(got == expected, "{size}");
            assert_eq!(deferred, count, "{size}");
            let at_least = if skip { (count * (LARGE.len() - 256 - size)) as u64 } else { 0 };
            assert!(skipped >= at_least, "{skipped} {size}");
        }
    }
}

#[test]
fn cut_anywhere_it_ends_like_any_other() {
    let stream = stream();
    for len in (0..stream.len()).step_by(97) {
        let cut = &stream[..len];
        let (got, ..) = deferring(cut, &[300], true);
        assert!(got == whole(cut), "cut at {len}: {:?}", end_of(&got));
    }
}

#[test]
fn the_next_file_is_read_alike() {
    let (mut reader, file) = (Reader::new(), stream());
    reader.defer(|metadata| metadata.event_id == 7);
    for n in 1..=2 {
        let mut deferred = 0;
        for chunk in file.chunks(100) {
            reader.feed(chunk);
            take(&mut reader, &file, &mut deferred);
        }
        assert_eq!(deferred, 6, "file {n}");
        reader.next_part();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_is_damaged_nothing_else_differs(
        damage in proptest::collection::vec((0_usize..40_000, any::<u8>()), 0..4),
        sizes in proptest::collection::vec(1_usize..6_000, 1..6),
        skip in any::<bool>(),
    ) {
        let mut stream = stream();
        let len = stream.len();
        for (at, value) in damage {
            stream[at % len] = value;
        }
        let (got, ..) = deferring(&stream, &sizes, skip);
        prop_assert!(got == crate::collect::in_chunks(&stream, &sizes));
    }
}
