//! Events of the runtime, which in-process sessions deliver on the thread that fires them.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::arming::Armed;
use super::profiler::{Phase, Profiler};
use super::references::array;
use super::text::{terminated, utf16};
use crate::hresult::{HResult, S_OK};
use crate::info::{Info, ProviderConfig};
use crate::sys;
use crate::wire::NoteCode;

const RUNTIME_PROVIDER: [u16; 40] = utf16("Microsoft-Windows-DotNETRuntime");
/// Keyword of the runtime's GC events.
const GC_KEYWORD: u64 = 1;
/// Keyword of the runtime's handle events.
const HANDLE_KEYWORD: u64 = 2;
const INFORMATIONAL: u32 = 4;
const LOG_ALWAYS: u32 = 0;

/// `GCStart`.
const GC_START: u32 = 1;
/// `SetGCHandle`: a handle was allocated.
const SET_HANDLE: u32 = 30;
/// `DestroyGCHandle`.
const DESTROY_HANDLE: u32 = 31;
/// `GCTriggered`, on the thread that triggers the collection.
const GC_TRIGGERED: u32 = 35;
/// `GCMarkWithType`: a heap has marked from one kind of root. Each heap fires several before any heap plans.
const GC_MARK_WITH_TYPE: u32 = 202;

/// Handle of the runtime's provider; 0: not known yet. Providers are never freed.
static RUNTIME: AtomicUsize = AtomicUsize::new(0);

/// Starts the in-process session for GC events.
pub(super) fn start_session(info: Info) -> Result<u64, HResult> {
    start(info, GC_KEYWORD, INFORMATIONAL)
}

/// Starts the in-process session for handle events, which can be stopped alone.
pub(super) fn start_handle_session(info: Info) -> Result<u64, HResult> {
    start(info, HANDLE_KEYWORD, INFORMATIONAL)
}

/// Makes the runtime recompute which of its events are enabled. Not inside a callback.
///
/// When a session stops, the runtime recomputes that while the session is still listed, so the session's events stay
/// enabled for nobody. It recomputes it again when a session starts: here one without any event.
pub(super) fn refresh_enabled_events(info: Info) {
    if let Ok(session) = start(info, 0, LOG_ALWAYS) {
        info.stop_session(session);
    }
}

fn start(info: Info, keywords: u64, level: u32) -> Result<u64, HResult> {
    let name = terminated(&RUNTIME_PROVIDER);
    info.start_session(&[ProviderConfig { name: name.as_ptr(), keywords, level, filter: core::ptr::null() }])
}

/// Every thread finds the same value, so none needs to see that of another.
fn is_runtime(info: Info, provider: usize) -> bool {
    let known = RUNTIME.load(Ordering::Relaxed);
    if known != 0 {
        return known == provider;
    }
    let found = info.provider_is(provider, terminated(&RUNTIME_PROVIDER));
    if found {
        RUNTIME.store(provider, Ordering::Relaxed);
    }
    found
}

/// Number and type of `GCStart`: u32 Count, Depth, Reason, Type, and later fields.
fn gc_start(payload: &[u8]) -> Option<(u32, u32)> {
    let (number, rest) = payload.split_first_chunk::<4>()?;
    let (kind, _) = rest.get(8..)?.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number), u32::from_le_bytes(*kind)))
}

impl Profiler {
    /// `EventPipeEventDelivered`.
    ///
    /// # Safety
    /// `data` is null or has `length` bytes.
    pub(crate) unsafe fn event_delivered(
        &self,
        provider: usize,
        id: u32,
        data: *const u8,
        length: u32,
    ) -> HResult {
        if !matches!(id, GC_START | GC_MARK_WITH_TYPE | GC_TRIGGERED | SET_HANDLE | DESTROY_HANDLE) {
            return S_OK;
        }
        let Some(info) = self.info().filter(|info| is_runtime(*info, provider)) else { return S_OK };
        if id == GC_MARK_WITH_TYPE {
            self.arm(info);
            return S_OK;
        }
        // SAFETY: by the contract.
        let payload = unsafe { array(data, length) };
        match id {
            GC_START => {
                if let Some((number, kind)) = gc_start(payload) {
                    self.collection.delivered(&self.mask, number, kind);
                }
            }
            GC_TRIGGERED => self.gc_triggered(info, payload),
            SET_HANDLE => self.handle_created(info, payload),
            _ => self.handle_destroyed(payload),
        }
        S_OK
    }

    fn arm(&self, info: Info) {
        if !self.collection.can_be_armed() {
            return;
        }
        let entered_ns = sys::tick_ns();
        let wanted = || !self.window.is_full() || self.graph.is_wanted();
        match self.mask.arm(info, || self.phase() == Phase::ACTIVE && wanted()) {
            Armed::Now => self.collection.set_armed(),
            Armed::NotByThis => return,
            Armed::Refused(answer) => {
                self.collection.set_refused();
                self.write_note(info, NoteCode::TOGGLE_FAILED, answer);
            }
        }
        self.collection.add_callback_ns(sys::tick_ns().saturating_sub(entered_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_of_gc_start_is_read() {
        let mut payload: Vec<u8> = [7_u32, 2, 0, 1].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(gc_start(&payload), Some((7, 1)));
        payload.extend([0; 10]);
        assert_eq!(gc_start(&payload), Some((7, 1)));
        for short in 0..16 {
            assert_eq!(gc_start(&payload[..short]), None);
        }
    }
}
