//! Reads the payload of `OBJECTS`.

use super::bytes::{Bytes, Malformed, Result, unzigzag};
use super::class::ClassRecord;
use super::references::{Cursor, Reference, skip};

const CLASS: Malformed = Malformed("an object has a class that was not described");
const ADDRESS: Malformed = Malformed("an object's address is no multiple of 8");
const PLACE: Malformed = Malformed("an object is outside of the address space");
const SIZE: Malformed = Malformed("an object has no size");
const LONGER: Malformed = Malformed("it has bytes behind its last object");

/// An object without its references.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectRecord {
    /// Its address, a multiple of 8.
    pub address: u64,
    /// Index of its class.
    pub class: u32,
    /// Its size in units of 8 bytes.
    pub size_units: u64,
    /// Elements of the array, or UTF-16 units of the string. 0 for other objects.
    pub length: u64,
    /// Of a string: equal contents have equal hashes within one file. 0 for other objects.
    pub hash: u64,
    /// How many references it has in this frame.
    pub references: u64,
}

/// Reads the objects of a payload one after the other, without memory of its own.
///
/// After an object come its references; those that are not asked for are passed over. After the first error there is
/// nothing more.
#[derive(Debug)]
pub struct ObjectsDecoder<'a> {
    bytes: Bytes<'a>,
    classes: &'a [ClassRecord],
    left: u64,
    end: u64,
    references_left: u64,
    cursor: Cursor,
}

impl<'a> ObjectsDecoder<'a> {
    /// A decoder of a frame's payload. `classes` has the classes of the file in the order of their indexes.
    ///
    /// # Errors
    /// The payload is too short, or its first address is no address of an object.
    pub fn new(payload: &'a [u8], classes: &'a [ClassRecord]) -> Result<Self> {
        let mut bytes = Bytes::new(payload);
        let left = bytes.varint()?;
        let end = bytes.u64()?;
        if end % 8 != 0 {
            return Err(ADDRESS);
        }
        Ok(Self { bytes, classes, left, end, references_left: 0, cursor: Cursor::new(0, 0) })
    }

    /// The next object. `None` after the last one.
    ///
    /// # Errors
    /// The payload makes no sense from here on.
    #[inline]
    pub fn next_object(&mut self) -> Option<Result<ObjectRecord>> {
        let object = self.try_next_object();
        if object.is_err() {
            self.stop();
        }
        object.transpose()
    }

    #[inline]
    fn try_next_object(&mut self) -> Result<Option<ObjectRecord>> {
        while self.references_left > 0 {
            self.references_left -= 1;
            skip(&mut self.bytes)?;
        }
        let Some(left) = self.left.checked_sub(1) else {
            return if self.bytes.is_empty() { Ok(None) } else { Err(LONGER) };
        };
        self.left = left;
        let head = self.bytes.varint()?;
        let index = usize::try_from(head >> 2).map_err(|_| CLASS)?;
        let class = self.classes.get(index).ok_or(CLASS)?;
        let mut address = self.end;
        if head & 2 != 0 {
            let gap = unzigzag(self.bytes.varint()?).checked_mul(8).ok_or(PLACE)?;
            address = address.checked_add_signed(gap).ok_or(PLACE)?;
        }
        let mut object =
            ObjectRecord { address, class: index as u32, size_units: class.size_units, ..Default::default() };
        if class.varies() {
            object.size_units = self.bytes.varint()?;
            object.length = self.bytes.varint()?;
        }
        if class.is_string() {
            object.hash = self.bytes.u64()?;
        }
        if object.size_units == 0 {
            return Err(SIZE);
        }
        let size_bytes = object.size_units.checked_mul(8).ok_or(PLACE)?;
        self.end = address.checked_add(size_bytes).ok_or(PLACE)?;
        if head & 1 != 0 {
            object.references = self.bytes.varint()?;
            self.references_left = object.references;
        }
        self.cursor = Cursor::new(address, class.first_offset_bytes());
        Ok(Some(object))
    }

    /// The next reference of the object that [`next_object`](Self::next_object) gave last. `None` after the last one.
    ///
    /// # Errors
    /// The payload is too short.
    #[inline]
    pub fn next_reference(&mut self) -> Option<Result<Reference>> {
        self.references_left = self.references_left.checked_sub(1)?;
        let reference = self.cursor.decode(&mut self.bytes);
        if reference.is_err() {
            self.stop();
        }
        Some(reference)
    }

    fn stop(&mut self) {
        self.bytes = Bytes::new(&[]);
        self.left = 0;
        self.references_left = 0;
    }
}
