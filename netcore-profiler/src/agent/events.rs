//! Our EventPipe provider and its events.
//!
//! The runtime never frees a provider or an event definition, so they are created once in a process and found again by
//! every later attach.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use super::text::{terminated, utf16};
use crate::hresult::{E_FAIL, HResult};
use crate::info::{EventData, EventDefinition, Info, ParamDesc, ProviderCallback};
use crate::sys;
use crate::wire::describe::{self, Description, EVENTS, MAX_FIELDS};
use crate::wire::{
    ABI_VERSION, BatchHeader, LEVEL, MAX_EVENT_BYTES, PROVIDER_NAME, Parts, Payload, event_id,
};

const NAME: [u16; 32] = utf16(PROVIDER_NAME);

/// The longest name of a field, with its zero.
const NAME_UNITS: usize = 24;

/// Room for rows in one event, in bytes.
pub(super) const ROWS_BYTES: usize = MAX_EVENT_BYTES.saturating_sub(BatchHeader::SIZE);
/// What an event of a collection needs: the interface, our provider, and the collection's number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sink<'a> {
    pub(super) info: Info,
    pub(super) events: &'a Events,
    pub(super) gc_seq: u64,
}

zeroed! {
    #[derive(Debug)]
    pub(super) struct Events {
        provider: AtomicUsize,
        /// The runtime tells us when the provider is enabled and disabled (.NET 8 and later).
        has_callback: AtomicBool,
        enabled: AtomicBool,
        events: [AtomicUsize; EVENTS],
        parts: [AtomicU32; EVENTS],
        /// Room to encode what is too large for the stack.
        scratch: AtomicPtr<u8>,
    }
}

impl Events {
    /// Creates provider and events, or finds those of an earlier attach. The provider's handle is stored last. `info14` is the same runtime's
    /// `ICorProfilerInfo14`, if it has one; `switched` is called when the provider is enabled or disabled.
    pub(super) fn prepare(
        &self,
        info: Info,
        info14: Option<Info>,
        switched: ProviderCallback,
    ) -> Result<(), HResult> {
        if self.scratch.load(Ordering::Acquire).is_null() {
            let memory = sys::map(MAX_EVENT_BYTES).ok_or(E_FAIL)?;
            self.scratch.store(memory.as_ptr(), Ordering::Release);
        }
        self.take_parts();
        let name = terminated(&NAME);
        let known = self.provider.load(Ordering::Acquire);
        if known != 0 && info.provider_is(known, name) {
            return Ok(());
        }
        let provider = match info14 {
            // SAFETY: queried as `ICorProfilerInfo14`.
            Some(info14) => unsafe { info14.create_provider2(name, switched) }?,
            None => info.create_provider(name)?,
        };
        for (event, handle) in describe::events().zip(&self.events) {
            handle.store(define(info, provider, &event)?, Ordering::Release);
        }
        self.has_callback.store(info14.is_some(), Ordering::Release);
        self.provider.store(provider, Ordering::Release);
        Ok(())
    }

    pub(super) fn has_callback(&self) -> bool {
        self.has_callback.load(Ordering::Acquire)
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::SeqCst)
    }

    /// Notes whether somebody listens to the provider; returns whether somebody did before.
    pub(super) fn set_enabled(&self, enabled: bool) -> bool {
        self.enabled.swap(enabled, Ordering::SeqCst)
    }

    /// Writes an event from several parts.
    fn write(&self, info: Info, id: u32, data: &[EventData]) {
        let index = (id as usize).wrapping_sub(1);
        let handle = self.events.get(index).map_or(0, |event| event.load(Ordering::Acquire));
        if handle != 0 {
            // The result tells nothing: it is S_OK for dropped events, too. Readers count the parts.
            let _ = info.write_event(handle, data);
        }
    }

    /// Writes an event.
    #[inline(never)]
    pub(super) fn write_payload(&self, info: Info, id: u32, payload: &[u8]) {
        self.write(info, id, &[EventData::of(payload)]);
    }

    /// Encodes an event of at most `N` bytes, and writes it.
    pub(super) fn send<'a, const N: usize>(&self, info: Info, payload: &impl Payload<'a>) {
        self.send_from(&mut [0; N], info, payload);
    }

    /// Encodes an event into `buffer`, and writes it.
    pub(super) fn send_from<'a, P: Payload<'a>>(&self, buffer: &mut [u8], info: Info, payload: &P) {
        if let Ok(length) = payload.encode(buffer) {
            self.write_payload(info, P::ID, buffer.get(..length).unwrap_or_default());
        }
    }

    /// Writes a numbered part of rows. Any thread of the collection may call this.
    pub(super) fn write_rows(&self, sink: Sink<'_>, id: u32, phase: u8, rows: u32, bytes: &[u8]) {
        let index = (id as usize).wrapping_sub(1);
        let part = self.parts.get(index).map_or(0, |part| part.fetch_add(1, Ordering::Relaxed));
        let header = BatchHeader { gc_seq: sink.gc_seq, part, rows, phase }.encode();
        self.write(sink.info, id, &[EventData::of(&header), EventData::of(bytes)]);
    }

    /// How many parts of one kind were written since the last call.
    pub(super) fn take_part(&self, id: u32) -> u32 {
        let part = self.parts.get((id as usize).wrapping_sub(1));
        part.map_or(0, |part| part.swap(0, Ordering::Relaxed))
    }

    /// How many parts of raw data were written since the last call.
    pub(super) fn take_parts(&self) -> Parts {
        let take = |id| self.take_part(id);
        Parts {
            bounds: take(event_id::BOUNDS),
            moved: take(event_id::MOVED),
            surviving: take(event_id::SURVIVING),
            roots: take(event_id::ROOTS),
        }
    }

    /// [`MAX_EVENT_BYTES`] bytes for the one thread that finishes a collection.
    ///
    /// # Safety
    /// No other such slice is alive.
    #[expect(clippy::mut_from_ref, reason = "exclusive by the contract")]
    pub(super) unsafe fn scratch(&self) -> &mut [u8] {
        let memory = self.scratch.load(Ordering::Acquire);
        if memory.is_null() {
            return &mut [];
        }
        // SAFETY: `prepare` mapped MAX_EVENT_BYTES bytes for good; exclusive by the contract.
        unsafe { core::slice::from_raw_parts_mut(memory, MAX_EVENT_BYTES) }
    }
}

fn define(info: Info, provider: usize, event: &Description) -> Result<usize, HResult> {
    let name: [u16; NAME_UNITS] = utf16(event.name);
    let mut names = [[0_u16; NAME_UNITS]; MAX_FIELDS];
    let mut params = [ParamDesc { kind: 0, element: 0, name: ptr::null() }; MAX_FIELDS];
    let mut count = 0_usize;
    for (((field, kind), name), param) in event.fields().zip(&mut names).zip(&mut params) {
        *name = utf16(field);
        *param = ParamDesc { kind: kind as u32, element: 0, name: name.as_ptr() };
        count = count.saturating_add(1);
    }
    info.define_event(
        provider,
        &EventDefinition {
            name: terminated(&name),
            id: event.id,
            keywords: event.keywords,
            version: ABI_VERSION,
            level: LEVEL,
            params: params.get(..count).unwrap_or_default(),
        },
    )
}
