//! Static fields: where they are, and what they hold after each collection.
//!
//! Their places are found by our own thread, for classes that are initialised, where modules stay: such a place never moves and never goes. What they hold is read when the collection is
//! over, one word for each.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

use super::holders::Lookup;
use super::queue::Request;
use crate::agent::Profiler;
use crate::agent::accumulator::ROWS_BYTES;
use crate::sys;
use crate::wire::{Row, StaticRow, StaticsPhase, event_id};

/// Fields that are watched.
pub(super) const CAPACITY: usize = 4096;
/// Everything is told again after so many collections, and so much time.
const FULL_COLLECTIONS: u32 = 64;
const FULL_NS: u64 = 1_000_000_000;

#[derive(Debug)]
struct Field {
    /// Address of the reference.
    slot: AtomicUsize,
    /// What was told last.
    object: AtomicU64,
    module: AtomicUsize,
    /// `mdTypeDef` and `mdFieldDef`.
    type_token: AtomicU32,
    token: AtomicU32,
}

/// A static field that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) module: usize,
    pub(super) type_token: u32,
    pub(super) token: u32,
    pub(super) slot: usize,
}

#[derive(Debug)]
pub(super) struct Fields {
    memory: AtomicPtr<Field>,
    count: AtomicUsize,
    since_full: AtomicU32,
    full_ns: AtomicU64,
}

impl Fields {
    pub(super) const fn new() -> Self {
        Self {
            memory: AtomicPtr::new(ptr::null_mut()),
            count: AtomicUsize::new(0),
            since_full: AtomicU32::new(0),
            full_ns: AtomicU64::new(0),
        }
    }

    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(SeqCst).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<Field>())) else { return false };
            self.memory.store(memory.cast().as_ptr(), SeqCst);
        }
        self.count.store(0, SeqCst);
        self.since_full.store(0, SeqCst);
        self.full_ns.store(0, SeqCst);
        true
    }

    fn all(&self) -> &[Field] {
        let memory = self.memory.load(SeqCst);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `prepare` mapped that many, zeroed, for good.
        unsafe { core::slice::from_raw_parts(memory, CAPACITY) }
    }

    fn used(&self) -> &[Field] {
        self.all().get(..self.count.load(SeqCst)).unwrap_or_default()
    }

    pub(super) fn count(&self) -> usize {
        self.count.load(SeqCst)
    }

    pub(super) fn is_full(&self) -> bool {
        self.count.load(SeqCst) >= CAPACITY
    }

    pub(super) fn has(&self, module: usize, token: u32) -> bool {
        let is_it = |field: &Field| field.token.load(SeqCst) == token && field.module.load(SeqCst) == module;
        self.used().iter().any(is_it)
    }

    /// Begins to watch a field, and gives its number. From our own thread.
    pub(super) fn add(&self, found: Found) -> Option<u32> {
        let count = self.count.load(SeqCst);
        let field = self.all().get(count)?;
        field.slot.store(found.slot, SeqCst);
        field.object.store(0, SeqCst);
        field.module.store(found.module, SeqCst);
        field.type_token.store(found.type_token, SeqCst);
        field.token.store(found.token, SeqCst);
        self.count.store(count.saturating_add(1), SeqCst);
        u32::try_from(count).ok()
    }

    /// Whether everything is to be told again.
    fn full_is_due(&self) -> bool {
        let (since, now_ns) = (self.since_full.fetch_add(1, SeqCst), sys::tick_ns());
        let due = since == 0
            || since >= FULL_COLLECTIONS && now_ns.saturating_sub(self.full_ns.load(SeqCst)) >= FULL_NS;
        if due {
            self.since_full.store(1, SeqCst);
            self.full_ns.store(now_ns, SeqCst);
        }
        due
    }
}

impl Profiler {
    /// Tells what static fields hold, as far as it is not what was told before.
    ///
    /// # Safety
    /// Only in `GarbageCollectionFinished`, on the one thread that is in it.
    pub(super) unsafe fn tell_statics(&self, lookup: &mut Lookup<'_>) {
        const ROWS: usize = ROWS_BYTES / StaticRow::BYTES;
        let fields = &self.names.fields;
        let used = fields.used();
        if used.is_empty() {
            return;
        }
        let full = fields.full_is_due();
        let phase = if full { StaticsPhase::FULL } else { StaticsPhase::CHANGES };
        // SAFETY: this thread alone is finishing, and holders' turn is over.
        let buffer = unsafe { self.events.scratch() };
        let (mut length, mut rows, mut sent) = (0_usize, 0_u32, false);
        for (number, field) in used.iter().enumerate() {
            // SAFETY: the place of a static field of a module that stays; it is aligned, and nobody
            // writes while the world stands still.
            let object = unsafe { ptr::with_exposed_provenance::<usize>(field.slot.load(SeqCst)).read() };
            let object = object as u64;
            let before = field.object.swap(object, SeqCst);
            if (object == before && !full) || (object == 0 && full) {
                continue;
            }
            let found = lookup.object(object);
            self.ask(Request {
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

/// Whether a field's signature is that of a reference to an object.
pub(super) fn is_reference(signature: &[u8]) -> bool {
    const FIELD: u8 = 6;
    const MODIFIERS: [u8; 2] = [0x1f, 0x20];
    let [FIELD, rest @ ..] = signature else { return false };
    let mut rest = rest;
    loop {
        match rest {
            // String, object, class, array, array of many dimensions.
            [0x0e | 0x1c | 0x12 | 0x1d | 0x14, ..] | [0x15, 0x12, ..] => return true,
            [modifier, first, after @ ..] if MODIFIERS.contains(modifier) => {
                // A compressed number of one, two or four bytes.
                let more = match first >> 5 {
                    0..4 => 0,
                    4 | 5 => 1,
                    _ => 3,
                };
                let Some(next) = after.get(more..) else { return false };
                rest = next;
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_told_from_values() {
        for reference in [
            &[6, 0x0e][..],
            &[6, 0x1c],
            &[6, 0x12, 0x41, 0x10],
            &[6, 0x1d, 8],
            &[6, 0x14, 8, 2, 0, 0],
            &[6, 0x15, 0x12, 5, 1, 8],
            &[6, 0x1f, 0x11, 0x12, 5],
            &[6, 0x1f, 0x81, 0x11, 0x20, 0xc1, 2, 3, 4, 0x0e],
        ] {
            assert!(is_reference(reference), "{reference:x?}");
        }
        for value in [
            &[][..],
            &[6],
            &[7, 0x0e],
            &[6, 8],
            &[6, 0x11, 5],
            &[6, 0x15, 0x11, 5, 1, 8],
            &[6, 0x13, 0],
            &[6, 0x1f],
        ] {
            assert!(!is_reference(value), "{value:x?}");
        }
    }

    #[test]
    fn fields_are_numbered_and_bounded() {
        let fields = Fields::new();
        assert!(fields.prepare());
        let found = |token| Found { module: 8, type_token: 0x0200_0001, token, slot: 0x1000 };
        for number in 0..CAPACITY as u32 {
            assert!(!fields.has(8, number + 1) || number == 0);
            assert_eq!(fields.add(found(number + 1)), Some(number));
            if number % 512 == 0 {
                assert!(fields.has(8, number + 1) && !fields.has(9, number + 1));
            }
        }
        assert!(fields.is_full() && fields.add(found(0)).is_none());
        assert!(fields.full_is_due() && !fields.full_is_due());
    }
}
