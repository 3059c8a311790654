//! The way out: it leaves when gcwatch leaves, and can come back.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use netcore_profiler::wire::describe::EVENTS;
use netcore_profiler::wire::{Load, MovedRange, NoteCode};

use crate::mock::info::{hellos, lock, totals, wait_for};
use crate::mock::{Clr, Collection, Heap, Library};

const LIMIT: Duration = Duration::from_secs(120);

fn one_range() -> Collection {
    let moved = vec![MovedRange { old: 8, new: 16, bytes: 24 }];
    Collection { heaps: vec![Heap { moved, ..Heap::default() }], ..Collection::default() }
}

#[track_caller]
fn wait_until_asked(clr: &Clr, requests: u32) {
    wait_for("asking to be detached", LIMIT, || clr.detach_requests.load(SeqCst) == requests);
}

#[track_caller]
fn wait_until_gone(clr: &Clr, requests: u32) {
    wait_until_asked(clr, requests);
    assert_eq!(clr.session.load(SeqCst), 0, "the session is stopped first");
    assert!(!clr.is_armed());
    assert!(clr.has_note(NoteCode::GOODBYE));
}

#[test]
fn it_leaves_when_nobody_listens_any_more() {
    let (library, clr) = (Library::load(), Clr::new());
    assert_eq!(library.attach(clr, "gcwatch=3"), 0);
    clr.switch_provider(true);
    wait_for("a second greeting", LIMIT, || hellos(&lock(&clr.written)).len() == 2);
    clr.switch_provider(false);
    wait_until_gone(clr, 1);
    assert!(clr.has_note(NoteCode::PROVIDER_OFF));
    library.detached();
    assert_eq!(clr.references.load(SeqCst), 0);
    // A late word of the provider, and late callbacks, find nobody.
    clr.is_over.store(true, SeqCst);
    clr.switch_provider(true);
    clr.switch_provider(false);
    library.collect(clr, &one_range());
    assert_eq!(clr.calls_after.load(SeqCst), 0);
}

/// gcwatch gave up before a runtime that was stopped loaded the profiler: there is no lease, and nobody listens.
#[test]
fn it_leaves_when_nobody_has_ever_listened() {
    let (library, clr) = (Library::load(), Clr::new());
    assert_eq!(library.attach(clr, "gcwatch=3 lease=/nonexistent/socket"), 0);
    wait_until_gone(clr, 1);
    assert!(clr.has_note(NoteCode::PROVIDER_OFF));
    library.detached();
    assert_eq!(clr.references.load(SeqCst), 0);
}

#[test]
fn it_stays_when_another_listener_comes() {
    let (library, clr) = (Library::load(), Clr::new());
    assert_eq!(library.attach(clr, "gcwatch=3"), 0);
    clr.switch_provider(true);
    wait_for("a second greeting", LIMIT, || hellos(&lock(&clr.written)).len() == 2);
    clr.switch_provider(false);
    clr.switch_provider(true);
    wait_for("a third greeting", LIMIT, || hellos(&lock(&clr.written)).len() == 3);
    // The thread looks at the listeners between two greetings.
    clr.switch_provider(true);
    wait_for("a fourth greeting", LIMIT, || hellos(&lock(&clr.written)).len() == 4);
    assert_eq!(clr.detach_requests.load(SeqCst), 0);
    clr.take_written();
    library.collect(clr, &one_range());
    assert_eq!(totals(&clr.take_written()).moved.blocks, 1);
}

/// Where the runtime does not let it go it asks again, less and less often, and costs nothing meanwhile.
#[test]
fn it_asks_again_where_it_may_not_leave() {
    let (library, clr) = (Library::load(), Clr::new());
    assert_eq!(library.attach(clr, "gcwatch=3 names=1"), 0);
    clr.switch_provider(true);
    wait_for("a second greeting", LIMIT, || hellos(&lock(&clr.written)).len() == 2);
    clr.detach_refusals.store(2, SeqCst);
    // Before the first refusal: this thread may hear of that long after.
    let began = Instant::now();
    clr.switch_provider(false);
    wait_until_gone(clr, 1);
    wait_for("saying so", LIMIT, || clr.has_note(NoteCode::DETACH_REFUSED));
    assert_eq!((clr.mask(), clr.handle_sessions.load(SeqCst)), ((0, 0), 0));
    clr.take_written();
    library.collect(clr, &one_range());
    assert!(lock(&clr.written).is_empty(), "it does nothing any more");
    wait_until_asked(clr, 3);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(2900), "asked twice more within {took:?}");
    assert!(lock(&clr.written).is_empty(), "it was said before");
    library.detached();
    assert_eq!(clr.references.load(SeqCst), 0);
    assert_eq!(library.attach(clr, "gcwatch=3"), 0, "it can come back");
}

/// It may still be asking when the runtime ends.
#[test]
fn it_asks_no_more_after_shutdown() {
    let (library, clr) = (Library::load(), Clr::new());
    assert_eq!(library.attach(clr, "gcwatch=3"), 0);
    clr.switch_provider(true);
    wait_for("a second greeting", LIMIT, || hellos(&lock(&clr.written)).len() == 2);
    clr.detach_refusals.store(u32::MAX, SeqCst);
    clr.switch_provider(false);
    wait_for("being refused", LIMIT, || clr.has_note(NoteCode::DETACH_REFUSED));
    library.shut_down();
    clr.is_over.store(true, SeqCst);
    let requests = clr.detach_requests.load(SeqCst);
    // It would ask again after a second.
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!((clr.calls_after.load(SeqCst), clr.detach_requests.load(SeqCst)), (0, requests));
}

#[cfg(unix)]
mod lease {
    use std::io::Write;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    struct Landlord {
        directory: tempfile::TempDir,
        listener: UnixListener,
    }

    impl Landlord {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let listener = UnixListener::bind(directory.path().join("lease")).unwrap();
            Self { directory, listener }
        }

        fn config(&self) -> String {
            format!("gcwatch=3 lease={}", self.directory.path().join("lease").display())
        }

        /// The connection; made while loading, so it is there by now.
        fn tenant(&self) -> UnixStream {
            self.listener.set_nonblocking(true).unwrap();
            self.listener.accept().expect("connected while loading").0
        }
    }

    #[test]
    fn it_leaves_when_the_connection_ends_and_can_come_back() {
        let (library, clr, landlord) = (Library::load(), Clr::new(), Landlord::new());
        for stay in 1..=5 {
            assert_eq!(library.attach(clr, &landlord.config()), 0);
            let mut tenant = landlord.tenant();
            let hello = hellos(&clr.take_written())[0];
            assert!(hello.lease_connected && hello.load == Load::ATTACH);
            for number in 1..=3 {
                tenant.write_all(b".").unwrap();
                library.collect(clr, &one_range());
                let written = clr.take_written();
                assert_eq!((totals(&written).gc_seq, totals(&written).moved.blocks), (number, 1));
            }
            // Losing the provider's listeners is nothing while the lease lasts.
            clr.switch_provider(true);
            clr.switch_provider(false);
            drop(tenant);
            wait_until_gone(clr, stay);
            assert!(clr.has_note(NoteCode::LEASE_LOST) && !clr.has_note(NoteCode::PROVIDER_OFF));
            library.detached();
            assert_eq!(clr.references.load(SeqCst), 0);
            clr.take_written();
        }
        assert_eq!(clr.providers_made.load(SeqCst), 1);
        assert_eq!(clr.events_defined.load(SeqCst) as usize, EVENTS);
    }

    /// A collection that is armed ends as it began; the next is not armed any more.
    #[test]
    fn it_waits_for_an_armed_collection() {
        let (library, clr, landlord) = (Library::load(), Clr::new(), Landlord::new());
        assert_eq!(library.attach(clr, &landlord.config()), 0);
        let tenant = std::sync::Mutex::new(Some(landlord.tenant()));
        clr.take_written();
        let moved = (0..5000).map(|at| MovedRange { old: at * 64, new: at, bytes: 64 }).collect();
        let told = Collection { heaps: vec![Heap { moved, ..Heap::default() }], ..one_range() };
        library.collect_with(clr, &told, || {
            lock(&tenant).take();
            wait_for("noticing", LIMIT, || clr.has_note(NoteCode::LEASE_LOST));
            // Time to do it wrong.
            std::thread::sleep(Duration::from_millis(50));
            assert!(clr.is_armed() && !clr.has_note(NoteCode::GOODBYE), "the collection is not over");
        });
        let before: Vec<_> = clr.take_written();
        assert_eq!(totals(&before).moved.blocks, 5000 - 1, "the one at 0 stayed");
        assert!(totals(&before).flags.has(netcore_profiler::wire::GcFlags::ARMED));
        wait_for("asking to be detached", LIMIT, || clr.detach_requests.load(SeqCst) == 1);
    }

    #[test]
    fn it_leaves_a_landlord_that_is_silent() {
        let (library, clr, landlord) = (Library::load(), Clr::new(), Landlord::new());
        assert_eq!(library.attach(clr, &landlord.config()), 0);
        let mut tenant = landlord.tenant();
        std::thread::sleep(Duration::from_secs(2));
        // Before it is given: this thread may not run again until long after.
        let last_sign = Instant::now();
        tenant.write_all(b".").unwrap();
        wait_until_gone(clr, 1);
        assert!(clr.has_note(NoteCode::LEASE_SILENT));
        let silence = last_sign.elapsed();
        assert!(silence >= Duration::from_secs(10), "it left after {silence:?}");
    }

    #[test]
    fn nothing_is_called_after_shutdown() {
        let (library, clr, landlord) = (Library::load(), Clr::new(), Landlord::new());
        assert_eq!(library.attach(clr, &landlord.config()), 0);
        library.shut_down();
        clr.is_over.store(true, SeqCst);
        // Hanging up is the last thing the thread does, so its end can be seen from here.
        let mut tenant = landlord.tenant();
        wait_for("hanging up", LIMIT, || tenant.write_all(b".").is_err());
        library.collect(clr, &one_range());
        assert_eq!((clr.calls_after.load(SeqCst), clr.detach_requests.load(SeqCst)), (0, 0));
    }
}
