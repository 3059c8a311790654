//! How far the taking of a graph has come.

use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst,
};

use super::copy::Copy;
use super::kept::Kept;
use crate::agent::lease::start_thread;
use crate::agent::names::known::Known;
use crate::sys::{self, Lease, copy};

/// The longest path of a socket, with its zero.
const PATH_BYTES: usize = 108;
/// How long leaving waits for our thread.
const THREAD_TIMEOUT_MS: u32 = 10_000;

/// The stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stage(u32);

impl Stage {
    /// No graph is wanted.
    pub(super) const OFF: Self = Self(0);
    /// The next collection that begins is to be used.
    pub(super) const WANTED: Self = Self(1);
    /// The collection under way is to be used, so its roots are kept.
    pub(super) const READY: Self = Self(2);
    /// The process is being forked.
    pub(super) const FORKING: Self = Self(3);
    /// This is the program; the copy exists.
    pub(super) const TAKEN: Self = Self(4);
    /// This is the program; there is no copy.
    pub(super) const FAILED: Self = Self(5);
    /// This is the copy.
    pub(super) const COPY: Self = Self(6);
    /// This is the program, whose heap is being walked in the pause.
    pub(super) const WALKING: Self = Self(7);
    /// This is the program; its heap was walked in the pause.
    pub(super) const WALKED: Self = Self(8);
    /// This is the program; the walk in the pause was given up.
    pub(super) const GIVEN_UP: Self = Self(9);
}

zeroed! {
    #[derive(Debug)]
    pub(in crate::agent) struct GraphState {
        stage: AtomicU32,
        /// Where gcwatch listens, zero-terminated.
        path: [AtomicU64; PATH_BYTES / 8 + 1],
        /// [`Lease::into_parts`].
        connection: AtomicUsize,
        identity: AtomicU64,
        pub(super) flags: AtomicU32,
        pub(super) deadline_ms: AtomicU32,
        /// The class `System.String`: module and token; 0: unknown.
        pub(super) string_module: AtomicUsize,
        pub(super) string_token: AtomicU32,
        /// [`Modules::now`](crate::agent::names) when the graph was taken.
        pub(super) seen: AtomicU64,
        /// Classes whose static fields were told.
        pub(super) classes: Known,
        /// How many static fields were told.
        pub(super) statics: AtomicU32,
        pub(super) kept: Kept,
        /// The walk's memory: the copy's own, or the program's where the heap is walked in the pause.
        pub(super) copy: AtomicPtr<Copy>,
        /// When the walk in the pause began, on the monotonic clock.
        pub(super) walk_began_ns: AtomicU64,
        pub(super) copy_pid: AtomicI32,
        /// Where the copy says that it has sent everything. The program may have waited for it, so that the system does
        /// not say how it has ended. Null: there is no memory for this.
        whole: AtomicPtr<AtomicU32>,
        pub(super) error: AtomicI32,
        pub(super) fork_ns: AtomicU64,
        pub(super) roots_ns: AtomicU64,
        /// How long the collection under way has stood still for a graph, beside `roots_ns`.
        pub(super) pause_ns: AtomicU64,
        thread_runs: AtomicBool,
    }
}

impl GraphState {
    /// Keeps where gcwatch listens.
    pub(in crate::agent) fn prepare(&self, path: Option<&str>) {
        let path = path.unwrap_or_default().as_bytes();
        for (index, word) in self.path.iter().enumerate() {
            let mut bytes = [0; 8];
            let from = index.saturating_mul(8);
            for (to, byte) in bytes.iter_mut().zip(path.get(from..).unwrap_or_default()) {
                *to = *byte;
            }
            word.store(u64::from_le_bytes(bytes), SeqCst);
        }
    }

    /// Connects to gcwatch.
    pub(super) fn connect(&self) -> Option<Lease> {
        const CONNECT_TIMEOUT_MS: u32 = 1000;
        let mut bytes = [0_u8; (PATH_BYTES / 8 + 1) * 8];
        for (to, word) in bytes.chunks_exact_mut(8).zip(&self.path) {
            to.copy_from_slice(&word.load(SeqCst).to_le_bytes());
        }
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let path = core::str::from_utf8(bytes.get(..end)?).ok().filter(|path| !path.is_empty())?;
        let lease = Lease::connect(path, CONNECT_TIMEOUT_MS)?;
        let (connection, identity) = lease.into_parts();
        self.identity.store(identity, SeqCst);
        self.connection.store(connection, SeqCst);
        Some(lease)
    }

    /// Before a copy is made: it has not sent everything.
    pub(super) fn prepare_whole(&self) {
        if self.whole.load(SeqCst).is_null()
            && let Some(number) = copy::shared_number()
        {
            self.whole.store(ptr::from_ref(number).cast_mut(), SeqCst);
        }
        self.set_whole(false);
    }

    /// The copy has sent everything, or has not.
    pub(super) fn set_whole(&self, is_whole: bool) {
        if let Some(number) = self.whole() {
            number.store(u32::from(is_whole), SeqCst);
        }
    }

    /// Whether the copy has said that it has sent everything.
    pub(super) fn is_whole(&self) -> bool {
        self.whole().is_some_and(|number| number.load(SeqCst) != 0)
    }

    fn whole(&self) -> Option<&AtomicU32> {
        // SAFETY: null, or a reference of `shared_number`.
        unsafe { self.whole.load(SeqCst).as_ref() }
    }

    pub(super) fn connection(&self) -> Option<Lease> {
        Lease::from_parts(self.connection.load(SeqCst), self.identity.load(SeqCst))
    }

    pub(super) fn close(&self) {
        if let Some(lease) = Lease::from_parts(self.connection.swap(0, SeqCst), self.identity.load(SeqCst)) {
            lease.close();
        }
    }

    pub(super) fn stage(&self) -> Stage {
        Stage(self.stage.load(SeqCst))
    }

    /// How long the collection that ends has stood still for a graph, in ns; 0: not at all.
    pub(in crate::agent) fn take_pause_ns(&self) -> u64 {
        self.pause_ns.swap(0, SeqCst)
    }

    /// Whether the next collection is to be used.
    pub(in crate::agent) fn is_wanted(&self) -> bool {
        [Stage::WANTED, Stage::READY].contains(&self.stage())
    }

    pub(super) fn enter(&self, stage: Stage) {
        self.stage.store(stage.0, SeqCst);
    }

    /// Goes from one stage to another; `false`: it was in none of these.
    pub(super) fn step(&self, from: Stage, to: Stage) -> bool {
        self.stage.compare_exchange(from.0, to.0, SeqCst, SeqCst).is_ok()
    }

    /// Ends the walk in the pause. The walk's memory is not used any more.
    pub(super) fn end_walk(&self, stage: Stage) {
        let pause_ns = sys::tick_ns().saturating_sub(self.walk_began_ns.load(SeqCst));
        self.fork_ns.store(pause_ns, SeqCst);
        self.pause_ns.store(pause_ns, SeqCst);
        self.enter(stage);
    }

    /// Starts the thread that takes a graph, unless it runs.
    pub(in crate::agent) fn start_thread(&self, thread: extern "C" fn()) {
        if !self.thread_runs.load(SeqCst) {
            start_thread(&self.thread_runs, thread);
        }
    }

    pub(in crate::agent) fn is_thread_running(&self) -> bool {
        self.thread_runs.load(SeqCst)
    }

    /// Waits for the thread to end; returns whether it has.
    pub(in crate::agent) fn thread_has_ended(&self) -> bool {
        let mut left_ms = THREAD_TIMEOUT_MS;
        while self.is_thread_running() && left_ms > 0 {
            sys::sleep_ms(1);
            left_ms = left_ms.saturating_sub(1);
        }
        !self.is_thread_running()
    }

    /// The thread's last call.
    pub(super) fn set_thread_ended(&self) {
        self.thread_runs.store(false, SeqCst);
    }
}
