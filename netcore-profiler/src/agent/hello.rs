//! What the profiler says about itself: hello, and notes on what happened.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use super::lease::{CHECK_LISTENER, SEND_HELLO};
use super::profiler::{Profiler, profiler};
use crate::hresult::HResult;
use crate::info::Info;
use crate::sys;
use crate::wire::{ABI_VERSION, Hello, Note, NoteCode};

/// The runtime's callback for our provider: the first listener has come, or the last one has gone. The runtime may call
/// it at any time, even long after the profiler was detached.
pub(super) unsafe extern "system" fn provider_switched(
    _source: *const u8,
    enabled: u32,
    _level: u8,
    _any_keywords: u64,
    _all_keywords: u64,
    _filter: *const c_void,
    _context: *mut c_void,
) {
    let profiler = profiler();
    let was_enabled = profiler.events.set_enabled(enabled != 0);
    if enabled != 0 {
        profiler.lease.request(SEND_HELLO);
    } else if was_enabled {
        profiler.lease.request(CHECK_LISTENER);
    }
}

impl Profiler {
    pub(super) fn write_hello(&self, info: Info) {
        let tick_ns = sys::tick_ns();
        let hello = Hello {
            abi: ABI_VERSION,
            load: self.loaded_by(),
            arming: self.arming(),
            blocks: self.blocks.load(Ordering::Relaxed),
            names: self.names.are_on(),
            clr_version: info.runtime_version(),
            slots: u32::try_from(self.slots.count()).unwrap_or(u32::MAX),
            lease_connected: self.lease.is_connected(),
            tick_ns,
            window: self.window.get(),
            age_ns: tick_ns.saturating_sub(self.loaded_tick_ns.load(Ordering::Relaxed)),
        };
        self.events.send::<64>(info, &hello);
        self.note_handle_storm(info);
    }

    pub(super) fn write_note(&self, info: Info, code: NoteCode, hresult: HResult) {
        self.events.send::<16>(info, &Note { code, hresult, tick_ns: sys::tick_ns() });
    }
}
