//! The thread that reads names, and what voids the identifiers that were sent.

use core::sync::atomic::Ordering::SeqCst;

use super::state::SHUTDOWN_TIMEOUT_MS;
use crate::agent::profiler::{Phase, Profiler, profiler};
use crate::hresult::{HResult, S_OK};
use crate::info::Info;
use crate::sys;
use crate::wire::event_id;

/// The main function of our thread `gcwatch-names`. It waits until loading is over.
pub(in crate::agent) extern "C" fn names_thread() {
    sys::name_thread(c"gcwatch-names");
    let profiler = profiler();
    while profiler.phase() == Phase::LOADING {
        sys::sleep_ms(1);
    }
    profiler.resolve_names();
    profiler.names.thread_runs.store(false, SeqCst);
}

impl Profiler {
    /// `ModuleUnloadStarted`. All identifiers of the module become void, and those of generic types that use its types.
    pub(crate) fn module_unload_started(&self, module: usize) -> HResult {
        // In any phase: our thread may still be reading while the profiler leaves.
        if !self.names.are_on() {
            return S_OK;
        }
        // First mark what is kept of methods. Readers take their stamp before they read it, so a newer stamp finds it
        // marked.
        self.names.allocating_methods.unloaded(module);
        self.names.modules.unloaded(module);
        self.resend_names();
        // What our thread is reading may belong to this module.
        let is_shutdown = self.phase() == Phase::SHUT_DOWN;
        self.names.gate.wait(is_shutdown.then_some(SHUTDOWN_TIMEOUT_MS));
        S_OK
    }

    /// Has everything sent again.
    pub(in crate::agent) fn resend_names(&self) {
        self.names.known.forget();
        self.names.forget_due.store(true, SeqCst);
    }

    /// Before a collection's names: makes room in the set of known identifiers, however many new types the program
    /// makes.
    pub(super) fn make_room_for_names(&self) {
        let names = &self.names;
        if names.known.is_nearly_full() {
            self.resend_names();
        } else if !names.are_pending() && names.request_dropped.swap(false, SeqCst) {
            // The queue was full and is empty now. What was dropped is requested when it is seen again.
            names.known.forget();
        }
    }

    /// Sends `Forget`, if it is due, before any identifier is used again.
    pub(super) fn send_forget_if_due(&self, info: Info) {
        if self.names.forget_due.swap(false, SeqCst) {
            self.events.write_payload(info, event_id::FORGET, &[]);
            // The reader also forgets what was sent between the unloading and now.
            self.names.resend.store(true, SeqCst);
            self.names.known.forget();
        }
    }

    /// The runtime's interface, for our threads for names.
    pub(super) fn info_to_name(&self) -> Option<Info> {
        self.info().filter(|_| self.phase() == Phase::ACTIVE)
    }
}
