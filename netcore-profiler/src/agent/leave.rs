//! The way out.

use core::sync::atomic::Ordering;

use super::{Phase, Profiler};
use crate::hresult::{E_FAIL, HResult, S_OK, succeeded};
use crate::info::Info;
use crate::sys;
use crate::wire::NoteCode;

/// How long the end of an armed collection is waited for.
const LONGEST_COLLECTION_MS: u32 = 60_000;
/// What the runtime is told the evacuation takes; it is also the least that it waits.
const DETACH_MS: u32 = 300;

impl Profiler {
    /// Leaves, on our own thread: nothing of this may be done inside a callback. Afterwards the thread
    /// touches nothing of the runtime's. Whether the runtime will say when it is done.
    pub(super) fn leave(&self, reason: NoteCode) -> bool {
        let Some(info) = self.info_to_leave() else { return false };
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
        let ended = self.names.thread_has_ended();
        self.mask.leave(info);
        self.write_note(info, NoteCode::LEAVING, S_OK);
        self.leave_handles(info);
        let session = self.session.swap(0, Ordering::SeqCst);
        if session != 0 {
            info.stop_session(session);
        }
        if !self.enter(Phase::GONE) {
            return false;
        }
        // A thread that never comes back would come back into a runtime that let us go.
        let answer = if ended { info.request_profiler_detach(DETACH_MS) } else { E_FAIL };
        if !succeeded(answer) {
            // Being loaded then costs nothing but the runtime's one place for a profiler.
            info.set_event_mask2(0, 0);
            self.write_note(info, NoteCode::DETACH_REFUSED, answer);
        }
        succeeded(answer)
    }

    fn is_in_collection(&self) -> bool {
        let armed = self.collection.is_open() && self.mask.is_on();
        armed || self.mask.is_switching() || self.is_finishing()
    }

    /// `ProfilerDetachSucceeded`: the runtime's last call.
    pub(crate) fn detach_succeeded(&self) -> HResult {
        self.forget_info();
        self.lease.hang_up();
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
