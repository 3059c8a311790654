//! Makes payloads of `OBJECTS` and `MORE`.

use super::bytes::{put_signed, put_varint};
use super::class::ClassRecord;
use super::frame::MAX_PAYLOAD_BYTES;
use super::objects::ObjectRecord;
use super::references::{Cursor, MAX_REFERENCES, Reference};

/// A payload is to be taken when it has this size. One object more, with all references that it can have, still fits.
const FULL_BYTES: usize = MAX_PAYLOAD_BYTES / 4;

/// Makes payloads of `OBJECTS` out of objects and their references.
#[derive(Debug, Default)]
pub struct ObjectsEncoder {
    body: Vec<u8>,
    count: u64,
    first: u64,
    end: u64,
    has_large: bool,
}

impl ObjectsEncoder {
    /// An encoder without objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an object with its references in the order of their offsets. Its address and its size are multiples of 8,
    /// and so are those of the targets; `ObjectRecord::references` does not count. Take the payload when
    /// [`is_full`](Self::is_full) says so.
    ///
    /// Of more than [`MAX_REFERENCES`] it takes as many, and returns the payloads of `MORE` with the rest. Their frames
    /// follow that of this object.
    pub fn push(
        &mut self,
        class: &ClassRecord,
        object: &ObjectRecord,
        references: &[Reference],
    ) -> Vec<Vec<u8>> {
        if self.count == 0 {
            self.first = object.address;
            self.end = object.address;
        }
        self.count += 1;
        let gap = object.address.wrapping_sub(self.end).cast_signed() / 8;
        let head = u64::from(class.index) << 2 | u64::from(gap != 0) << 1 | u64::from(!references.is_empty());
        put_varint(&mut self.body, head);
        if gap != 0 {
            put_signed(&mut self.body, gap);
        }
        let size_units = if class.varies() { object.size_units } else { class.size_units };
        if class.varies() {
            put_varint(&mut self.body, size_units);
            put_varint(&mut self.body, object.length);
        }
        if class.is_string() {
            self.body.extend_from_slice(&object.hash.to_le_bytes());
        }
        self.end = object.address.saturating_add(size_units.saturating_mul(8));
        let (here, more) = references.split_at(references.len().min(MAX_REFERENCES));
        let mut cursor = Cursor::new(object.address, class.first_offset_bytes());
        if !here.is_empty() {
            put_varint(&mut self.body, here.len() as u64);
            here.iter().for_each(|reference| cursor.encode(*reference, &mut self.body));
        }
        self.has_large = !more.is_empty();
        more.chunks(MAX_REFERENCES).map(|part| encode_more(object.address, &mut cursor, part)).collect()
    }

    /// Whether there is no object to be taken.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the payload is to be taken before the next object.
    pub fn is_full(&self) -> bool {
        self.body.len() >= FULL_BYTES || self.has_large
    }

    /// The payload with all objects so far. The encoder is empty after it.
    pub fn take(&mut self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.body.len() + 18);
        put_varint(&mut payload, std::mem::take(&mut self.count));
        payload.extend_from_slice(&self.first.to_le_bytes());
        payload.append(&mut self.body);
        self.has_large = false;
        payload
    }
}

fn encode_more(address: u64, cursor: &mut Cursor, references: &[Reference]) -> Vec<u8> {
    let mut payload = address.to_le_bytes().to_vec();
    put_varint(&mut payload, cursor.end_bytes());
    put_varint(&mut payload, references.len() as u64);
    references.iter().for_each(|reference| cursor.encode(*reference, &mut payload));
    payload
}
