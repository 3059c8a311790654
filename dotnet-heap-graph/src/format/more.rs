//! Reads the payload of `MORE`.

use super::bytes::{Bytes, Malformed, Result};
use super::references::{Cursor, MAX_REFERENCES, Reference};

const MANY: Malformed = Malformed("it has more references than such a frame can have");
const LONGER: Malformed = Malformed("it has bytes behind its last reference");

/// Reads further references of one object. After the first error there is nothing more.
#[derive(Debug)]
pub struct MoreDecoder<'a> {
    bytes: Bytes<'a>,
    address: u64,
    left: u64,
    cursor: Cursor,
}

impl<'a> MoreDecoder<'a> {
    /// A decoder of a frame's payload.
    ///
    /// # Errors
    /// The payload is too short, or says that it has too many references.
    pub fn new(payload: &'a [u8]) -> Result<Self> {
        let mut bytes = Bytes::new(payload);
        let address = bytes.u64()?;
        let cursor = Cursor::new(address, bytes.varint()?);
        let left = bytes.varint()?;
        if left > MAX_REFERENCES as u64 {
            return Err(MANY);
        }
        Ok(Self { bytes, address, left, cursor })
    }

    /// The address of the object.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Iterator for MoreDecoder<'_> {
    type Item = Result<Reference>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Some(left) = self.left.checked_sub(1) else {
            let is_longer = !self.bytes.is_empty();
            self.bytes = Bytes::new(&[]);
            return is_longer.then_some(Err(LONGER));
        };
        self.left = left;
        let reference = self.cursor.decode(&mut self.bytes);
        if reference.is_err() {
            self.left = 0;
            self.bytes = Bytes::new(&[]);
        }
        Some(reference)
    }
}
