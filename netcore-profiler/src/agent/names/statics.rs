//! The static fields that are known: their slots, and what they referred to when they were last sent.
//!
//! Our own thread finds the slots (`static_search`), only of initialised classes in modules that are never unloaded:
//! such a slot stays valid.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

use crate::agent::table::{Atomics, Table};
use crate::sys;

/// How many fields are known at most.
const CAPACITY: usize = 4096;
/// All fields are sent again after this many collections and this much time.
const FULL_COLLECTIONS: u32 = 64;
const FULL_INTERVAL_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Field {
    /// Address of the reference.
    pub(super) slot: AtomicUsize,
    /// What was sent last.
    pub(super) object: AtomicU64,
    pub(super) module: AtomicUsize,
    /// `mdTypeDef` of the class, `mdFieldDef` of the field.
    pub(super) type_token: AtomicU32,
    pub(super) token: AtomicU32,
}

// SAFETY: atomics only.
unsafe impl Atomics for Field {}

/// A static field that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) module: usize,
    pub(super) type_token: u32,
    pub(super) token: u32,
    pub(super) slot: usize,
}

zeroed! {
    #[derive(Debug)]
    pub(super) struct Fields {
        table: Table<Field, CAPACITY>,
        count: AtomicUsize,
        since_full: AtomicU32,
        full_ns: AtomicU64,
    }
}

impl Fields {
    pub(super) fn prepare(&self) -> bool {
        if !self.table.map() {
            return false;
        }
        self.count.store(0, SeqCst);
        self.since_full.store(0, SeqCst);
        self.full_ns.store(0, SeqCst);
        true
    }

    pub(super) fn used(&self) -> &[Field] {
        self.table.all().get(..self.count.load(SeqCst)).unwrap_or_default()
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

    /// Adds a field and returns its number. Only our own thread may call this.
    pub(super) fn add(&self, found: Found) -> Option<u32> {
        let count = self.count.load(SeqCst);
        let field = self.table.all().get(count)?;
        field.slot.store(found.slot, SeqCst);
        field.object.store(0, SeqCst);
        field.module.store(found.module, SeqCst);
        field.type_token.store(found.type_token, SeqCst);
        field.token.store(found.token, SeqCst);
        self.count.store(count.saturating_add(1), SeqCst);
        u32::try_from(count).ok()
    }

    /// Whether all fields are to be sent again.
    pub(super) fn full_is_due(&self) -> bool {
        let (since, now_ns) = (self.since_full.fetch_add(1, SeqCst), sys::tick_ns());
        let due = since == 0
            || since >= FULL_COLLECTIONS
                && now_ns.saturating_sub(self.full_ns.load(SeqCst)) >= FULL_INTERVAL_NS;
        if due {
            self.since_full.store(1, SeqCst);
            self.full_ns.store(now_ns, SeqCst);
        }
        due
    }
}

/// Whether a field with this signature refers to an object (ECMA-335, II.23.2.4).
pub(super) fn is_reference(signature: &[u8]) -> bool {
    const FIELD: u8 = 6;
    const MODIFIERS: [u8; 2] = [0x1f, 0x20];
    let [FIELD, rest @ ..] = signature else { return false };
    let mut rest = rest;
    loop {
        match rest {
            // String, object, class, vector, array; generic class.
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
    use crate::agent::zero::Zero;

    #[test]
    fn references_are_distinguished_from_values() {
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
        let fields = Fields::ZERO;
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
