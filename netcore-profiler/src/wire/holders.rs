//! What holds objects: roots with the types of what they hold, and static fields.

use super::batch::layout::Layout;
use super::batch::{BatchHeader, RootFlags, RootKind, Row, Rows};
use super::cursor::{Reader, WireError, Writer};
use super::packed::PackedRows;

/// Where an object lies after the collection. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Generation(pub u8);

impl Generation {
    /// The heap of large objects.
    pub const LARGE: Self = Self(3);
    /// The heap of pinned objects.
    pub const PINNED: Self = Self(4);
    /// Outside the heap that is collected: frozen objects.
    pub const FROZEN: Self = Self(5);
    /// Not known.
    pub const UNKNOWN: Self = Self(0xff);
}

/// What sort of handle it is: `Kind` of the runtime's `SetGCHandle` event. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandleKind(pub u8);

impl HandleKind {
    /// Weak, cleared before finalization.
    pub const WEAK_SHORT: Self = Self(0);
    /// Weak, cleared after finalization.
    pub const WEAK_LONG: Self = Self(1);
    /// Strong.
    pub const STRONG: Self = Self(2);
    /// Strong and pinning.
    pub const PINNED: Self = Self(3);
    /// Strong while something outside counts references.
    pub const REFCOUNTED: Self = Self(5);
    /// From one object to another that lives as long.
    pub const DEPENDENT: Self = Self(6);
    /// Pins what is used by overlapped input and output.
    pub const ASYNC_PINNED: Self = Self(7);
    /// Strong, with the size of what it holds.
    pub const SIZED_REF: Self = Self(8);
    /// The making of the handle was not seen.
    pub const UNKNOWN: Self = Self(0xff);
}

/// A root that is not null, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HolderRow {
    /// Address after the collection, as the root has it: an interior one may lie within the object.
    pub object: u64,
    /// As [`Root::root_id`](super::Root::root_id).
    pub root_id: u64,
    /// The object's class; 0 unknown.
    pub class_id: u64,
    /// The object's size; 0 unknown.
    pub bytes: u64,
    /// `FunctionID` of the method that made the handle; 0 unknown.
    pub creator: u64,
    /// What the root is.
    pub kind: RootKind,
    /// Its properties.
    pub flags: RootFlags,
    /// Where the object lies.
    pub generation: Generation,
    /// What sort of handle it is.
    pub handle_kind: HandleKind,
    /// How many more roots exactly like this one came after it.
    pub repeats: u16,
}

/// Roots with types, in the order in which the runtime told them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Holders<'a> {
    /// The collection.
    pub gc_seq: u64,
    /// Number of this part, from 0.
    pub part: u32,
    /// The roots.
    pub rows: PackedRows<'a>,
}

impl<'a> Holders<'a> {
    /// [`BatchHeader::phase`] of packed rows. Rows of the first version were told otherwise, with 0.
    pub const PACKED: u8 = 1;

    /// `None`: rows that are told another way.
    pub(super) fn decode(payload: &'a [u8]) -> Result<Option<Self>, WireError> {
        let mut reader = Reader::new(payload);
        let header = BatchHeader::read(&mut reader)?;
        if header.phase != Self::PACKED {
            return Ok(None);
        }
        let rows = PackedRows::take(&mut reader, header.rows)?;
        Ok(Some(Self { gc_seq: header.gc_seq, part: header.part, rows }))
    }
}

/// Whether the rows are all there are. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StaticsPhase(pub u8);

impl StaticsPhase {
    /// Only fields that hold another object than they did when last told.
    pub const CHANGES: Self = Self(0);
    /// Every field that is watched; one without a row holds nothing.
    pub const FULL: Self = Self(1);
}

/// What a static field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticRow {
    /// [`FieldDef::field`](super::FieldDef::field).
    pub field: u32,
    /// Address of the object after the collection; 0: nothing.
    pub object: u64,
    /// Its class; 0 unknown.
    pub class_id: u64,
    /// Its own size; 0 unknown.
    pub bytes: u64,
    /// Where it lies.
    pub generation: Generation,
}

impl Row for StaticRow {}

impl Layout for StaticRow {
    const SIZE: usize = 29;

    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            field: reader.u32()?,
            object: reader.u64()?,
            class_id: reader.u64()?,
            bytes: reader.u64()?,
            generation: Generation(reader.u8()?),
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.field);
        for value in [self.object, self.class_id, self.bytes] {
            writer.u64(value);
        }
        writer.u8(self.generation.0);
    }
}

/// What static fields hold after a collection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statics<'a> {
    /// The collection.
    pub gc_seq: u64,
    /// Number of this part, from 0.
    pub part: u32,
    /// Whether fields that are not told are as before, or hold nothing.
    pub phase: StaticsPhase,
    /// The fields.
    pub rows: Rows<'a, StaticRow>,
}

impl<'a> Statics<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let (header, rows) = BatchHeader::decode(payload)?;
        let phase = StaticsPhase(header.phase);
        Ok(Self { gc_seq: header.gc_seq, part: header.part, phase, rows })
    }
}
