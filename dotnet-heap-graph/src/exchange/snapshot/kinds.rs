//! The types of objects.

use std::collections::HashMap;

use super::payload::Payload;
use crate::exchange::classes::Draft;
use crate::format::ClassRecord;

/// The runtime's numbers of kinds of types (`CorElementType`).
mod element {
    pub(super) const BOOLEAN: u8 = 0x02;
    pub(super) const CHAR: u8 = 0x03;
    pub(super) const INT8: u8 = 0x04;
    pub(super) const UINT8: u8 = 0x05;
    pub(super) const INT16: u8 = 0x06;
    pub(super) const UINT16: u8 = 0x07;
    pub(super) const INT32: u8 = 0x08;
    pub(super) const UINT32: u8 = 0x09;
    pub(super) const INT64: u8 = 0x0a;
    pub(super) const UINT64: u8 = 0x0b;
    pub(super) const SINGLE: u8 = 0x0c;
    pub(super) const DOUBLE: u8 = 0x0d;
    pub(super) const STRING: u8 = 0x0e;
    pub(super) const CLASS: u8 = 0x12;
    pub(super) const ARRAY: u8 = 0x14;
    pub(super) const INT_PTR: u8 = 0x18;
    pub(super) const UINT_PTR: u8 = 0x19;
    pub(super) const OBJECT: u8 = 0x1c;
    /// An array of one dimension that starts at 0.
    pub(super) const VECTOR: u8 = 0x1d;
}

/// Flag of arrays in the event.
const ARRAY: u32 = 8;
/// A string's or array's own fields, with the object's header.
const STRING_BYTES: u64 = 22;
const VECTOR_BYTES: u64 = 24;

/// A type as the runtime describes it.
#[derive(Debug, Default)]
pub(super) struct Kind {
    /// In the runtime's notation.
    pub(super) name: String,
    pub(super) module: u64,
    flags: u32,
    element_kind: u8,
    /// The type of an array's elements.
    element: u64,
}

/// All types that were described, and those that objects have.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    described: HashMap<u64, Kind>,
    indexes: HashMap<u64, u32>,
    /// Identifiers and sizes, by index.
    pub(super) drafts: Vec<Draft>,
    last: Option<(u64, u32)>,
}

impl Kinds {
    /// Reads the event `BulkType`.
    pub(super) fn describe(&mut self, mut payload: Payload<'_>) -> Option<()> {
        let (count, _clr) = (payload.u32()?, payload.u16()?);
        for _kind in 0..count {
            let (id, module, _name_id) = (payload.u64()?, payload.u64()?, payload.u32()?);
            let (flags, element_kind, name) = (payload.u32()?, payload.u8()?, payload.text()?);
            let parameters = payload.u32()?;
            let mut element = 0;
            for number in 0..parameters {
                let parameter = payload.u64()?;
                if number == 0 && flags & ARRAY != 0 {
                    element = parameter;
                }
            }
            self.described.insert(id, Kind { name, module, flags, element_kind, element });
        }
        Some(())
    }

    /// The index of an object's class.
    #[inline]
    pub(super) fn index(&mut self, id: u64) -> u32 {
        if let Some((last, index)) = self.last
            && last == id
        {
            return index;
        }
        let next = self.drafts.len() as u32;
        let index = *self.indexes.entry(id).or_insert(next);
        if index == next {
            self.drafts.push(Draft::new(id, 0));
        }
        self.last = Some((id, index));
        index
    }

    pub(super) fn saw(&mut self, index: u32, size_units: u64) {
        if let Some(draft) = self.drafts.get_mut(index as usize) {
            draft.saw(size_units);
        }
    }

    pub(super) fn get(&self, id: u64) -> Option<&Kind> {
        self.described.get(&id)
    }

    /// What the descriptions say of the classes.
    pub(super) fn complete(&mut self) {
        for draft in &mut self.drafts {
            let Some(kind) = self.described.get(&draft.id) else { continue };
            if kind.element_kind == element::STRING {
                draft.flags |= ClassRecord::VARIES;
            }
            if kind.flags & ARRAY != 0 || matches!(kind.element_kind, element::ARRAY | element::VECTOR) {
                draft.flags |= ClassRecord::ARRAY;
                draft.element = self.indexes.get(&kind.element).copied();
                let element = self.described.get(&kind.element);
                if element.is_some_and(Kind::is_reference) {
                    draft.flags |= ClassRecord::REFERENCES;
                }
            }
        }
    }

    /// Elements of the array, or UTF-16 units of the string. 0: unknown.
    pub(super) fn length(&self, id: u64, size_bytes: u64) -> u64 {
        let Some(kind) = self.described.get(&id) else { return 0 };
        match kind.element_kind {
            element::STRING => size_bytes.saturating_sub(STRING_BYTES) / 2,
            element::VECTOR => {
                let bytes = self.described.get(&kind.element).and_then(Kind::bytes);
                bytes.map_or(0, |bytes| size_bytes.saturating_sub(VECTOR_BYTES) / bytes)
            }
            _ => 0,
        }
    }
}

impl Kind {
    fn is_reference(&self) -> bool {
        use element::{ARRAY, CLASS, OBJECT, STRING, VECTOR};
        matches!(self.element_kind, STRING | CLASS | OBJECT | ARRAY | VECTOR)
    }

    /// What an element of this type takes in an array. `None`: unknown.
    fn bytes(&self) -> Option<u64> {
        use element::*;
        match self.element_kind {
            BOOLEAN | INT8 | UINT8 => Some(1),
            CHAR | INT16 | UINT16 => Some(2),
            INT32 | UINT32 | SINGLE => Some(4),
            INT64 | UINT64 | DOUBLE | INT_PTR | UINT_PTR => Some(8),
            _ => self.is_reference().then_some(8),
        }
    }
}
