//! Handles: which methods allocate them, and what happens if they are too many.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use netcore_profiler::wire::{HandleKind, NoteCode, Record, RootKind};

use crate::mock::calls::STUB;
use crate::mock::info::wait_for;
use crate::mock::world::method;
use crate::mock::{Clr, Library, Written};
use crate::naming::{LIMIT, attach, collect, heap, learn_helpers, root, rows};

/// The allocating method and the kind of a handle, from a collection.
fn allocation(library: &Library, clr: &Clr, handle: u64) -> (u64, HandleKind) {
    let written = collect(library, clr, vec![root(heap().start as u64, handle, RootKind::HANDLE)]);
    let [row] = rows(&written)[..] else { panic!("one root") };
    (row.allocated_by, row.handle_kind)
}

const UNKNOWN: (u64, HandleKind) = (0, HandleKind::UNKNOWN);

fn called_from(clr: &Clr, number: usize) -> u64 {
    clr.calls.come_from(&[method(number)]);
    method(number) as u64
}

/// How many may have been looked up: 250 in each 100 ms.
fn max_lookups(began: Instant) -> u128 {
    250 * (began.elapsed().as_millis() / 100 + 2)
}

#[test]
fn the_first_of_many_handles_are_looked_up() {
    let (library, clr) = attach(8);
    learn_helpers(&library, clr);
    let first = called_from(clr, 1);
    let began = Instant::now();
    library.make_handle(clr, 0x9000, 3);
    assert_eq!(allocation(&library, clr, 0x9000), (first, HandleKind(3)));
    library.free_handle(clr, 0x9000);
    assert_eq!(allocation(&library, clr, 0x9000), UNKNOWN);

    library.make_handle(clr, 0x9000, 3);
    for handle in 0..10_000 {
        library.make_handle(clr, 0x10_0000 + handle * 8, 2);
    }
    let second = called_from(clr, 2);
    // The event of the old handle's end was lost. The new one has another method, which may not be looked up.
    library.make_handle(clr, 0x9000, 2);
    let walks = clr.calls.walks.load(SeqCst);
    assert!(u128::from(walks) <= max_lookups(began) && walks >= 250, "{walks} walks");
    let found = allocation(&library, clr, 0x9000);
    assert!(found == UNKNOWN || found == (second, HandleKind(2)), "{found:?}");
    assert_eq!(clr.handle_sessions.load(SeqCst), 1, "that many can be counted");

    // In the next interval handles are looked up again.
    std::thread::sleep(Duration::from_millis(110));
    library.make_handle(clr, 0x9000, 2);
    assert_eq!(allocation(&library, clr, 0x9000), (second, HandleKind(2)));
}

#[test]
fn a_storm_of_handles_ends_their_watching() {
    let (library, clr) = attach(8);
    learn_helpers(&library, clr);
    let method = called_from(clr, 1);
    library.make_handle(clr, 0x9000, 3);
    assert_eq!(allocation(&library, clr, 0x9000), (method, HandleKind(3)));
    let (began, before) = (Instant::now(), clr.calls.walks.load(SeqCst));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (library, clr) = (&library, &clr);
            scope.spawn(move || {
                let mut handles = (0x100_0000 * (thread + 1)..).step_by(8);
                while clr.handle_sessions.load(SeqCst) > 0 {
                    assert!(began.elapsed() < LIMIT, "it goes on");
                    for handle in handles.by_ref().take(1000) {
                        library.make_handle(clr, handle, 2);
                        library.free_handle(clr, handle);
                    }
                }
            });
        }
    });
    let walks = clr.calls.walks.load(SeqCst);
    assert!(u128::from(walks - before) <= max_lookups(began), "{walks} walks");
    wait_for("the note", LIMIT, || clr.has_note(NoteCode::HANDLE_WATCH_OFF));
    assert!(!clr.makes_handle_events.load(SeqCst), "the runtime still makes events for nobody");
    assert_eq!(allocation(&library, clr, 0x9000), UNKNOWN, "its end would not be seen");

    // After the next attach, such as for a sampling window, they are not watched from the start, and a note says so.
    clr.switch_provider(true);
    clr.switch_provider(false);
    wait_for("the request to detach", LIMIT, || clr.detach_requests.load(SeqCst) == 1);
    library.detached();
    clr.take_written();
    assert_eq!(library.attach(clr, "gcwatch=5 names=1"), 0);
    assert!(clr.has_note(NoteCode::HANDLE_WATCH_OFF));
    assert_eq!(clr.handle_sessions.load(SeqCst), 0);
    assert!(!clr.makes_handle_events.load(SeqCst));
}

/// The methods of the one stack that was sent.
fn induced_by(written: &[Written]) -> Vec<u64> {
    let mut found = written.iter().filter_map(|event| match event.record() {
        Record::Trigger(trigger) => Some(trigger.frames.iter().collect()),
        _ => None,
    });
    let frames = found.next().expect("one was sent");
    assert!(found.next().is_none());
    frames
}

/// A dynamic method calls, which `DoStackSnapshot` leaves out.
#[test]
fn a_dynamic_method_is_no_reason_to_blame_its_caller() {
    let (library, clr) = attach(8);
    learn_helpers(&library, clr);
    let (dynamic, caller) = (method(8), method(1));
    clr.calls.come_from(&[dynamic, caller]);
    library.induce_collection(clr);
    assert_eq!(induced_by(&clr.take_written()), [dynamic as u64, caller as u64]);
    library.make_handle(clr, 0x9000, 3);
    assert_eq!(allocation(&library, clr, 0x9000), (0, HandleKind(3)), "its method has no name");

    // The runtime's own dynamic methods pass calls on.
    clr.calls.come_from(&[STUB, caller]);
    clr.take_written();
    library.induce_collection(clr);
    assert_eq!(induced_by(&clr.take_written()), [caller as u64]);
    library.make_handle(clr, 0x9008, 3);
    assert_eq!(allocation(&library, clr, 0x9008), (caller as u64, HandleKind(3)));
}
