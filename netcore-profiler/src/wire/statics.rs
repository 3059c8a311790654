//! The values of static fields.

use super::batch::layout::Layout;
use super::batch::{BatchHeader, Row, Rows};
use super::cursor::{Reader, WireError, Writer};
use super::typed_root::Generation;

/// Which fields a batch has. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StaticsPhase(pub u8);

impl StaticsPhase {
    /// Fields whose value has changed since it was last sent.
    pub const CHANGES: Self = Self(0);
    /// All fields; one without a row is null.
    pub const FULL: Self = Self(1);
}

/// Value of a static field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticRow {
    /// [`FieldDef::field`](super::FieldDef::field).
    pub field: u32,
    /// Address of the object after the collection; 0: null.
    pub object: u64,
    /// Class of the object; 0: unknown.
    pub class_id: u64,
    /// Its size in bytes; 0: unknown.
    pub bytes: u64,
    /// Generation of the object.
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

/// Values of static fields after a collection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statics<'a> {
    /// The collection.
    pub gc_seq: u64,
    /// Number of this part, from 0.
    pub part: u32,
    /// Which fields have rows.
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
