//! Lost events are counted exactly and reported in order.

use crate::builder::{Stream, ev};
use crate::collect::{Got, end_of, outline, whole};

#[test]
fn a_gap_comes_just_before_the_event_that_shows_it() {
    let stream =
        Stream::new().events(&[ev(1, 1, 10).sorted(), ev(1, 5, 30), ev(2, 3, 20).sorted(), ev(2, 4, 40)]);
    let all = whole(&stream.end());
    assert_eq!(outline(&all), [10, -2, 20, -3, 30, 40]);
    assert!(all.contains(&Got::Lost { thread: 1, events: 3, before: 30 }));
    assert!(
        all.contains(&Got::Lost { thread: 2, events: 2, before: 20 }),
        "the first of a thread has number 1"
    );
    assert_eq!(end_of(&all), (true, 5, 0));
}

#[test]
fn sequence_points_show_what_no_event_does() {
    let stream = Stream::new()
        .events(&[ev(1, 1, 10).sorted()])
        .sequence_point(50, &[(1, 1_001), (9, 7)])
        .events(&[ev(1, 1_002, 60).sorted(), ev(9, 8, 61).sorted()]);
    let all = whole(&stream.end());
    assert_eq!(outline(&all), [10, -1_000, -7, 60, 61]);
    assert!(all.contains(&Got::Lost { thread: 1, events: 1_000, before: 50 }));
    assert!(all.contains(&Got::Lost { thread: 9, events: 7, before: 50 }));
    assert_eq!(end_of(&all), (true, 1_007, 0));
}

#[test]
fn a_thread_id_that_is_used_again_loses_nothing() {
    let stream = Stream::new()
        .events(&[ev(1, 1, 10).sorted(), ev(1, 2, 11), ev(1, 3, 12), ev(1, 1, 20).sorted(), ev(1, 2, 21)])
        .sequence_point(50, &[(1, 3), (1, 2)])
        .events(&[ev(1, 3, 60).sorted()])
        .sequence_point(70, &[(1, 3)]);
    assert_eq!(end_of(&whole(&stream.end())), (true, 0, 0));
}

#[test]
fn a_rotated_file_starts_at_its_sequence_point() {
    let stream = Stream::new()
        .sequence_point(50, &[(1, 500)])
        .events(&[ev(1, 501, 60).sorted(), ev(2, 90, 61).sorted()]);
    assert_eq!(end_of(&whole(&stream.end())), (true, 0, 0));
}

#[test]
fn a_damaged_block_shows_as_lost_events() {
    let good = Stream::new().events(&[ev(1, 1, 10).sorted()]);
    let mut all = good.clone().events(&[ev(1, 2, 20).sorted(), ev(1, 3, 21)]);
    // The header of the damaged block states a size larger than the block.
    let header = good.0.len() + 15 + "EventBlock".len() + 1 + 4;
    let header = header.next_multiple_of(4);
    all.0[header..header + 2].copy_from_slice(&u16::MAX.to_le_bytes());
    let all = whole(&all.events(&[ev(1, 4, 30).sorted()]).end());
    assert_eq!(outline(&all), [10, -2, 30]);
}
