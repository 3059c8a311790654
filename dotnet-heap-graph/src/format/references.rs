//! The references of one object, in `OBJECTS` and `MORE`.

use super::bytes::{Bytes, Result, put_varint, unzigzag, zigzag};

/// How many references a frame has of one object at most.
pub const MAX_REFERENCES: usize = 65_536;

/// A reference from one object to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Where it is: bytes from the start of the object.
    pub offset_bytes: u64,
    /// Address of the object that it refers to.
    pub target: u64,
}

/// The place of an object, and the end of the reference before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    address: u64,
    end_bytes: u64,
}

impl Cursor {
    /// `end_bytes` is where the first reference can be: bytes from the start of the object.
    pub(crate) fn new(address: u64, end_bytes: u64) -> Self {
        Self { address, end_bytes }
    }

    /// Reads the next reference. Numbers that are too large come out as some other place or target, never as an error:
    /// nothing of a graph relies on them.
    #[inline]
    pub(crate) fn decode(&mut self, bytes: &mut Bytes<'_>) -> Result<Reference> {
        let head = bytes.varint()?;
        if head & 1 != 0 {
            self.end_bytes = self.end_bytes.wrapping_add(bytes.varint()?.wrapping_mul(8));
        }
        let offset_bytes = self.end_bytes;
        self.end_bytes = offset_bytes.wrapping_add(8);
        let distance_bytes = unzigzag(head >> 1).wrapping_mul(8);
        Ok(Reference { offset_bytes, target: self.address.wrapping_add_signed(distance_bytes) })
    }

    /// Appends a reference. Its offset and its distance to the target are multiples of 8, and the offset is not less than
    /// the end of the one before.
    pub(crate) fn encode(&mut self, reference: Reference, out: &mut Vec<u8>) {
        let distance = reference.target.wrapping_sub(self.address).cast_signed() / 8;
        let skip = reference.offset_bytes.saturating_sub(self.end_bytes) / 8;
        put_varint(out, zigzag(distance) << 1 | u64::from(skip > 0));
        if skip > 0 {
            put_varint(out, skip);
        }
        self.end_bytes = reference.offset_bytes.saturating_add(8);
    }

    /// Where the next reference can be: bytes from the start of the object.
    pub(crate) fn end_bytes(&self) -> u64 {
        self.end_bytes
    }
}

/// Goes over a reference.
#[inline]
pub(crate) fn skip(bytes: &mut Bytes<'_>) -> Result<()> {
    if bytes.varint()? & 1 != 0 {
        bytes.varint()?;
    }
    Ok(())
}
