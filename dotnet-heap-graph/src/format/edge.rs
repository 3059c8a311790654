//! The record of a reference that is in no field.

use super::bytes::{Bytes, Result, put_varint};
use super::encoding::Encoding;
use super::frame::FrameKind;
use super::records::Record;

/// A reference between two objects that is in no field of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeRecord {
    /// Address of the object that keeps the other alive.
    pub from: u64,
    /// Address of the object that is kept alive.
    pub to: u64,
    /// [`EdgeRecord::DEPENDENT`] or [`EdgeRecord::NO_PLACE`].
    pub kind: u8,
    /// The handle. 0: there is none.
    pub id: u64,
}

impl EdgeRecord {
    /// Kind of dependent handles, which `ConditionalWeakTable` has: the target is alive while the source is.
    pub const DEPENDENT: u8 = 1;
    /// Kind of references that the runtime reports without a place.
    pub const NO_PLACE: u8 = 2;
}

impl Record<'_> for EdgeRecord {
    const KIND: FrameKind = FrameKind::EDGES;
}

impl Encoding<'_> for EdgeRecord {
    fn decode(bytes: &mut Bytes<'_>) -> Result<Self> {
        Ok(Self { from: bytes.varint()?, to: bytes.varint()?, kind: bytes.u8()?, id: bytes.varint()? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.from);
        put_varint(out, self.to);
        out.push(self.kind);
        put_varint(out, self.id);
    }
}
