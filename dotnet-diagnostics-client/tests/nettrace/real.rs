//! Real recordings: the totals are compared with those of Microsoft's TraceEvent library.
//!
//! Large recordings are in the directory `NETTRACE_TEST_DATA`, each with the output of TraceEvent
//! (`*.traceevent.ndjson`).

use std::path::{Path, PathBuf};

use dotnet_diagnostics_client::nettrace::{Item, Reader};

use crate::collect::{in_chunks, whole};

/// All recordings are of 64-bit processes.
const POINTER_BYTES: usize = 8;

/// What both libraries count.
#[derive(Debug, Default, PartialEq)]
struct Totals {
    events: u64,
    lost: u64,
    /// Blocks and bytes.
    moved: [u64; 2],
    surviving: [u64; 2],
}

fn ours(stream: &[u8], chunk_bytes: usize) -> Totals {
    let mut totals = Totals::default();
    let mut reader = Reader::new();
    let mut chunks = stream.chunks(chunk_bytes);
    let mut latest = i64::MIN;
    loop {
        match reader.next_item().expect("a sound recording") {
            Some(Item::Event(event)) => {
                assert!(event.timestamp >= latest, "events come in the order of time");
                latest = event.timestamp;
                totals.events += 1;
                if &*event.metadata.provider == "Microsoft-Windows-DotNETRuntime" {
                    match event.metadata.event_id {
                        // GCBulkSurvivingObjectRanges: address and length.
                        21 => add_ranges(event.payload, 2 * POINTER_BYTES, &mut totals.surviving),
                        // GCBulkMovedObjectRanges: old address, new address, length.
                        22 => add_ranges(event.payload, 3 * POINTER_BYTES, &mut totals.moved),
                        _ => {}
                    }
                }
            }
            Some(Item::End(end)) => {
                assert!(end.clean);
                assert_eq!(end.unparsed_bytes, 0);
                totals.lost = end.lost_events;
                return totals;
            }
            Some(_) => {}
            None => match chunks.next() {
                Some(chunk) => reader.feed(chunk),
                None => reader.finish(),
            },
        }
    }
}

/// Layout: u32 index, u32 count, u16 CLR instance, and the ranges, each with its length at the end.
fn add_ranges(payload: &[u8], range_bytes: usize, [blocks, bytes]: &mut [u64; 2]) {
    let count = u32::from_le_bytes(payload[4..8].try_into().unwrap());
    let ranges = payload[10..].chunks_exact(range_bytes);
    assert_eq!(ranges.len(), count as usize);
    *blocks += u64::from(count);
    *bytes +=
        ranges.map(|range| u64::from_le_bytes(range[range_bytes - 8..].try_into().unwrap())).sum::<u64>();
}

/// The last line of TraceEvent's output.
fn theirs(answer: &Path) -> Totals {
    let text = std::fs::read_to_string(answer).unwrap();
    let last = text.lines().last().unwrap();
    let number = |key: &str| -> u64 {
        let (_, rest) =
            last.split_once(&format!("\"{key}\":")).unwrap_or_else(|| panic!("no {key} in {last}"));
        rest.split([',', '}']).next().unwrap().parse().unwrap()
    };
    Totals {
        events: number("events"),
        lost: number("lost"),
        moved: ["moved_blocks", "moved_bytes"].map(number),
        surviving: ["surviving_blocks", "surviving_bytes"].map(number),
    }
}

fn compare(recording: &Path) {
    let stream = std::fs::read(recording).unwrap();
    let expected = theirs(&recording.with_extension("traceevent.ndjson"));
    assert!(expected.events > 1_000, "{expected:?}");
    for chunk_bytes in [usize::MAX, 65_536, 4_099] {
        assert_eq!(ours(&stream, chunk_bytes), expected, "{}", recording.display());
    }
}

fn small() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gccollect-ws-9.0.18.nettrace")
}

#[test]
fn totals_are_those_of_trace_event() {
    compare(&small());
}

#[test]
fn totals_of_large_recordings_are_those_of_trace_event() {
    let Some(dir) = std::env::var_os("NETTRACE_TEST_DATA") else {
        eprintln!("skipped 1 test: NETTRACE_TEST_DATA names no directory of recordings");
        return;
    };
    let mut compared = 0;
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "nettrace")
            && path.with_extension("traceevent.ndjson").exists()
        {
            compare(&path);
            compared += 1;
        }
    }
    assert!(compared > 0, "no recording with an answer in {}", Path::new(&dir).display());
    eprintln!("compared {compared} recordings");
}

#[test]
fn chunks_do_not_matter() {
    let stream = std::fs::read(small()).unwrap();
    let expected = whole(&stream);
    for sizes in [&[1][..], &[3, 5, 7], &[1_021, 1, 64 * 1_024]] {
        assert!(in_chunks(&stream, sizes) == expected, "chunks of {sizes:?}");
    }
}
