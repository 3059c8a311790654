//! Sends the roots of a collection with the types of their objects.

use core::sync::atomic::Ordering::SeqCst;

use super::lookup::{Header, Lookup};
use super::roots::Kept;
use crate::agent::events::{ROWS_BYTES, Sink};
use crate::agent::profiler::Profiler;
use crate::sys;
use crate::wire::{
    HandleKind, Naming, PACKED_ROW_BYTES, Packer, RootFlags, RootKind, TypedRoot, TypedRoots, event_id,
};

/// How many roots are read together.
const GROUP: usize = 16;
/// How many roots ahead objects are prefetched.
const PREFETCH_DISTANCE: usize = 32;

impl Profiler {
    /// Sends the roots of the collection with the types of their objects. `None`: names are off.
    ///
    /// # Safety
    /// Only in `GarbageCollectionFinished`, on the one thread that is in it.
    pub(in crate::agent) unsafe fn send_named_roots(
        &self,
        sink: Sink<'_>,
        entered_ns: u64,
    ) -> Option<Naming> {
        if !self.names.are_on() {
            return None;
        }
        self.make_room_for_names();
        self.send_forget_if_due(sink.info);
        let mut naming = Naming::default();
        let Some(table) = self.names.roots.table() else { return Some(naming) };
        naming.untyped_roots = self.names.roots.untyped();
        let kept = table.kept();
        if !self.names.budget.allows(entered_ns) {
            let roots = kept.iter().map(|root| u64::from(root.repeats).saturating_add(1));
            naming.untyped_roots = roots.fold(naming.untyped_roots, u64::saturating_add);
        } else if self.bounds.are_known() {
            // SAFETY: by the contract, and the caller has read the bounds.
            let mut lookup = unsafe { Lookup::new(self, sink) };
            naming.typed_roots = self.send_typed_roots(kept, &mut lookup);
            // SAFETY: by the contract.
            unsafe { self.send_statics(&mut lookup) };
        }
        self.names.roots.clear();
        drop(table);
        naming.typed_root_parts = self.events.take_part(event_id::TYPED_ROOTS);
        naming.statics_parts = self.events.take_part(event_id::STATICS);
        naming.naming_ns = sys::tick_ns().saturating_sub(entered_ns);
        self.names.budget.spend(naming.naming_ns);
        Some(naming)
    }

    /// Sends a row for each of `roots`, and returns how many roots the rows stand for.
    fn send_typed_roots(&self, roots: &[Kept], lookup: &mut Lookup<'_>) -> u64 {
        // SAFETY: only this thread finishes the collection; `send_bounds` is over, `send_totals` comes later.
        let buffer = unsafe { self.events.scratch() };
        let buffer = buffer.get_mut(..ROWS_BYTES).unwrap_or_default();
        let (mut sent, mut last, mut last_function) = (0_u64, None, 0);
        let (mut packer, mut length, mut rows) = (Packer::new(), 0_usize, 0_u32);
        let send = |sink: Sink<'_>, rows: u32, bytes: &[u8]| {
            self.events.write_rows(sink, event_id::TYPED_ROOTS, TypedRoots::PACKED, rows, bytes);
        };
        let (mut last_allocation, mut reported) = (None, (HandleKind::UNKNOWN, 0));
        let mut upcoming = roots.iter();
        upcoming.by_ref().take(PREFETCH_DISTANCE).for_each(|root| sys::prefetch(root.object));
        for roots in roots.chunks(GROUP) {
            upcoming.by_ref().take(roots.len()).for_each(|root| sys::prefetch(root.object));
            // Handles and objects are scattered over memory. Reading a group at once overlaps the cache misses.
            let mut group = [(None, Header::NONE); GROUP];
            for (root, (allocation, header)) in roots.iter().zip(&mut group) {
                if root.kind == RootKind::HANDLE.0 {
                    *allocation = self.names.handles.allocation(root.root_id);
                }
                *header = lookup.header(root.object);
            }
            for (root, (allocation, header)) in roots.iter().zip(&group) {
                let object = match last {
                    Some((address, object)) if address == root.object => object,
                    _ => lookup.object_of(root.object, *header),
                };
                last = Some((root.object, object));
                if root.kind == RootKind::STACK.0 && root.root_id != last_function {
                    last_function = root.root_id;
                    // SAFETY: the method's frame is on the stack of a suspended thread.
                    unsafe { self.report_method(lookup.sink.info, root.root_id as usize) };
                }
                if *allocation != last_allocation {
                    last_allocation = *allocation;
                    let report = |allocation| self.report_allocation(lookup.sink.info, allocation);
                    reported = allocation.map_or((HandleKind::UNKNOWN, 0), report);
                }
                let (handle_kind, allocated_by) = reported;
                let row = TypedRoot {
                    object: root.object,
                    root_id: root.root_id,
                    class_id: object.class as u64,
                    bytes: object.bytes,
                    allocated_by,
                    kind: RootKind(root.kind),
                    flags: RootFlags(root.flags),
                    generation: object.generation,
                    handle_kind,
                    repeats: root.repeats,
                };
                if buffer.len().saturating_sub(length) < PACKED_ROW_BYTES {
                    send(lookup.sink, rows, buffer.get(..length).unwrap_or_default());
                    (packer, length, rows) = (Packer::new(), 0, 0);
                }
                if let Ok(bytes) = packer.encode(&row, buffer.get_mut(length..).unwrap_or_default()) {
                    length = length.saturating_add(bytes);
                    rows = rows.saturating_add(1);
                    sent = sent.saturating_add(1).saturating_add(u64::from(root.repeats));
                }
            }
        }
        if rows > 0 {
            send(lookup.sink, rows, buffer.get(..length).unwrap_or_default());
        }
        sent
    }

    /// Whether an identifier that was sent has no name yet.
    pub(in crate::agent) fn names_are_pending(&self) -> bool {
        self.names.are_on() && self.names.are_pending()
    }

    /// Wakes our thread, which sends `NamesDone` for this collection when all its names are sent.
    pub(in crate::agent) fn request_names_done(&self, gc_seq: u64) {
        self.names.done_requested.store(gc_seq, SeqCst);
        self.names.wake();
    }
}
