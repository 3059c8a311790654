//! Our thread `gcwatch-lease`: it waits for the end of the lease, and does what no callback may do inside a collection.

use super::graph::thread::graph_thread;
use super::lease::{ARM_ALWAYS, CHECK_LISTENER, SEND_HELLO};
use super::profiler::{Phase, Profiler, profiler};
use crate::hresult::{HResult, S_OK};
use crate::info::Info;
use crate::sys::{self, LeaseSign};
use crate::wire::NoteCode;

/// How often the thread looks at its requests.
pub(super) const POLL_INTERVAL_MS: u32 = 200;
/// After this time without a heartbeat the other end counts as gone. One is expected each second.
const HEARTBEAT_TIMEOUT_NS: u64 = 10_000_000_000;

/// The thread's main function. It waits until loading is over, and ends at once if loading failed.
pub(super) extern "C" fn lease_thread() {
    sys::name_thread(c"gcwatch-lease");
    let profiler = profiler();
    while profiler.phase() == Phase::LOADING {
        sys::sleep_ms(1);
    }
    if let Some(reason) = profiler.keep_lease() {
        profiler.leave(reason);
    }
    // If the runtime has detached the profiler, `ProfilerDetachSucceeded` has closed the lease already.
    profiler.lease.close();
    profiler.lease.set_thread_ended();
}

impl Profiler {
    /// Waits for a reason to leave. `None`: the runtime has shut down, or loading failed.
    fn keep_lease(&self) -> Option<NoteCode> {
        let mut last_sign_ns = sys::tick_ns();
        loop {
            if self.phase() != Phase::ACTIVE {
                return None;
            }
            self.serve_requests(self.info()?);
            match self.lease.connection() {
                Some(lease) => match lease.wait(POLL_INTERVAL_MS) {
                    LeaseSign::Alive => last_sign_ns = sys::tick_ns(),
                    LeaseSign::Graph => {
                        last_sign_ns = sys::tick_ns();
                        self.graph.start_thread(graph_thread);
                    }
                    LeaseSign::Closed => return Some(NoteCode::LEASE_LOST),
                    LeaseSign::Taken => {
                        self.lease.abandon();
                        return Some(NoteCode::LEASE_TAKEN);
                    }
                    LeaseSign::Silent => {
                        if sys::tick_ns().saturating_sub(last_sign_ns) > HEARTBEAT_TIMEOUT_NS {
                            return Some(NoteCode::LEASE_SILENT);
                        }
                    }
                },
                None => {
                    sys::sleep_ms(POLL_INTERVAL_MS);
                    // The request is at least one interval old. A runtime that shuts down switches the provider off,
                    // too; by now it has called `Shutdown`.
                    if self.lease.take_request(CHECK_LISTENER) && !self.events.is_enabled() {
                        return Some(NoteCode::PROVIDER_OFF);
                    }
                }
            }
        }
    }

    fn serve_requests(&self, info: Info) {
        if self.lease.take_request(SEND_HELLO) {
            self.resend_names();
            self.write_hello(info);
        }
        if self.lease.take_request(ARM_ALWAYS) {
            self.give_up_late_arming(info, NoteCode::FELL_BACK_ALWAYS, S_OK);
        }
    }

    /// Keeps `COR_PRF_MONITOR_GC` on from now on. The note holds `cause`, or the runtime's failure if it refuses that.
    pub(super) fn give_up_late_arming(&self, info: Info, code: NoteCode, cause: HResult) {
        let answer = self.mask.arm_always(info);
        self.write_note(info, code, if answer == S_OK { cause } else { answer });
        self.write_hello(info);
    }
}
