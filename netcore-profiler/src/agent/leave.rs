//! The way out.

use core::sync::atomic::Ordering;

use super::lease_thread::POLL_INTERVAL_MS;
use super::profiler::{Phase, Profiler};
use crate::hresult::{E_FAIL, HResult, S_OK, succeeded};
use crate::info::Info;
use crate::sys;
use crate::wire::NoteCode;

/// How long the end of an armed collection is waited for.
const LONGEST_COLLECTION_MS: u32 = 60_000;
/// What the runtime is told the evacuation takes; it is also the least that it waits.
const DETACH_MS: u32 = 300;
/// When it is asked again where it has refused; then after twice as long, up to the second.
const ASK_AGAIN_MS: (u32, u32) = (1000, 60_000);

impl Profiler {
    /// Leaves, on our own thread: nothing of this may be done inside a callback. Returns when the runtime has let the
    /// profiler go, or has shut down.
    pub(super) fn leave(&self, reason: NoteCode) {
        if let Some(info) = self.info_to_leave()
            && self.stop(info, reason)
        {
            self.be_detached(info);
        }
    }

    /// Takes everything down that costs the program anything. `false` where the runtime has shut down meanwhile.
    fn stop(&self, info: Info, reason: NoteCode) -> bool {
        self.write_note(info, reason, S_OK);
        if !self.enter(Phase::STOPPING) {
            return false;
        }
        // From here on no collection gets armed; one that is runs to its end.
        let mut left_ms = LONGEST_COLLECTION_MS;
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
        // A thread that never comes back would come back into a runtime that let us go: `be_detached` looks again.
        self.names.thread_has_ended();
        self.mask.leave(info);
        self.write_note(info, NoteCode::GOODBYE, S_OK);
        self.stop_handle_session(info);
        let session = self.session.swap(0, Ordering::SeqCst);
        if session != 0 {
            info.stop_session(session);
        }
        self.enter(Phase::GONE)
    }

    /// Asks the runtime to let the profiler go, again and again where it refuses, and waits until it has.
    fn be_detached(&self, info: Info) {
        let (mut pause_ms, longest_ms) = ASK_AGAIN_MS;
        let mut refused = false;
        loop {
            if self.phase() != Phase::GONE {
                return;
            }
            let answer =
                if self.names.is_thread_running() { E_FAIL } else { info.request_profiler_detach(DETACH_MS) };
            if succeeded(answer) {
                break;
            }
            if !refused {
                refused = true;
                // Being loaded then costs nothing but the runtime's one place for a profiler.
                info.set_event_mask2(0, 0);
                self.write_note(info, NoteCode::DETACH_REFUSED, answer);
                // The other end need not wait for it.
                self.lease.close();
            }
            self.rest_while_gone(pause_ms);
            pause_ms = pause_ms.saturating_mul(2).min(longest_ms);
        }
        // Now nothing of the runtime's is touched any more. Whoever looks for us finds this thread until it is done.
        let mut step_ms = 10_u32;
        while self.phase() == Phase::GONE {
            sys::sleep_ms(step_ms);
            step_ms = step_ms.saturating_mul(2).min(POLL_INTERVAL_MS);
        }
    }

    /// Rests, and ends it at once when the runtime shuts down.
    fn rest_while_gone(&self, duration_ms: u32) {
        let mut left_ms = duration_ms;
        while left_ms > 0 && self.phase() == Phase::GONE {
            let step_ms = left_ms.min(POLL_INTERVAL_MS);
            sys::sleep_ms(step_ms);
            left_ms = left_ms.saturating_sub(step_ms);
        }
    }

    fn is_in_collection(&self) -> bool {
        let armed = self.collection.is_open() && self.mask.is_on();
        armed || self.mask.is_switching() || self.is_finishing()
    }

    /// `ProfilerDetachSucceeded`: the runtime's last call.
    pub(crate) fn detach_succeeded(&self) -> HResult {
        self.forget_info();
        self.lease.close();
        self.enter(Phase::IDLE);
        S_OK
    }

    /// Gives back the reference to the runtime's interface.
    pub(super) fn forget_info(&self) {
        let pointer = self.info.swap(core::ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: taken out of the only place it is kept, so it is released once; `info` gives it to
        // no one in this phase.
        if let Some(info) = unsafe { Info::from_pointer(pointer) } {
            info.release();
        }
    }
}
