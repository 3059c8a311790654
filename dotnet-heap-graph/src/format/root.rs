//! The record of a root.

use super::bytes::{Bytes, Result, put_varint};
use super::encoding::Encoding;
use super::frame::FrameKind;
use super::records::Record;

/// A reference from outside the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootRecord {
    /// Address of the object; of a place in it if the root is interior.
    pub address: u64,
    /// [`RootRecord::STACK`] or another kind.
    pub kind: u8,
    /// [`RootRecord::PINNED`] and the other flags.
    pub flags: u8,
    /// The method of a stack root, the handle, the slot of a static field. 0: unknown.
    pub id: u64,
}

impl RootRecord {
    /// Kind of roots that are none of the others.
    pub const OTHER: u8 = 0;
    /// Kind of local variables.
    pub const STACK: u8 = 1;
    /// Kind of objects that wait for their finalizer.
    pub const FINALIZER: u8 = 2;
    /// Kind of handles.
    pub const HANDLE: u8 = 3;
    /// Kind of static fields that are in no object of the file. The identifier is the field's slot.
    pub const STATIC: u8 = 4;

    /// Flag of roots that prevent the object from moving.
    pub const PINNED: u8 = 1;
    /// Flag of roots that keep nothing alive.
    pub const WEAK: u8 = 2;
    /// Flag of roots that refer to a place in the object.
    pub const INTERIOR: u8 = 4;
    /// Flag of handles that keep the object only while a reference count outside says so.
    pub const REFERENCE_COUNTED: u8 = 8;
}

impl Record<'_> for RootRecord {
    const KIND: FrameKind = FrameKind::ROOTS;
}

impl Encoding<'_> for RootRecord {
    fn decode(bytes: &mut Bytes<'_>) -> Result<Self> {
        Ok(Self { address: bytes.varint()?, kind: bytes.u8()?, flags: bytes.u8()?, id: bytes.varint()? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.address);
        out.extend([self.kind, self.flags]);
        put_varint(out, self.id);
    }
}
