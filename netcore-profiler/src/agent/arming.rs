//! The event mask: when `COR_PRF_MONITOR_GC` is on.
//!
//! If the flag is on when a collection starts, the runtime walks all of generation 0 for statistics that we do not use.
//! So we set it in the mark phase, before any heap plans, and clear it at the end, both on the collection's own thread.
//!
//! If another thread writes the mask while the runtime reports ranges, a batch of them may be lost. Each such write
//! makes the epoch odd before and even after. A collection that does not see the same even epoch at its start and at
//! its end is half-armed.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::hresult::{HResult, S_OK, succeeded};
use crate::info::{HIGH_BASIC_GC, HIGH_EVENT_PIPE, Info, MONITOR_GC, MONITOR_MODULE_LOADS, STACK_SNAPSHOT};
use crate::sys;

const HIGH: u32 = HIGH_BASIC_GC | HIGH_EVENT_PIPE;

/// After this many collections in a row that could not be armed the flag stays on.
const MAX_FAILURES_IN_A_ROW: u32 = 3;

/// States of the flag.
const OFF: u32 = 0;
const SWITCHING: u32 = 1;
const ON: u32 = 2;
/// On since loading, when it must be on; to be cleared for the first time.
const LOADED: u32 = 3;

zeroed! {
    #[derive(Debug)]
    pub(super) struct Mask {
        late: AtomicBool,
        /// The bits of the low mask that are always on.
        constant: AtomicU32,
        state: AtomicU32,
        epoch: AtomicU64,
        failures: AtomicU32,
        failures_in_a_row: AtomicU32,
    }
}

/// Result of [`Mask::arm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Armed {
    /// This call has set the flag.
    Now,
    /// The flag is on already, another thread is setting it, or it is not wanted.
    NotByThis,
    /// The runtime refused.
    Refused(HResult),
}

impl Mask {
    /// Sets the mask for the first time, with the flag. Only inside `Initialize` and `InitializeForAttach` does the
    /// runtime disable background collections for that; otherwise it would refuse the flag later.
    pub(super) fn load(&self, info: Info, late: bool, names: bool) -> HResult {
        self.late.store(late, SeqCst);
        self.constant.store(if names { MONITOR_MODULE_LOADS | STACK_SNAPSHOT } else { 0 }, SeqCst);
        self.failures.store(0, SeqCst);
        self.failures_in_a_row.store(0, SeqCst);
        let answer = self.write_from_outside(info, MONITOR_GC);
        self.state.store(if succeeded(answer) { LOADED } else { OFF }, SeqCst);
        answer
    }

    fn write(&self, info: Info, low: u32) -> HResult {
        info.set_event_mask2(low | self.constant.load(SeqCst), HIGH)
    }

    /// Writes the mask from a thread that is not the collection's.
    fn write_from_outside(&self, info: Info, low: u32) -> HResult {
        self.epoch.fetch_add(1, SeqCst);
        let answer = self.write(info, low);
        self.epoch.fetch_add(1, SeqCst);
        answer
    }

    pub(super) fn is_late(&self) -> bool {
        self.late.load(SeqCst)
    }

    pub(super) fn is_on(&self) -> bool {
        matches!(self.state.load(SeqCst), ON | LOADED)
    }

    /// Whether a thread is writing the mask.
    pub(super) fn is_switching(&self) -> bool {
        self.state.load(SeqCst) == SWITCHING
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(SeqCst)
    }

    /// Whether no other thread has written the mask in a collection that began at `epoch`.
    pub(super) fn undisturbed_since(&self, epoch: u64) -> bool {
        epoch & 1 == 0 && self.epoch() == epoch
    }

    /// How often arming has failed since loading.
    pub(super) fn failures(&self) -> u32 {
        self.failures.load(SeqCst)
    }

    /// Clears the flag after loading, if arming is late.
    pub(super) fn settle(&self, info: Info) {
        if !self.is_late() || self.state.compare_exchange(LOADED, SWITCHING, SeqCst, SeqCst).is_err() {
            return;
        }
        let answer = self.write_from_outside(info, 0);
        self.state.store(if succeeded(answer) { OFF } else { LOADED }, SeqCst);
    }

    /// Arms the collection of the calling thread. `wanted` is called again after the attempt is visible to other
    /// threads: a thread that makes it return `false` and then finds the flag off can rely on that.
    pub(super) fn arm(&self, info: Info, wanted: impl Fn() -> bool) -> Armed {
        if !self.is_late()
            || !wanted()
            || self.state.compare_exchange(OFF, SWITCHING, SeqCst, SeqCst).is_err()
        {
            return Armed::NotByThis;
        }
        if !wanted() {
            self.state.store(OFF, SeqCst);
            return Armed::NotByThis;
        }
        let answer = self.write(info, MONITOR_GC);
        if succeeded(answer) {
            self.state.store(ON, SeqCst);
            return Armed::Now;
        }
        self.state.store(OFF, SeqCst);
        Armed::Refused(answer)
    }

    /// Clears the flag at the end of a collection, on the collection's own thread.
    pub(super) fn disarm(&self, info: Info) {
        if !self.is_late() {
            return;
        }
        for on in [ON, LOADED] {
            if self.state.compare_exchange(on, SWITCHING, SeqCst, SeqCst).is_ok() {
                let answer = self.write(info, 0);
                self.state.store(if succeeded(answer) { OFF } else { on }, SeqCst);
            }
        }
    }

    /// Records whether a collection was armed; returns whether to give up late arming.
    pub(super) fn record(&self, armed: bool) -> bool {
        if armed {
            self.failures_in_a_row.store(0, SeqCst);
            return false;
        }
        self.failures.fetch_add(1, SeqCst);
        let in_a_row = self.failures_in_a_row.fetch_add(1, SeqCst).wrapping_add(1);
        self.is_late() && in_a_row >= MAX_FAILURES_IN_A_ROW
    }

    /// Waits for another thread's write, which takes microseconds, and keeps other threads from writing. Gives up
    /// waiting after a second.
    fn seize(&self) {
        for _ in 0..1000 {
            let free = |state| (state != SWITCHING).then_some(SWITCHING);
            if self.state.fetch_update(SeqCst, SeqCst, free).is_ok() {
                return;
            }
            sys::sleep_ms(1);
        }
    }

    /// Gives up late arming: sets the flag for good. Not on a collection's thread.
    pub(super) fn arm_always(&self, info: Info) -> HResult {
        if !self.late.swap(false, SeqCst) {
            return S_OK;
        }
        self.failures_in_a_row.store(0, SeqCst);
        self.seize();
        let answer = self.write_from_outside(info, MONITOR_GC);
        self.state.store(if succeeded(answer) { ON } else { OFF }, SeqCst);
        answer
    }

    /// Clears the flag for good. Not on a collection's thread.
    pub(super) fn leave(&self, info: Info) {
        self.late.store(false, SeqCst);
        self.constant.store(0, SeqCst);
        self.seize();
        self.write_from_outside(info, 0);
        self.state.store(OFF, SeqCst);
    }
}
