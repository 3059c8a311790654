//! The order of time across threads.

use dotnet_diagnostics_client::nettrace::Reader;
use proptest::prelude::*;

use crate::builder::{Ev, Stream, ev};
use crate::collect::{Got, drain, events, outline, whole};

/// The events of two threads in one flush, as the runtime writes them: the first event of each thread is marked.
fn flush() -> Stream {
    Stream::new().events(&[
        ev(1, 1, 10).sorted(),
        ev(1, 2, 15),
        ev(1, 3, 20),
        ev(2, 1, 12).sorted(),
        ev(2, 2, 13),
        ev(2, 3, 30),
    ])
}

#[test]
fn threads_are_merged_as_far_as_marks_allow() {
    let mut reader = Reader::new();
    reader.feed(&flush().0);
    assert_eq!(
        outline(&drain(&mut reader)),
        [10, 12],
        "a third thread may have earlier events than the rest"
    );
    let next = flush().events(&[ev(3, 1, 40).sorted(), ev(3, 2, 41)]);
    reader.feed(&next.0[flush().0.len()..]);
    assert_eq!(outline(&drain(&mut reader)), [13, 15, 20, 30, 40]);
    reader.finish();
    assert_eq!(outline(&drain(&mut reader)), [41]);
}

#[test]
fn a_sequence_point_lets_everything_go_first() {
    let all = whole(&flush().sequence_point(35, &[(1, 3), (2, 3)]).events(&[ev(1, 4, 36)]).end());
    let at = all.iter().position(|got| *got == Got::SequencePoint(35)).unwrap();
    assert_eq!(outline(&all[..at]), [10, 12, 13, 15, 20, 30]);
    assert_eq!(outline(&all[at..]), [36]);
}

#[test]
fn a_quiet_stream_can_be_released() {
    let mut reader = Reader::new();
    reader.feed(&flush().0);
    reader.release_held();
    assert_eq!(outline(&drain(&mut reader)), [10, 12, 13, 15, 20, 30]);
    assert_eq!(reader.held_events(), 0);
    // The flush was not over. The rest comes late but completely, and then order is kept again.
    let late = flush().events(&[ev(3, 1, 14).sorted(), ev(3, 2, 45), ev(4, 1, 42).sorted(), ev(4, 2, 46)]);
    reader.feed(&late.0[flush().0.len()..]);
    assert_eq!(outline(&drain(&mut reader)), [14, 42]);
    reader.finish();
    assert_eq!(outline(&drain(&mut reader)), [45, 46]);
}

#[test]
fn more_bytes_take_a_release_back() {
    let mut reader = Reader::new();
    let stream = flush().0;
    reader.release_held();
    reader.feed(&stream);
    assert_eq!(outline(&drain(&mut reader)), [10, 12]);
}

#[test]
fn equal_times_keep_the_order_they_came_in() {
    let stream = Stream::new().events(&[
        ev(2, 1, 10).sorted().payload(b"1"),
        ev(2, 2, 10).payload(b"2"),
        ev(1, 1, 10).sorted().payload(b"3"),
        ev(1, 2, 10).payload(b"4"),
    ]);
    let all = whole(&stream.end());
    let order: Vec<_> = events(&all).iter().map(|event| event.payload[0]).collect();
    assert_eq!(order, *b"1234");
}

#[test]
fn times_wrap_where_the_clock_does() {
    let near_the_end = i64::MAX - 1;
    let all = whole(&Stream::new().events(&[ev(1, 1, near_the_end).sorted(), ev(1, 2, i64::MIN)]).end());
    assert_eq!(outline(&all), [near_the_end, i64::MIN], "the order within a thread is kept");
}

/// A flush as the runtime writes it: threads by the time of their first events, which are marked.
fn as_flush(mut threads: Vec<(u64, Vec<i64>)>) -> Vec<Ev<'static>> {
    threads.retain(|(_, times)| !times.is_empty());
    threads.iter_mut().for_each(|(_, times)| times.sort_unstable());
    threads.sort_by_key(|(_, times)| times[0]);
    let mut all = Vec::new();
    for (thread, times) in threads {
        for (index, at) in times.into_iter().enumerate() {
            all.push(Ev { sorted: index == 0, ..ev(thread, index as u32 + 1, at) });
        }
    }
    all
}

proptest! {
    /// Compares with sorting all events between two sequence points.
    #[test]
    fn merging_gives_what_sorting_gives(
        times in proptest::collection::vec(proptest::collection::vec(0..1_000_i64, 0..20), 1..8)
    ) {
        let events = as_flush((1..).zip(times).collect());
        let got = whole(&Stream::new().events(&events).end());
        let mut expected: Vec<_> = events.iter().map(|event| event.at).collect();
        expected.sort();
        prop_assert_eq!(outline(&got), expected);
    }
}

static LARGE: [u8; 50_000] = [0; 50_000];

#[test]
fn a_block_with_room_for_any_event_ends_a_flush() {
    let mut reader = Reader::new();
    assert!(!reader.flush_ended());
    reader.feed(&flush().0);
    drain(&mut reader);
    assert!(reader.flush_ended());
    // This block may have been written because the next event did not fit.
    let full = flush().events(&[ev(3, 1, 40).sorted().payload(&LARGE), ev(3, 2, 41)]);
    reader.feed(&full.0[flush().0.len()..]);
    drain(&mut reader);
    assert!(!reader.flush_ended());
}

#[test]
fn a_cut_flush_is_told() {
    let nearly_full = flush().events(&[
        ev(3, 1, 40).sorted().payload(&LARGE),
        ev(3, 2, 41),
        ev(4, 1, 42).sorted(),
        ev(4, 2, 43),
    ]);
    let all = whole(&nearly_full.0);
    let at = all.iter().position(|got| *got == Got::Truncated).unwrap();
    assert_eq!(outline(&all[..at]), [10, 12, 13, 15, 20, 30, 40, 41, 42]);
    assert_eq!(outline(&all[at..]), [43], "events of another thread may be missing");
    let ended = nearly_full.sequence_point(50, &[(1, 3), (2, 3), (3, 2), (4, 2)]);
    assert!(!whole(&ended.end()).contains(&Got::Truncated));
    assert!(!whole(&flush().0).contains(&Got::Truncated), "the flush was over");
}
