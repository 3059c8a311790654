//! What names need: tables and flags, made before the first callback.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use super::allocated_by::AllocatingMethods;
use super::budget::Budget;
use super::handles::Handles;
use super::known::{Definitions, Known};
use super::modules::{Gate, Modules};
use super::queue::Queue;
use super::roots::Roots;
use super::schedule::Schedule;
use super::stack;
use super::statics::Fields;
use crate::agent::lease::start_thread;
use crate::info::Info;
use crate::sys;

/// How long the shutdown of the runtime waits for the definition that is being read.
pub(super) const SHUTDOWN_TIMEOUT_MS: u32 = 1000;
/// How long leaving waits for our thread.
const THREAD_TIMEOUT_MS: u32 = 10_000;

zeroed! {
    #[derive(Debug)]
    pub(in crate::agent) struct Names {
        pub(super) on: AtomicBool,
        /// The runtime tells where frozen objects are (`ICorProfilerInfo14`).
        pub(in crate::agent) knows_frozen: AtomicBool,
        pub(super) known: Known,
        pub(super) definitions: Definitions,
        pub(super) queue: Queue,
        pub(super) modules: Modules,
        pub(super) gate: Gate,
        pub(super) allocating_methods: AllocatingMethods,
        pub(super) handles: Handles,
        pub(super) budget: Budget,
        pub(super) fields: Fields,
        /// Classes whose static fields are all known.
        pub(super) searched_classes: Definitions,
        pub(super) schedule: Schedule,
        pub(in crate::agent) roots: Roots,
        /// The last collection for which `NamesDone` was asked for, and was sent.
        pub(super) done_requested: AtomicU64,
        pub(super) done_sent: AtomicU64,
        /// Requests that were served, of [`Queue::count`].
        pub(super) served: AtomicU64,
        /// Our thread waits for this to change.
        pub(super) wakeups: AtomicU32,
        /// Identifiers that were sent are void, and `Forget` is still to be sent.
        pub(super) forget_due: AtomicBool,
        /// Definitions are to be sent again.
        pub(super) resend: AtomicBool,
        /// A request for a name did not fit into the queue.
        pub(super) request_dropped: AtomicBool,
        pub(super) thread_runs: AtomicBool,
    }
}

impl Names {
    /// Prepares for loading with or without names. The thread does not run yet.
    pub(in crate::agent) fn prepare(&self, info: Info, on: bool, knows_frozen: bool) -> bool {
        self.on.store(on, SeqCst);
        self.knows_frozen.store(knows_frozen, SeqCst);
        if !on {
            return true;
        }
        stack::prepare(info);
        let ready = self.known.prepare()
            && self.definitions.prepare()
            && self.queue.prepare()
            && self.modules.prepare()
            && self.allocating_methods.prepare()
            && self.handles.prepare()
            && self.fields.prepare()
            && self.searched_classes.prepare()
            && self.roots.prepare();
        self.budget.reset(sys::tick_ns());
        self.schedule.reset(self.modules.now());
        self.done_requested.store(0, SeqCst);
        self.done_sent.store(0, SeqCst);
        self.served.store(self.queue.count(), SeqCst);
        self.request_dropped.store(false, SeqCst);
        ready
    }

    pub(in crate::agent) fn are_on(&self) -> bool {
        self.on.load(SeqCst)
    }

    /// A stamp: which modules are loaded now.
    pub(in crate::agent) fn seen_now(&self) -> u64 {
        self.modules.now()
    }

    /// Whether requests wait to be served.
    pub(super) fn are_pending(&self) -> bool {
        self.queue.count() != self.served.load(SeqCst)
    }

    /// Wakes our thread.
    pub(super) fn wake(&self) {
        self.wakeups.fetch_add(1, SeqCst);
        sys::wake(&self.wakeups);
    }

    /// Starts the thread, if names are wanted.
    pub(in crate::agent) fn start_thread(&self, thread: extern "C" fn()) -> bool {
        !self.are_on() || start_thread(&self.thread_runs, thread)
    }

    /// Whether one of our threads for names still runs, of this or an earlier attach.
    pub(in crate::agent) fn is_thread_running(&self) -> bool {
        self.thread_runs.load(SeqCst) || self.handles.is_session_stopping()
    }

    /// Waits for those threads to end; returns whether they have.
    pub(in crate::agent) fn thread_has_ended(&self) -> bool {
        let mut left_ms = THREAD_TIMEOUT_MS;
        while self.is_thread_running() {
            if left_ms == 0 {
                return false;
            }
            self.wake();
            sys::sleep_ms(1);
            left_ms = left_ms.saturating_sub(1);
        }
        true
    }

    /// Waits for the definition that is being read, if any. The phase keeps our thread from reading another one.
    pub(in crate::agent) fn interrupt(&self) {
        if self.are_on() {
            self.gate.wait(Some(SHUTDOWN_TIMEOUT_MS));
        }
    }
}
