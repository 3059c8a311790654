//! Sends the values of static fields after each collection.

use core::ptr;
use core::sync::atomic::Ordering::SeqCst;

use super::lookup::Lookup;
use super::queue::Request;
use crate::agent::events::ROWS_BYTES;
use crate::agent::profiler::Profiler;
use crate::wire::{Row, StaticRow, StaticsPhase, event_id};

impl Profiler {
    /// Sends what the known static fields refer to: those that changed, or all of them when that is due.
    ///
    /// # Safety
    /// Only in `GarbageCollectionFinished`, on the one thread that is in it.
    pub(super) unsafe fn send_statics(&self, lookup: &mut Lookup<'_>) {
        const ROWS: usize = ROWS_BYTES / StaticRow::BYTES;
        let fields = &self.names.fields;
        let used = fields.used();
        if used.is_empty() {
            return;
        }
        let full = fields.full_is_due();
        let phase = if full { StaticsPhase::FULL } else { StaticsPhase::CHANGES };
        // SAFETY: only this thread finishes the collection, and `send_typed_roots` no longer uses the buffer.
        let buffer = unsafe { self.events.scratch() };
        let (mut length, mut rows, mut sent) = (0_usize, 0_u32, false);
        for (number, field) in used.iter().enumerate() {
            // SAFETY: the slot of a static field of a module that is never unloaded. It is aligned, and nobody writes
            // it while all managed threads are suspended.
            let object = unsafe { ptr::with_exposed_provenance::<usize>(field.slot.load(SeqCst)).read() };
            let object = object as u64;
            let before = field.object.swap(object, SeqCst);
            if (object == before && !full) || (object == 0 && full) {
                continue;
            }
            let found = lookup.object(object);
            self.request_name(Request {
                module: field.module.load(SeqCst),
                token: field.type_token.load(SeqCst),
                seen: self.names.modules.now(),
            });
            let row = StaticRow {
                field: u32::try_from(number).unwrap_or(u32::MAX),
                object,
                class_id: found.class as u64,
                bytes: found.bytes,
                generation: found.generation,
            };
            if let Ok(bytes) = row.encode(buffer.get_mut(length..).unwrap_or_default()) {
                length = length.saturating_add(bytes);
                rows = rows.saturating_add(1);
            }
            if rows as usize >= ROWS {
                let bytes = buffer.get(..length).unwrap_or_default();
                self.events.write_rows(lookup.sink, event_id::STATICS, phase.0, rows, bytes);
                (length, rows, sent) = (0, 0, true);
            }
        }
        if rows > 0 || full && !sent {
            let bytes = buffer.get(..length).unwrap_or_default();
            self.events.write_rows(lookup.sink, event_id::STATICS, phase.0, rows, bytes);
        }
    }
}
