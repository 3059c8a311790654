//! The record of a class.

use super::bytes::{Bytes, Malformed, Result, put_varint};
use super::encoding::Encoding;
use super::frame::FrameKind;
use super::records::Record;

const INDEX: Malformed = Malformed("an index of a class has more than 32 bits");

/// A class as the runtime knows it, without its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassRecord {
    /// Its place among the classes of the file, from 0.
    pub index: u32,
    /// The runtime's identifier. Two classes may have the same.
    pub id: u64,
    /// [`ClassRecord::ARRAY`] and the other flags.
    pub flags: u32,
    /// Size of an object in units of 8 bytes. 0 where it varies, or no object was seen.
    pub size_units: u64,
    /// Index of the base class. `None`: there is none, or it is unknown.
    pub parent: Option<u32>,
    /// Index of the class of an array's elements. `None`: this is no array, or the class is unknown.
    pub element: Option<u32>,
}

impl ClassRecord {
    /// Flag of arrays.
    pub const ARRAY: u32 = 1;
    /// Flag of `System.String`.
    pub const STRING: u32 = 2;
    /// Flag of classes whose objects have different sizes and lengths.
    pub const VARIES: u32 = 4;
    /// Flag of arrays whose elements are references.
    pub const REFERENCES: u32 = 8;

    /// Flag of classes whose objects have references at unknown places: the offsets only count them.
    pub const UNPLACED: u32 = 16;

    /// Whether its objects are arrays.
    pub fn is_array(&self) -> bool {
        self.flags & Self::ARRAY != 0
    }

    /// Whether its objects are strings.
    pub fn is_string(&self) -> bool {
        self.flags & Self::STRING != 0
    }

    /// Whether its objects have different sizes and lengths, as those of arrays and strings.
    pub fn varies(&self) -> bool {
        self.flags & Self::VARIES != 0
    }

    /// Whether its objects are arrays of references.
    pub fn is_array_of_references(&self) -> bool {
        self.is_array() && self.flags & Self::REFERENCES != 0
    }

    /// Whether the places of its objects' references are unknown: their offsets only count them.
    pub fn is_unplaced(&self) -> bool {
        self.flags & Self::UNPLACED != 0
    }

    /// Where the first reference of an object can be: bytes from the start of the object.
    pub(crate) fn first_offset_bytes(&self) -> u64 {
        if self.is_array() { 16 } else { 8 }
    }
}

fn index(number: u64) -> Result<u32> {
    u32::try_from(number).map_err(|_| INDEX)
}

fn index_plus_1(number: u64) -> Result<Option<u32>> {
    number.checked_sub(1).map(index).transpose()
}

impl Record<'_> for ClassRecord {
    const KIND: FrameKind = FrameKind::CLASSES;
}

impl Encoding<'_> for ClassRecord {
    fn decode(bytes: &mut Bytes<'_>) -> Result<Self> {
        Ok(Self {
            index: index(bytes.varint()?)?,
            id: bytes.varint()?,
            // Flags that this reader does not know may be beyond the 32nd bit.
            flags: bytes.varint()? as u32,
            size_units: bytes.varint()?,
            parent: index_plus_1(bytes.varint()?)?,
            element: index_plus_1(bytes.varint()?)?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let plus_1 = |index: Option<u32>| index.map_or(0, |index| u64::from(index) + 1);
        for number in [
            self.index.into(),
            self.id,
            self.flags.into(),
            self.size_units,
            plus_1(self.parent),
            plus_1(self.element),
        ] {
            put_varint(out, number);
        }
    }
}
