//! When the event mask is written, and what happens if the runtime refuses it.

use std::time::Duration;

use netcore_profiler::wire::{Arming, GcFlags, MovedRange, NoteCode, Record};

use crate::mock::info::{REFUSED, hellos, lock, totals, wait_for};
use crate::mock::{Clr, Collection, Heap, Library};

const ON: (u32, u32) = (0x80, 0x90);
const OFF: (u32, u32) = (0, 0x90);

fn take_masks(clr: &Clr) -> Vec<(u32, u32)> {
    std::mem::take(&mut lock(&clr.masks))
}

fn some_ranges() -> Collection {
    let moved = (0..3000).map(|at| MovedRange { old: at * 100, new: at * 100 + 8, bytes: 96 }).collect();
    let heap = Heap { moved, ..Heap::default() };
    Collection { heaps: vec![heap.clone(), heap.clone(), heap], ..Collection::default() }
}

#[test]
fn attached_it_is_armed_from_mark_to_end() {
    let (library, clr) = Library::attached("gcwatch=5 arming=late");
    assert_eq!(take_masks(clr), [ON, OFF], "first with the flag, then without");
    for _ in 0..3 {
        library.collect(clr, &some_ranges());
        assert_eq!(take_masks(clr), [ON, OFF], "once in a collection, although each heap marks");
    }
}

#[test]
fn started_with_the_process_the_first_collection_switches_it_off() {
    let (library, clr) = (Library::load(), Clr::new());
    assert_eq!(library.start(clr, "gcwatch=5 arming=late"), 0);
    assert_eq!(take_masks(clr), [ON]);
    clr.take_written();
    library.collect(clr, &some_ranges());
    assert_eq!(take_masks(clr), [OFF]);
    assert!(totals(&clr.take_written()).flags.has(GcFlags::ARMED));
    library.collect(clr, &some_ranges());
    assert_eq!(take_masks(clr), [ON, OFF]);
}

#[test]
fn always_means_always() {
    let (library, clr) = Library::attached("gcwatch=5 arming=always");
    clr.take_written();
    for _ in 0..3 {
        library.collect(clr, &some_ranges());
        assert!(totals(&clr.take_written()).flags.has(GcFlags::ARMED));
    }
    assert_eq!(take_masks(clr), [ON]);
}

#[test]
fn a_background_collection_is_not_armed() {
    let (library, clr) = Library::attached("gcwatch=5");
    take_masks(clr);
    library.collect(clr, &Collection { kind: 1, ..some_ranges() });
    assert_eq!(take_masks(clr), []);
}

#[test]
fn a_refused_mask_costs_one_collection() {
    let (library, clr) = Library::attached("gcwatch=5");
    clr.take_written();
    clr.refusals.store(1, std::sync::atomic::Ordering::SeqCst);
    library.collect(clr, &some_ranges());
    let written = clr.take_written();
    let found = totals(&written);
    assert!(!found.flags.has(GcFlags::ARMED));
    assert_eq!((found.moved.blocks, found.toggle_failures), (0, 1));
    let notes: Vec<_> = written
        .iter()
        .filter_map(|event| match event.record() {
            Record::Note(note) => Some((note.code, note.hresult)),
            _ => None,
        })
        .collect();
    assert_eq!(notes, [(NoteCode::TOGGLE_FAILED, REFUSED)]);

    library.collect(clr, &some_ranges());
    let written = clr.take_written();
    let found = totals(&written);
    assert!(found.flags.has(GcFlags::ARMED));
    assert_eq!((found.moved.blocks, found.toggle_failures), (9000, 1));
}

#[test]
fn after_three_refusals_in_a_row_it_stays_on() {
    let (library, clr) = Library::attached("gcwatch=5");
    clr.take_written();
    clr.refusals.store(3, std::sync::atomic::Ordering::SeqCst);
    for _ in 0..3 {
        library.collect(clr, &some_ranges());
    }
    let limit = Duration::from_secs(120);
    wait_for("falling back", limit, || clr.has_note(NoteCode::FELL_BACK_ALWAYS) && clr.is_armed());
    wait_for("the hello", limit, || {
        hellos(&lock(&clr.written)).iter().any(|hello| hello.arming == Arming::ALWAYS)
    });
    clr.take_written();
    take_masks(clr);
    library.collect(clr, &some_ranges());
    let written = clr.take_written();
    assert!(totals(&written).flags.has(GcFlags::ARMED));
    assert_eq!((totals(&written).moved.blocks, totals(&written).toggle_failures), (9000, 3));
    assert_eq!(take_masks(clr), [], "the mask is not written any more");
}

/// The same runtime without `ICorProfilerCallback10`, or with a session that delivers nothing.
#[test]
fn without_delivered_events_the_flag_stays_on() {
    let (library, clr) = Library::attached("gcwatch=5");
    for _ in 0..3 {
        library.collect(clr, &Collection { is_old: true, ..some_ranges() });
    }
    wait_for("falling back", Duration::from_secs(120), || clr.is_armed());
    clr.take_written();
    library.collect(clr, &Collection { is_old: true, ..some_ranges() });
    assert_eq!(totals(&clr.take_written()).moved.blocks, 9000);
}

#[test]
fn without_a_session_the_flag_stays_on_from_the_start() {
    let (library, clr) = (Library::load(), Clr::new());
    clr.fails_sessions.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(library.attach(clr, "gcwatch=5"), 0);
    assert!(clr.has_note(NoteCode::SESSION_FAILED));
    assert_eq!(hellos(&clr.take_written()).last().unwrap().arming, Arming::ALWAYS);
    library.collect(clr, &some_ranges());
    assert_eq!(totals(&clr.take_written()).moved.blocks, 9000);
}

/// `ProfilerAttachComplete` writes the mask on another thread than that of the collection.
#[test]
fn a_mask_written_during_a_collection_makes_it_half_armed() {
    let (library, clr) = (Library::load(), Clr::new());
    assert_eq!(library.start(clr, "gcwatch=5"), 0);
    clr.take_written();
    library.collect_with(clr, &some_ranges(), || {
        // SAFETY: no arguments.
        unsafe { (library.table().ProfilerAttachComplete)(library.callback()) };
    });
    let written = clr.take_written();
    let found = totals(&written);
    assert!(found.flags.has(GcFlags::HALF_ARMED) && !found.flags.has(GcFlags::ARMED));
    assert!(found.moved.blocks < 9000, "the mask made a difference");
    library.collect(clr, &some_ranges());
    let written = clr.take_written();
    assert!(totals(&written).flags.has(GcFlags::ARMED));
    assert_eq!(totals(&written).moved.blocks, 9000);
}
