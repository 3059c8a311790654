//! The lease: as long as gcwatch is there, so are we; and the one thread of our own, which waits for
//! its end and does what must not be done inside a collection.
//!
//! The thread waits in steps and looks at flags, rather than being woken through a descriptor: a
//! number that the watched program closes by mistake and opens again would be written to.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

use super::{Phase, Profiler, profiler};
use crate::hresult::{HResult, S_OK};
use crate::info::Info;
use crate::sys::{self, Lease, LeaseSign};
use crate::wire::NoteCode;

/// How soon a flag is looked at.
pub(super) const STEP_MS: u32 = 200;
/// A byte a second is expected; after so much silence the other end counts as gone.
const SILENCE_NS: u64 = 10_000_000_000;
/// How long loading waits for a busy listener.
const CONNECT_MS: u32 = 100;

/// Flags for the thread.
const HELLO: u32 = 1;
const CHECK_LISTENER: u32 = 2;
const ALWAYS: u32 = 4;

#[derive(Debug)]
pub(super) struct State {
    /// [`Lease::into_parts`], 0 where there is none.
    connection: AtomicUsize,
    identity: AtomicU64,
    requests: AtomicU32,
    thread_runs: AtomicBool,
}

/// Why the profiler leaves.
#[derive(Debug, Clone, Copy)]
struct Reason(NoteCode);

impl State {
    pub(super) const fn new() -> Self {
        Self {
            connection: AtomicUsize::new(0),
            identity: AtomicU64::new(0),
            requests: AtomicU32::new(0),
            thread_runs: AtomicBool::new(false),
        }
    }

    pub(super) fn ask_for_hello(&self) {
        self.requests.fetch_or(HELLO, SeqCst);
    }

    pub(super) fn ask_to_check_listener(&self) {
        self.requests.fetch_or(CHECK_LISTENER, SeqCst);
    }

    /// Asks to give up on late arming.
    pub(super) fn ask_for_always(&self) {
        self.requests.fetch_or(ALWAYS, SeqCst);
    }

    /// What was asked for so far is done or pointless.
    pub(super) fn forget_requests(&self) {
        self.requests.store(0, SeqCst);
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connection.load(SeqCst) != 0
    }

    /// Connects, if there is somewhere to connect to.
    pub(super) fn connect(&self, path: Option<&str>) {
        let lease = path.and_then(|path| Lease::connect(path, CONNECT_MS));
        let (connection, identity) = lease.map_or((0, 0), Lease::into_parts);
        self.identity.store(identity, SeqCst);
        self.connection.store(connection, SeqCst);
    }

    fn connection(&self) -> Option<Lease> {
        Lease::from_parts(self.connection.load(SeqCst), self.identity.load(SeqCst))
    }

    pub(super) fn hang_up(&self) {
        if let Some(lease) = Lease::from_parts(self.connection.swap(0, SeqCst), self.identity.load(SeqCst)) {
            lease.close();
        }
    }

    /// Waits for the thread of an earlier stay to end, which it does on its own in no time.
    pub(super) fn is_free(&self) -> bool {
        for _ in 0..1000 {
            if !self.thread_runs.load(SeqCst) {
                return true;
            }
            sys::sleep_ms(1);
        }
        false
    }

    /// Starts the thread. It waits until loading is over, and ends at once where that failed.
    pub(super) fn start_thread(&self) -> bool {
        self.thread_runs.store(true, SeqCst);
        let started = sys::spawn(thread);
        if !started {
            self.thread_runs.store(false, SeqCst);
        }
        started
    }
}

extern "C" fn thread() {
    // From here until the runtime has let us go.
    sys::name_thread(c"gcwatch-lease");
    let profiler = profiler();
    while profiler.phase() == Phase::LOADING {
        sys::sleep_ms(1);
    }
    if let Some(Reason(code)) = profiler.keep() {
        profiler.leave(code);
    }
    // Where the runtime has let us go, `ProfilerDetachSucceeded` has done it.
    profiler.lease.hang_up();
    profiler.lease.thread_runs.store(false, SeqCst);
}

impl Profiler {
    /// Keeps the lease until there is a reason to leave; `None` where there is nothing left to leave.
    fn keep(&self) -> Option<Reason> {
        let mut last_sign_ns = sys::tick_ns();
        loop {
            if self.phase() != Phase::ACTIVE {
                return None;
            }
            self.serve(self.info()?);
            match self.lease.connection() {
                Some(lease) => match lease.wait(STEP_MS) {
                    LeaseSign::Alive => last_sign_ns = sys::tick_ns(),
                    LeaseSign::Closed => return Some(Reason(NoteCode::LEASE_LOST)),
                    LeaseSign::Taken => {
                        self.lease.connection.store(0, SeqCst);
                        return Some(Reason(NoteCode::LEASE_TAKEN));
                    }
                    LeaseSign::Silent => {
                        if sys::tick_ns().saturating_sub(last_sign_ns) > SILENCE_NS {
                            return Some(Reason(NoteCode::LEASE_SILENT));
                        }
                    }
                },
                None => {
                    sys::sleep_ms(STEP_MS);
                    // Asked for one step ago at least: a runtime that is shutting down, which also
                    // switches the provider off, has said so by now.
                    if self.take_request(CHECK_LISTENER) && !self.events.is_enabled() {
                        return Some(Reason(NoteCode::PROVIDER_OFF));
                    }
                }
            }
        }
    }

    fn take_request(&self, request: u32) -> bool {
        self.lease.requests.fetch_and(!request, SeqCst) & request != 0
    }

    fn serve(&self, info: Info) {
        if self.take_request(HELLO) {
            self.tell_names_again();
            self.write_hello(info);
        }
        if self.take_request(ALWAYS) {
            self.fall_back(info, NoteCode::FELL_BACK_ALWAYS, S_OK);
        }
    }

    /// Leaves the flag on from now on. `cause` is told where the runtime takes it.
    pub(super) fn fall_back(&self, info: Info, code: NoteCode, cause: HResult) {
        let answer = self.mask.always(info);
        self.write_note(info, code, if answer == S_OK { cause } else { answer });
        self.write_hello(info);
    }
}
