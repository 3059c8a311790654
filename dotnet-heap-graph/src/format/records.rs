//! Lists of records: a count, and one record after the other.

use std::marker::PhantomData;

use super::bytes::{Bytes, Malformed, Result, put_varint};
use super::encoding::Encoding;
use super::frame::{FrameKind, MAX_PAYLOAD_BYTES};

const LONGER: Malformed = Malformed("it has bytes behind its last record");

/// A record in a frame that is a list of such records.
pub trait Record<'a>: Sized + Encoding<'a> {
    /// The kind of frame that has these records.
    const KIND: FrameKind;
}

/// Reads the records of a payload one after the other. It ends after the first error.
#[derive(Debug)]
pub struct Decoder<'a, T> {
    bytes: Bytes<'a>,
    left: u64,
    failed: Option<Malformed>,
    records: PhantomData<T>,
}

impl<'a, T: Record<'a>> Decoder<'a, T> {
    /// A decoder of a frame's payload.
    pub fn new(payload: &'a [u8]) -> Self {
        let mut bytes = Bytes::new(payload);
        let (left, failed) = match bytes.varint() {
            Ok(count) => (count, None),
            Err(error) => (0, Some(error)),
        };
        Self { bytes, left, failed, records: PhantomData }
    }
}

impl<'a, T: Record<'a>> Iterator for Decoder<'a, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            self.bytes = Bytes::new(&[]);
            self.left = 0;
            return Some(Err(error));
        }
        let Some(left) = self.left.checked_sub(1) else {
            if self.bytes.is_empty() {
                return None;
            }
            self.bytes = Bytes::new(&[]);
            return Some(Err(LONGER));
        };
        self.left = left;
        let record = T::decode(&mut self.bytes);
        if record.is_err() {
            self.bytes = Bytes::new(&[]);
            self.left = 0;
        }
        Some(record)
    }
}

/// Makes the payload of a frame out of records.
#[derive(Debug)]
pub struct Encoder<T> {
    body: Vec<u8>,
    count: u64,
    records: PhantomData<T>,
}

impl<T> Default for Encoder<T> {
    fn default() -> Self {
        Self { body: Vec::new(), count: 0, records: PhantomData }
    }
}

impl<'a, T: Record<'a>> Encoder<T> {
    /// An encoder without records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a record. Take the payload when [`is_full`](Self::is_full) says so.
    pub fn push(&mut self, record: &T) {
        record.encode(&mut self.body);
        self.count += 1;
    }

    /// Whether there is no record to be taken.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the payload is to be taken before the next record.
    pub fn is_full(&self) -> bool {
        self.body.len() >= MAX_PAYLOAD_BYTES / 4
    }

    /// The payload with all records so far. The encoder is empty after it.
    pub fn take(&mut self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.body.len() + 10);
        put_varint(&mut payload, std::mem::take(&mut self.count));
        payload.append(&mut self.body);
        payload
    }
}
