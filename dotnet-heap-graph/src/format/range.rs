//! The record of an address range.

use super::bytes::{Bytes, Result, put_varint};
use super::encoding::Encoding;
use super::frame::FrameKind;
use super::records::Record;

/// Where objects of one generation are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeRecord {
    /// 0 to 2, [`RangeRecord::LARGE`], [`RangeRecord::PINNED`] or [`RangeRecord::FROZEN`].
    pub generation: u8,
    /// The first address.
    pub start: u64,
    /// Bytes from the start that are in use.
    pub used_bytes: u64,
    /// Bytes from the start that are reserved.
    pub reserved_bytes: u64,
}

impl RangeRecord {
    /// The large objects.
    pub const LARGE: u8 = 3;
    /// Objects that never move, in a part of the heap of their own.
    pub const PINNED: u8 = 4;
    /// Objects that live as long as the program, such as literal strings.
    pub const FROZEN: u8 = 5;
}

impl Record<'_> for RangeRecord {
    const KIND: FrameKind = FrameKind::RANGES;
}

impl Encoding<'_> for RangeRecord {
    fn decode(bytes: &mut Bytes<'_>) -> Result<Self> {
        Ok(Self {
            generation: bytes.u8()?,
            start: bytes.varint()?,
            used_bytes: bytes.varint()?,
            reserved_bytes: bytes.varint()?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.generation);
        for number in [self.start, self.used_bytes, self.reserved_bytes] {
            put_varint(out, number);
        }
    }
}
