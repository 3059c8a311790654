//! Streams that try to exhaust memory: the limits bound what a reader holds, and it reports when they are reached.

use allocation_counter::measure;
use dotnet_diagnostics_client::nettrace::{Error, Limits, Reader};

use crate::builder::{Bytes, Stream, block_header, ev, metadata};

const MIB: u64 = 1 << 20;

/// Reads a stream in chunks of 64 KiB. Returns the peak memory in bytes, and how many errors of a kind were reported.
fn read(stream: &[u8], limits: &Limits, counts: fn(&Error) -> bool) -> (u64, usize) {
    let mut reported = 0;
    let info = measure(|| {
        let mut reader = Reader::with_limits(limits.clone());
        for chunk in stream.chunks(64 << 10) {
            reader.feed(chunk);
            loop {
                match reader.next_item() {
                    Ok(None) => break,
                    Ok(Some(_)) => {}
                    Err(error) => reported += usize::from(counts(&error)),
                }
            }
        }
        reader.finish();
    });
    (info.bytes_max, reported)
}

fn is_limit(error: &Error) -> bool {
    matches!(error, Error::Limit { .. })
}

#[test]
fn stack_blocks_that_hold_nothing_count_for_what_they_cost() {
    let mut limits = Limits::default();
    limits.max_stack_bytes = MIB as usize;
    let stream = (0..100_000).fold(Stream::new(), |stream, _| stream.stacks(0, &[]));
    let (bytes, _) = read(&stream.0, &limits, is_limit);
    assert!(bytes < 4 * MIB, "{bytes} bytes were held at once");
}

#[test]
fn a_small_stack_block_does_not_keep_the_buffer_of_a_large_one() {
    let mut limits = Limits::default();
    limits.max_stack_bytes = MIB as usize;
    let large = vec![0; 64 << 10];
    let stream = (0..200).fold(Stream::new(), |stream, _| {
        stream.block("EventBlock", 2, block_header(true).raw(&large)).stacks(0, &[])
    });
    let (bytes, _) = read(&stream.0, &limits, is_limit);
    assert!(bytes < 4 * MIB, "{bytes} bytes were held at once");
}

#[test]
fn descriptions_count_for_the_memory_of_their_fields() {
    let mut limits = Limits::default();
    limits.max_metadata_bytes = MIB as usize;
    let fields = (0..1_000).fold(Bytes::new().u32(1_000), |bytes, _| bytes.u32(8).u16(0));
    let stream = (0..100).fold(Stream::without_metadata(), |stream, id| {
        stream.records(&[metadata(id, "P", 1).raw(&fields.0)])
    });
    let refused = |error: &Error| matches!(error, Error::Block { .. });
    let (bytes, reported) = read(&stream.0, &limits, refused);
    assert!(bytes < 4 * MIB, "{bytes} bytes were held at once");
    assert!(reported > 0, "what is not kept is reported");
}

#[test]
fn threads_that_all_hold_events_are_bounded_by_the_events() {
    let mut limits = Limits::default();
    limits.max_threads = 1_000;
    limits.max_held_events = 10_000;
    let events: Vec<_> = (1..=100_000_u32).map(|n| ev(n.into(), 1, i64::from(n))).collect();
    let stream = events.chunks(5_000).fold(Stream::new(), Stream::events);
    let (bytes, reported) = read(&stream.0, &limits, is_limit);
    assert!(bytes < 8 * MIB, "{bytes} bytes were held at once");
    assert_eq!(reported, 2, "events came out of turn, and threads were forgotten: each is reported once");
}

#[test]
fn a_thread_id_that_is_taken_over_without_end_is_bounded() {
    let mut limits = Limits::default();
    limits.max_threads = 1_000;
    let events: Vec<_> =
        (0..500_000_u32).map(|n| ev(1, if n % 2 == 0 { 9 } else { 1 }, n.into()).sorted()).collect();
    let stream = events.chunks(5_000).fold(Stream::new(), Stream::events);
    let (bytes, reported) = read(&stream.0, &limits, is_limit);
    assert!(bytes < 2 * MIB, "{bytes} bytes were held at once");
    assert_eq!(reported, 1);
}

#[test]
fn the_limits_together_leave_room_for_a_recording() {
    let limits = Limits::default();
    // The events that wait for their turn are not included: they need about as many bytes as the stream has.
    let beyond = limits.max_metadata_bytes + limits.max_stack_bytes + limits.max_block_bytes;
    assert!(beyond as u64 <= 64 * MIB);
}
