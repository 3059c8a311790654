//! Streams that try to exhaust memory: the limits bound what a reader holds, and it reports when they are reached.

use allocation_counter::measure;
use dotnet_diagnostics_client::nettrace::{Error, Limits, Reader};

use crate::builder::{Bytes, Stream, block_header, ev, metadata};

const MIB: u64 = 1 << 20;

/// Reads a stream in chunks of 64 KiB, in at most so many MiB of memory. Returns how many errors of a kind were reported.
fn read(stream: &Stream, limit: fn(&mut Limits), counts: fn(&Error) -> bool, max_mib: u64) -> usize {
    let mut limits = Limits::default();
    limit(&mut limits);
    let mut reported = 0;
    let info = measure(|| {
        let mut reader = Reader::with_limits(limits);
        for chunk in stream.0.chunks(64 << 10) {
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
    assert!(info.bytes_max < max_mib * MIB, "{} bytes were held at once", info.bytes_max);
    reported
}

fn is_limit(error: &Error) -> bool {
    matches!(error, Error::Limit { .. })
}

#[test]
fn stack_blocks_that_hold_nothing_count_for_what_they_cost() {
    let stream = (0..100_000).fold(Stream::new(), |stream, _| stream.stacks(0, &[]));
    read(&stream, |limits| limits.max_stack_bytes = MIB as usize, is_limit, 4);
}

#[test]
fn a_small_stack_block_does_not_keep_the_buffer_of_a_large_one() {
    let large = vec![0; 64 << 10];
    let stream = (0..200).fold(Stream::new(), |stream, _| {
        stream.block("EventBlock", 2, block_header(true).raw(&large)).stacks(0, &[])
    });
    read(&stream, |limits| limits.max_stack_bytes = MIB as usize, is_limit, 4);
}

#[test]
fn descriptions_count_for_the_memory_of_their_fields() {
    let fields = (0..1_000).fold(Bytes::new().u32(1_000), |bytes, _| bytes.u32(8).u16(0));
    let stream = (0..100).fold(Stream::without_metadata(), |stream, id| {
        stream.records(&[metadata(id, "P", 1).raw(&fields.0)])
    });
    let refused = |error: &Error| matches!(error, Error::Block { .. });
    let reported = read(&stream, |limits| limits.max_metadata_bytes = MIB as usize, refused, 4);
    assert!(reported > 0, "what is not kept is reported");
}

#[test]
fn threads_that_all_hold_events_are_bounded_by_the_events() {
    let limit = |limits: &mut Limits| {
        limits.max_threads = 1_000;
        limits.max_held_events = 10_000;
    };
    let events: Vec<_> = (1..=100_000_u32).map(|n| ev(n.into(), 1, i64::from(n))).collect();
    let stream = events.chunks(5_000).fold(Stream::new(), Stream::events);
    let reported = read(&stream, limit, is_limit, 8);
    assert_eq!(reported, 2, "events came out of turn, and threads were forgotten: each is reported once");
}

#[test]
fn a_thread_id_that_is_taken_over_without_end_is_bounded() {
    let events: Vec<_> =
        (0..500_000_u32).map(|n| ev(1, if n % 2 == 0 { 9 } else { 1 }, n.into()).sorted()).collect();
    let stream = events.chunks(5_000).fold(Stream::new(), Stream::events);
    assert_eq!(read(&stream, |limits| limits.max_threads = 1_000, is_limit, 2), 1);
}

#[test]
fn the_limits_together_leave_room_for_a_recording() {
    let limits = Limits::default();
    // The events that wait for their turn are not included: they need about as many bytes as the stream has.
    let beyond = limits.max_metadata_bytes + limits.max_stack_bytes + limits.max_block_bytes;
    assert!(beyond as u64 <= 64 * MIB);
}
