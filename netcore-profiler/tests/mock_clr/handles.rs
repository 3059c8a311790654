//! Handles: who makes them, and what becomes of that where there are too many.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use netcore_profiler::wire::{HandleKind, NoteCode, Record, RootKind};

use crate::mock::calls::STUB;
use crate::mock::info::wait_for;
use crate::mock::world::method;
use crate::mock::{Clr, Library, Written};
use crate::naming::{LIMIT, attach, collect, heap, learn_helpers, root, rows};

/// Who made a handle, as a collection tells.
fn maker(library: &Library, clr: &Clr, handle: u64) -> (u64, HandleKind) {
    let written = collect(library, clr, vec![root(heap().start as u64, handle, RootKind::HANDLE)]);
    let [row] = rows(&written)[..] else { panic!("one root") };
    (row.allocated_by, row.handle_kind)
}

const NOBODY: (u64, HandleKind) = (0, HandleKind::UNKNOWN);

fn called_from(clr: &Clr, number: usize) -> u64 {
    clr.calls.come_from(&[method(number)]);
    method(number) as u64
}

/// How many may have been looked at: 250 in each 100 ms.
fn most_looks(began: Instant) -> u128 {
    250 * (began.elapsed().as_millis() / 100 + 2)
}

#[test]
fn the_first_of_many_handles_are_looked_at() {
    let (library, clr) = attach(8);
    learn_helpers(&library, clr);
    let first = called_from(clr, 1);
    let began = Instant::now();
    library.make_handle(clr, 0x9000, 3);
    assert_eq!(maker(&library, clr, 0x9000), (first, HandleKind(3)));
    library.free_handle(clr, 0x9000);
    assert_eq!(maker(&library, clr, 0x9000), NOBODY);

    library.make_handle(clr, 0x9000, 3);
    for handle in 0..10_000 {
        library.make_handle(clr, 0x10_0000 + handle * 8, 2);
    }
    let second = called_from(clr, 2);
    // Its end was not told. It is another's now, whether or not there is time to see whose.
    library.make_handle(clr, 0x9000, 2);
    let walks = clr.calls.walks.load(SeqCst);
    assert!(u128::from(walks) <= most_looks(began) && walks >= 250, "{walks} walks");
    let found = maker(&library, clr, 0x9000);
    assert!(found == NOBODY || found == (second, HandleKind(2)), "{found:?}");
    assert_eq!(clr.handle_sessions.load(SeqCst), 1, "that many can be counted");

    // The next interval is another matter.
    std::thread::sleep(Duration::from_millis(110));
    library.make_handle(clr, 0x9000, 2);
    assert_eq!(maker(&library, clr, 0x9000), (second, HandleKind(2)));
}

#[test]
fn a_storm_of_handles_ends_their_watching_for_good() {
    let (library, clr) = attach(8);
    learn_helpers(&library, clr);
    let made_by = called_from(clr, 1);
    library.make_handle(clr, 0x9000, 3);
    assert_eq!(maker(&library, clr, 0x9000), (made_by, HandleKind(3)));
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
    assert!(u128::from(walks - before) <= most_looks(began), "{walks} walks");
    wait_for("word of it", LIMIT, || clr.has_note(NoteCode::HANDLE_WATCH_OFF));
    assert!(!clr.makes_handle_events.load(SeqCst), "the runtime goes on making events for nobody");
    assert_eq!(maker(&library, clr, 0x9000), NOBODY, "its end would not be told");

    // In the next stay, such as a window's, they are not watched from the start, and that is said.
    clr.switch_provider(true);
    clr.switch_provider(false);
    wait_for("its leaving", LIMIT, || clr.detach_requests.load(SeqCst) == 1);
    library.detached();
    clr.take_written();
    assert_eq!(library.attach(clr, "gcwatch=3 names=1"), 0);
    assert!(clr.has_note(NoteCode::HANDLE_WATCH_OFF));
    assert_eq!(clr.handle_sessions.load(SeqCst), 0);
    assert!(!clr.makes_handle_events.load(SeqCst));
}

/// The methods of the one stack that was told.
fn triggered_by(written: &[Written]) -> Vec<u64> {
    let mut found = written.iter().filter_map(|event| match event.record() {
        Record::Trigger(trigger) => Some(trigger.frames.iter().collect()),
        _ => None,
    });
    let frames = found.next().expect("one was told");
    assert!(found.next().is_none());
    frames
}

/// A method that was made at run time calls, or what was compiled into it does. The runtime's walk leaves it out.
#[test]
fn a_dynamic_method_is_no_reason_to_blame_its_caller() {
    let (library, clr) = attach(8);
    learn_helpers(&library, clr);
    let (dynamic, caller) = (method(8), method(1));
    clr.calls.come_from(&[dynamic, caller]);
    library.ask_for_collection(clr);
    assert_eq!(triggered_by(&clr.take_written()), [dynamic as u64, caller as u64]);
    library.make_handle(clr, 0x9000, 3);
    assert_eq!(maker(&library, clr, 0x9000), (0, HandleKind(3)), "its maker has no name");

    // The runtime's own methods of that sort pass calls on.
    clr.calls.come_from(&[STUB, caller]);
    clr.take_written();
    library.ask_for_collection(clr);
    assert_eq!(triggered_by(&clr.take_written()), [caller as u64]);
    library.make_handle(clr, 0x9008, 3);
    assert_eq!(maker(&library, clr, 0x9008), (caller as u64, HandleKind(3)));
}
