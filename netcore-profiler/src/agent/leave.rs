//! How the profiler leaves the process.

use core::sync::atomic::Ordering;

use super::lease_thread::POLL_INTERVAL_MS;
use super::profiler::{Phase, Profiler};
use crate::hresult::{E_FAIL, HResult, S_OK, succeeded};
use crate::info::Info;
use crate::sys;
use crate::wire::NoteCode;

/// How long leaving waits for the end of an armed collection.
const COLLECTION_TIMEOUT_MS: u32 = 60_000;
/// How long the runtime waits at least before it looks whether our code is still on a stack.
const DETACH_MS: u32 = 300;
/// The first interval after which a refused detach is requested again. It doubles each time, up to the maximum.
const RETRY_INTERVAL_MS: u32 = 1000;
const MAX_RETRY_INTERVAL_MS: u32 = 60_000;

impl Profiler {
    /// Leaves, on our own thread, because none of this is allowed inside a callback. Returns when the runtime has
    /// detached the profiler, or has shut down.
    pub(super) fn leave(&self, reason: NoteCode) {
        if let Some(info) = self.info_to_leave()
            && self.stop(info, reason)
        {
            self.request_detach(info);
        }
    }

    /// Stops everything that costs the target anything. `false`: the runtime has shut down meanwhile.
    fn stop(&self, info: Info, reason: NoteCode) -> bool {
        self.write_note(info, reason, S_OK);
        if !self.enter(Phase::STOPPING) {
            return false;
        }
        // From here on no collection is armed. One that is armed runs to its end.
        let mut left_ms = COLLECTION_TIMEOUT_MS;
        while self.is_in_collection() && left_ms > 0 {
            sys::sleep_ms(1);
            left_ms = left_ms.saturating_sub(1);
            if self.phase() != Phase::STOPPING {
                return false;
            }
        }
        if !self.enter(Phase::LEAVING) {
            return false;
        }
        // If this times out, `request_detach` waits on: a thread of ours must not call a runtime that has detached us.
        self.names.thread_has_ended();
        self.graph.thread_has_ended();
        self.mask.leave(info);
        self.stop_handle_session(info);
        let session = self.session.swap(0, Ordering::SeqCst);
        if session != 0 {
            info.stop_session(session);
        }
        // Last, because gcwatch then ends its own session, and two changes at once can reach the garbage collector in
        // the wrong order: it would send nothing to other sessions.
        self.write_note(info, NoteCode::GOODBYE, S_OK);
        self.enter(Phase::GONE)
    }

    /// Requests the detach, again if the runtime refuses, and waits until it has happened.
    fn request_detach(&self, info: Info) {
        let mut interval_ms = RETRY_INTERVAL_MS;
        let mut refused = false;
        loop {
            if self.phase() != Phase::GONE {
                return;
            }
            let answer = if self.names.is_thread_running() || self.graph.is_thread_running() {
                E_FAIL
            } else {
                info.request_profiler_detach(DETACH_MS)
            };
            if succeeded(answer) {
                break;
            }
            if !refused {
                refused = true;
                // From here on a loaded profiler only keeps other profilers out.
                info.set_event_mask2(0, 0);
                self.write_note(info, NoteCode::DETACH_REFUSED, answer);
                // gcwatch need not wait for the detach.
                self.lease.close();
            }
            self.sleep_while_gone(interval_ms);
            interval_ms = interval_ms.saturating_mul(2).min(MAX_RETRY_INTERVAL_MS);
        }
        // Nothing of the runtime is called from here on. While this thread exists, gcwatch sees that we are not
        // detached yet.
        let mut step_ms = 10_u32;
        while self.phase() == Phase::GONE {
            sys::sleep_ms(step_ms);
            step_ms = step_ms.saturating_mul(2).min(POLL_INTERVAL_MS);
        }
    }

    /// Sleeps, but stops soon when the runtime shuts down.
    fn sleep_while_gone(&self, duration_ms: u32) {
        let mut left_ms = duration_ms;
        while left_ms > 0 && self.phase() == Phase::GONE {
            let step_ms = left_ms.min(POLL_INTERVAL_MS);
            sys::sleep_ms(step_ms);
            left_ms = left_ms.saturating_sub(step_ms);
        }
    }

    pub(super) fn is_in_collection(&self) -> bool {
        let armed = self.collection.is_open() && self.mask.is_on();
        armed || self.mask.is_switching() || self.is_finishing()
    }

    /// `ProfilerDetachSucceeded`: the runtime's last call.
    pub(crate) fn detach_succeeded(&self) -> HResult {
        self.release_info();
        self.lease.close();
        self.enter(Phase::IDLE);
        S_OK
    }

    /// Releases the reference to the runtime's interface.
    pub(super) fn release_info(&self) {
        let pointer = self.info.swap(core::ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: the pointer was the only kept one, so it is released once; in this phase `info` returns nothing.
        if let Some(info) = unsafe { Info::from_pointer(pointer) } {
            info.release();
        }
    }
}
