//! Which objects were already in an earlier graph of the same process.

use std::io::Write;

use super::bytes::{Bytes, Malformed, Result, put_signed, put_varint, unzigzag};
use super::frame::{FrameKind, MAX_PAYLOAD_BYTES};
use super::writer::Writer;

const ADDRESS: Malformed = Malformed("an object is outside of the address space");
const ORDER: Malformed = Malformed("its objects are not in the order of their addresses");
const LONGER: Malformed = Malformed("it has bytes behind its last object");

/// An object that was already in an earlier graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdentityRecord {
    /// Its address, a multiple of 8.
    pub address: u64,
    /// Its address in the earlier graph, a multiple of 8.
    pub before: u64,
}

/// Reads the payload of `IDENTITY`. It ends after the first error.
#[derive(Debug)]
pub struct IdentityDecoder<'a> {
    bytes: Bytes<'a>,
    left: u64,
    is_first: bool,
    last: IdentityRecord,
}

impl<'a> IdentityDecoder<'a> {
    /// A decoder of a frame's payload.
    ///
    /// # Errors
    /// The payload is too short.
    pub fn new(payload: &'a [u8]) -> Result<Self> {
        let mut bytes = Bytes::new(payload);
        let left = bytes.varint()?;
        Ok(Self { bytes, left, is_first: true, last: IdentityRecord::default() })
    }

    fn read(&mut self) -> Result<Option<IdentityRecord>> {
        let Some(left) = self.left.checked_sub(1) else {
            return if self.bytes.is_empty() { Ok(None) } else { Err(LONGER) };
        };
        self.left = left;
        let units = self.bytes.varint()?;
        if units == 0 && !self.is_first {
            return Err(ORDER);
        }
        let moved = unzigzag(self.bytes.varint()?);
        let step = units.checked_mul(8).ok_or(ADDRESS)?;
        let address = self.last.address.checked_add(step).ok_or(ADDRESS)?;
        let was_behind = self.last.before.wrapping_sub(self.last.address).cast_signed();
        let behind = moved.checked_mul(8).and_then(|bytes| bytes.checked_add(was_behind)).ok_or(ADDRESS)?;
        let before = address.checked_add_signed(behind).ok_or(ADDRESS)?;
        self.is_first = false;
        self.last = IdentityRecord { address, before };
        Ok(Some(self.last))
    }
}

impl Iterator for IdentityDecoder<'_> {
    type Item = Result<IdentityRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.read();
        if record.is_err() {
            (self.bytes, self.left) = (Bytes::new(&[]), 0);
        }
        record.transpose()
    }
}

/// Makes payloads of `IDENTITY`.
#[derive(Debug, Default)]
struct Encoder {
    body: Vec<u8>,
    count: u64,
    last: IdentityRecord,
}

impl Encoder {
    fn push(&mut self, record: IdentityRecord) {
        let behind = |record: &IdentityRecord| record.before.wrapping_sub(record.address).cast_signed();
        put_varint(&mut self.body, record.address.wrapping_sub(self.last.address) / 8);
        put_signed(&mut self.body, behind(&record).wrapping_sub(behind(&self.last)) / 8);
        (self.last, self.count) = (record, self.count + 1);
    }

    /// The payload with all objects so far. The encoder is empty after it.
    fn take(&mut self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.body.len() + 10);
        put_varint(&mut payload, std::mem::take(&mut self.count));
        payload.append(&mut self.body);
        self.last = IdentityRecord::default();
        payload
    }
}

impl<W: Write> Writer<W> {
    /// Writes which objects were in an earlier graph, by rising address, each once.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write_identity(
        &mut self,
        objects: impl IntoIterator<Item = IdentityRecord>,
    ) -> crate::error::Result<()> {
        let mut encoder = Encoder::default();
        for object in objects {
            encoder.push(object);
            if encoder.body.len() >= MAX_PAYLOAD_BYTES / 4 {
                self.write_frame(FrameKind::IDENTITY, &encoder.take())?;
            }
        }
        match encoder.count {
            0 => Ok(()),
            _ => self.write_frame(FrameKind::IDENTITY, &encoder.take()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn objects_come_back(
            objects in prop::collection::btree_map(0..1_u64 << 44, 0..1_u64 << 44, 0..100),
        ) {
            let objects: Vec<_> = objects
                .into_iter()
                .map(|(address, before)| IdentityRecord { address: address * 8, before: before * 8 })
                .collect();
            let mut encoder = Encoder::default();
            objects.iter().for_each(|object| encoder.push(*object));
            let payload = encoder.take();
            let read: Result<Vec<_>> = IdentityDecoder::new(&payload).unwrap().collect();
            prop_assert_eq!(read.unwrap(), objects);
            prop_assert_eq!(encoder.count, 0);
        }

        #[test]
        fn any_bytes_are_read(payload: Vec<u8>) {
            if let Ok(decoder) = IdentityDecoder::new(&payload) {
                prop_assert!(decoder.count() <= payload.len());
            }
        }
    }

    #[test]
    fn order_and_addresses_are_checked() {
        let read = |payload: &[u8]| IdentityDecoder::new(payload).unwrap().collect::<Result<Vec<_>>>();
        assert_eq!(read(&[2, 1, 0, 0, 0]), Err(ORDER));
        assert_eq!(read(&[1, 1, 3]), Err(ADDRESS));
        assert_eq!(read(&[1, 1, 0, 0]), Err(LONGER));
    }
}
