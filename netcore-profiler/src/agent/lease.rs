//! The lease, and the requests to the thread that keeps it (`lease_thread`).
//!
//! The thread polls these flags instead of being woken through a descriptor: if the target closed the descriptor by
//! mistake and opened a file under the same number, a wake-up would write into that file.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

use crate::sys::{self, Lease};

/// How long loading waits for a listener whose queue is full.
const CONNECT_TIMEOUT_MS: u32 = 100;

/// Request: send hello, with all names again.
pub(super) const SEND_HELLO: u32 = 1;
/// Request: leave if nobody listens to the provider.
pub(super) const CHECK_LISTENER: u32 = 2;
/// Request: give up late arming.
pub(super) const ARM_ALWAYS: u32 = 4;

zeroed! {
    #[derive(Debug)]
    pub(super) struct LeaseState {
        /// [`Lease::into_parts`]; 0: not connected.
        connection: AtomicUsize,
        identity: AtomicU64,
        requests: AtomicU32,
        thread_runs: AtomicBool,
    }
}

impl LeaseState {
    /// Asks the thread for something.
    pub(super) fn request(&self, request: u32) {
        self.requests.fetch_or(request, SeqCst);
    }

    /// Whether something was asked for since the last call.
    pub(super) fn take_request(&self, request: u32) -> bool {
        self.requests.fetch_and(!request, SeqCst) & request != 0
    }

    /// Drops all requests.
    pub(super) fn clear_requests(&self) {
        self.requests.store(0, SeqCst);
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connection.load(SeqCst) != 0
    }

    /// Connects, if there is a path.
    pub(super) fn connect(&self, path: Option<&str>) {
        let lease = path.and_then(|path| Lease::connect(path, CONNECT_TIMEOUT_MS));
        let (connection, identity) = lease.map_or((0, 0), Lease::into_parts);
        self.identity.store(identity, SeqCst);
        self.connection.store(connection, SeqCst);
    }

    pub(super) fn connection(&self) -> Option<Lease> {
        Lease::from_parts(self.connection.load(SeqCst), self.identity.load(SeqCst))
    }

    /// Forgets the connection without closing it: its descriptor belongs to the target now.
    pub(super) fn abandon(&self) {
        self.connection.store(0, SeqCst);
    }

    pub(super) fn close(&self) {
        if let Some(lease) = Lease::from_parts(self.connection.swap(0, SeqCst), self.identity.load(SeqCst)) {
            lease.close();
        }
    }

    /// Waits up to a second for the thread of an earlier attach to end; returns whether it has.
    pub(super) fn thread_has_ended(&self) -> bool {
        for _ in 0..1000 {
            if !self.thread_runs.load(SeqCst) {
                return true;
            }
            sys::sleep_ms(1);
        }
        false
    }

    pub(super) fn start_thread(&self, thread: extern "C" fn()) -> bool {
        start_thread(&self.thread_runs, thread)
    }

    /// The thread's last call.
    pub(super) fn set_thread_ended(&self) {
        self.thread_runs.store(false, SeqCst);
    }
}

/// Starts a thread, and notes in `runs` that it runs.
pub(super) fn start_thread(runs: &AtomicBool, thread: extern "C" fn()) -> bool {
    runs.store(true, SeqCst);
    let started = sys::spawn(thread);
    if !started {
        runs.store(false, SeqCst);
    }
    started
}
