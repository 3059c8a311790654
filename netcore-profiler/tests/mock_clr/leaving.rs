//! Leaving: the profiler leaves when gcwatch does, and can be attached again.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use netcore_profiler::wire::describe::EVENTS;
use netcore_profiler::wire::{Load, MovedRange, NoteCode};

use crate::mock::info::{hellos, lock, totals, wait_for};
use crate::mock::{Clr, Collection, Heap, Library};

const LIMIT: Duration = Duration::from_secs(120);

/// Attaches the profiler, and a listener to its provider.
fn attach_with_listener(config: &str) -> (Library, &'static Clr) {
    let (library, clr) = Library::attached(config);
    clr.switch_provider(true);
    wait_for("a second hello", LIMIT, || hellos(&lock(&clr.written)).len() == 2);
    (library, clr)
}

fn one_range() -> Collection {
    let moved = vec![MovedRange { old: 8, new: 16, bytes: 24 }];
    Collection { heaps: vec![Heap { moved, ..Heap::default() }], ..Collection::default() }
}

#[track_caller]
fn wait_for_requests(clr: &Clr, requests: u32) {
    wait_for("the request to detach", LIMIT, || clr.detach_requests.load(SeqCst) == requests);
}

#[track_caller]
fn wait_until_left(clr: &Clr, requests: u32) {
    wait_for_requests(clr, requests);
    assert_eq!(clr.session.load(SeqCst), 0, "the session is stopped first");
    assert!(!clr.is_armed());
    assert!(clr.has_note(NoteCode::GOODBYE));
}

#[test]
fn it_leaves_when_nobody_listens_any_more() {
    let (library, clr) = attach_with_listener("gcwatch=5");
    clr.switch_provider(false);
    wait_until_left(clr, 1);
    assert!(clr.has_note(NoteCode::PROVIDER_OFF));
    library.detached();
    assert_eq!(clr.references.load(SeqCst), 0);
    // Later calls of the provider's callback, and later callbacks, have no effect.
    clr.is_over.store(true, SeqCst);
    clr.switch_provider(true);
    clr.switch_provider(false);
    library.collect(clr, &one_range());
    assert_eq!(clr.calls_after.load(SeqCst), 0);
}

/// gcwatch gave up before a suspended runtime loaded the profiler: there is no lease, and nobody listens.
#[test]
fn it_leaves_when_nobody_has_ever_listened() {
    let (library, clr) = Library::attached("gcwatch=5 lease=/nonexistent/socket");
    wait_until_left(clr, 1);
    assert!(clr.has_note(NoteCode::PROVIDER_OFF));
    library.detached();
    assert_eq!(clr.references.load(SeqCst), 0);
}

#[test]
fn it_stays_when_another_listener_comes() {
    let (library, clr) = attach_with_listener("gcwatch=5");
    clr.switch_provider(false);
    clr.switch_provider(true);
    wait_for("a third hello", LIMIT, || hellos(&lock(&clr.written)).len() == 3);
    // The thread checks the listeners between two hellos.
    clr.switch_provider(true);
    wait_for("a fourth hello", LIMIT, || hellos(&lock(&clr.written)).len() == 4);
    assert_eq!(clr.detach_requests.load(SeqCst), 0);
    clr.take_written();
    library.collect(clr, &one_range());
    assert_eq!(totals(&clr.take_written()).moved.blocks, 1);
}

/// If the runtime refuses the detach, the profiler requests it again, less and less often, and costs nothing meanwhile.
#[test]
fn a_refused_detach_is_requested_again() {
    let (library, clr) = attach_with_listener("gcwatch=5 names=1");
    clr.detach_refusals.store(2, SeqCst);
    // Before the first refusal, which this thread may notice late.
    let began = Instant::now();
    clr.switch_provider(false);
    wait_until_left(clr, 1);
    wait_for("the note", LIMIT, || clr.has_note(NoteCode::DETACH_REFUSED));
    assert_eq!((clr.mask(), clr.handle_sessions.load(SeqCst)), ((0, 0), 0));
    clr.take_written();
    library.collect(clr, &one_range());
    assert!(lock(&clr.written).is_empty(), "it does nothing");
    wait_for_requests(clr, 3);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(2900), "requested twice more within {took:?}");
    assert!(lock(&clr.written).is_empty(), "one note is enough");
    library.detached();
    assert_eq!(clr.references.load(SeqCst), 0);
    assert_eq!(library.attach(clr, "gcwatch=5"), 0, "it can be attached again");
}

/// The runtime may shut down while the profiler waits to request the detach again.
#[test]
fn no_detach_is_requested_after_shutdown() {
    let (library, clr) = attach_with_listener("gcwatch=5");
    clr.detach_refusals.store(u32::MAX, SeqCst);
    clr.switch_provider(false);
    wait_for("the refusal", LIMIT, || clr.has_note(NoteCode::DETACH_REFUSED));
    library.shut_down();
    clr.is_over.store(true, SeqCst);
    let requests = clr.detach_requests.load(SeqCst);
    // It would request the detach again after a second.
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!((clr.calls_after.load(SeqCst), clr.detach_requests.load(SeqCst)), (0, requests));
}

#[cfg(unix)]
mod lease {
    use std::io::Write;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    struct LeaseServer {
        directory: tempfile::TempDir,
        listener: UnixListener,
    }

    impl LeaseServer {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let listener = UnixListener::bind(directory.path().join("lease")).unwrap();
            Self { directory, listener }
        }

        fn config(&self) -> String {
            format!("gcwatch=5 lease={}", self.directory.path().join("lease").display())
        }

        /// The connection, which the profiler makes while loading.
        fn connection(&self) -> UnixStream {
            self.listener.set_nonblocking(true).unwrap();
            self.listener.accept().expect("connected while loading").0
        }
    }

    #[test]
    fn it_leaves_when_the_connection_ends_and_can_come_back() {
        let (library, clr, server) = (Library::load(), Clr::new(), LeaseServer::new());
        for attach in 1..=5 {
            assert_eq!(library.attach(clr, &server.config()), 0);
            let mut connection = server.connection();
            let hello = hellos(&clr.take_written())[0];
            assert!(hello.lease_connected && hello.load == Load::ATTACH);
            for number in 1..=3 {
                connection.write_all(b".").unwrap();
                library.collect(clr, &one_range());
                let written = clr.take_written();
                assert_eq!((totals(&written).gc_seq, totals(&written).moved.blocks), (number, 1));
            }
            // With a lease, it does not matter whether anybody listens to the provider.
            clr.switch_provider(true);
            clr.switch_provider(false);
            drop(connection);
            wait_until_left(clr, attach);
            assert!(clr.has_note(NoteCode::LEASE_LOST) && !clr.has_note(NoteCode::PROVIDER_OFF));
            library.detached();
            assert_eq!(clr.references.load(SeqCst), 0);
            clr.take_written();
        }
        assert_eq!(clr.providers_made.load(SeqCst), 1);
        assert_eq!(clr.events_defined.load(SeqCst) as usize, EVENTS);
    }

    /// An armed collection stays armed to its end; the next one is not armed.
    #[test]
    fn it_waits_for_an_armed_collection() {
        let (library, clr, server) = (Library::load(), Clr::new(), LeaseServer::new());
        assert_eq!(library.attach(clr, &server.config()), 0);
        let connection = std::sync::Mutex::new(Some(server.connection()));
        clr.take_written();
        let moved = (0..5000).map(|at| MovedRange { old: at * 64, new: at, bytes: 64 }).collect();
        let collection = Collection { heaps: vec![Heap { moved, ..Heap::default() }], ..one_range() };
        library.collect_with(clr, &collection, || {
            lock(&connection).take();
            wait_for("the note", LIMIT, || clr.has_note(NoteCode::LEASE_LOST));
            // Time in which a mistake would show.
            std::thread::sleep(Duration::from_millis(50));
            assert!(clr.is_armed() && !clr.has_note(NoteCode::GOODBYE), "the collection is not over");
        });
        let before: Vec<_> = clr.take_written();
        assert_eq!(totals(&before).moved.blocks, 5000 - 1, "the one at 0 did not move");
        assert!(totals(&before).flags.has(netcore_profiler::wire::GcFlags::ARMED));
        wait_for("the request to detach", LIMIT, || clr.detach_requests.load(SeqCst) == 1);
    }

    #[test]
    fn it_leaves_when_no_heartbeat_comes() {
        let (library, clr, server) = (Library::load(), Clr::new(), LeaseServer::new());
        assert_eq!(library.attach(clr, &server.config()), 0);
        let mut connection = server.connection();
        std::thread::sleep(Duration::from_secs(2));
        // Before the heartbeat, because this thread may be suspended after it.
        let last_heartbeat = Instant::now();
        connection.write_all(b".").unwrap();
        wait_until_left(clr, 1);
        assert!(clr.has_note(NoteCode::LEASE_SILENT));
        let silence = last_heartbeat.elapsed();
        assert!(silence >= Duration::from_secs(10), "it left after {silence:?}");
    }

    #[test]
    fn nothing_is_called_after_shutdown() {
        let (library, clr, server) = (Library::load(), Clr::new(), LeaseServer::new());
        assert_eq!(library.attach(clr, &server.config()), 0);
        library.shut_down();
        clr.is_over.store(true, SeqCst);
        // The thread closes the lease last, so this shows its end.
        let mut connection = server.connection();
        wait_for("closing the lease", LIMIT, || connection.write_all(b".").is_err());
        library.collect(clr, &one_range());
        assert_eq!((clr.calls_after.load(SeqCst), clr.detach_requests.load(SeqCst)), (0, 0));
    }
}
