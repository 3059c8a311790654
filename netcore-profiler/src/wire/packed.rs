//! Typed roots, packed: most words differ little or not at all from those of the row before.
//!
//! A row is six words, each written as its difference to the same word of the row before. The first row of a part is
//! compared with zeros, so that each part can be read alone. Three bytes have the lengths of the six differences in
//! bytes, half a byte for each, lowest first; the bytes of the differences follow. A difference has its sign in the
//! lowest bit.

use super::batch::{BatchHeader, RootFlags, RootKind};
use super::cursor::{Reader, WireError};
use super::payload::Field;
use super::typed_root::{Generation, HandleKind, TypedRoot};

const WORDS: usize = 6;
/// Bytes that hold the lengths.
const LENGTHS: usize = WORDS / 2;
const WORD: usize = size_of::<u64>();

/// The largest size of a row in bytes.
pub const PACKED_ROW_BYTES: usize = LENGTHS.saturating_add(WORDS.saturating_mul(WORD));

impl TypedRoot {
    /// The row before the first row of a part.
    const ZERO: [u64; WORDS] = [0; WORDS];

    fn words(&self) -> [u64; WORDS] {
        let [low, high] = self.repeats.to_le_bytes();
        let rest = [low, high, self.kind.0, self.flags.0, self.generation.0, self.handle_kind.0, 0, 0];
        [self.object, self.root_id, self.class_id, self.bytes, self.allocated_by, u64::from_le_bytes(rest)]
    }

    fn of_words([object, root_id, class_id, bytes, allocated_by, rest]: [u64; WORDS]) -> Self {
        let [low, high, kind, flags, generation, handle_kind, _, _] = rest.to_le_bytes();
        Self {
            object,
            root_id,
            class_id,
            bytes,
            allocated_by,
            kind: RootKind(kind),
            flags: RootFlags(flags),
            generation: Generation(generation),
            handle_kind: HandleKind(handle_kind),
            repeats: u16::from_le_bytes([low, high]),
        }
    }
}

/// Packs the rows of one part.
#[derive(Debug)]
pub struct Packer {
    before: [u64; WORDS],
}

impl Packer {
    /// A packer at the beginning of a part.
    #[must_use]
    pub fn new() -> Self {
        Self { before: TypedRoot::ZERO }
    }

    /// Writes a row to the front of `buffer`, which has at least [`PACKED_ROW_BYTES`], and returns its size in bytes.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&mut self, row: &TypedRoot, buffer: &mut [u8]) -> Result<usize, WireError> {
        let capacity = buffer.len();
        let full = WireError::BufferFull { capacity };
        let space: &mut [u8; PACKED_ROW_BYTES] = buffer.first_chunk_mut().ok_or(full)?;
        let words = row.words();
        let (mut at, mut lengths) = (LENGTHS, 0_u32);
        for (word, before) in words.iter().zip(&self.before).rev() {
            lengths <<= 4;
            if word == before {
                continue;
            }
            let difference = word.wrapping_sub(*before).cast_signed();
            let bits = (difference.wrapping_shl(1) ^ (difference >> 63)).cast_unsigned();
            let length = u64::BITS.saturating_sub(bits.leading_zeros()).div_ceil(8);
            // All eight bytes: those after `length` are overwritten by the next word.
            if let Some(place) = space.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<WORD>()) {
                *place = bits.to_le_bytes();
            }
            at = at.saturating_add(length as usize);
            lengths |= length;
        }
        let [a, b, c, _] = lengths.to_le_bytes();
        if let Some(place) = space.first_chunk_mut::<LENGTHS>() {
            *place = [a, b, c];
        }
        self.before = words;
        Ok(at)
    }
}

impl Default for Packer {
    fn default() -> Self {
        Self::new()
    }
}

/// Iterator over the packed rows of a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PackedRows<'a> {
    rest: &'a [u8],
    count: u32,
    before: [u64; WORDS],
}

/// The lengths of a row's words, from the last to the first.
fn lengths(reader: &mut Reader<'_>) -> Result<[usize; WORDS], WireError> {
    let mut lengths = [0; WORDS];
    for pair in lengths.as_chunks_mut::<2>().0.iter_mut().rev() {
        let both = usize::from(reader.u8()?);
        *pair = [both >> 4, both & 15];
    }
    Ok(lengths)
}

impl<'a> PackedRows<'a> {
    /// Checks that the payload has `count` rows.
    pub(super) fn take(reader: &mut Reader<'a>, count: u32) -> Result<Self, WireError> {
        let all = reader.rest();
        for _ in 0..count {
            let bytes = lengths(reader)?.iter().fold(0_usize, |sum, length| sum.saturating_add(*length));
            reader.take(bytes)?;
        }
        let length = all.len().saturating_sub(reader.rest().len());
        Ok(Self { rest: all.get(..length).unwrap_or_default(), count, before: TypedRoot::ZERO })
    }
}

impl Iterator for PackedRows<'_> {
    type Item = TypedRoot;

    fn next(&mut self) -> Option<TypedRoot> {
        self.count = self.count.checked_sub(1)?;
        let mut reader = Reader::new(self.rest);
        let lengths = lengths(&mut reader).ok()?;
        for (word, length) in self.before.iter_mut().rev().zip(lengths) {
            let mut bytes = [0; WORD];
            for (byte, packed) in bytes.iter_mut().zip(reader.take(length).ok()?) {
                *byte = *packed;
            }
            let bits = u64::from_le_bytes(bytes);
            let difference = bits >> 1 ^ (bits & 1).wrapping_neg();
            *word = word.wrapping_add(difference);
        }
        self.rest = reader.rest();
        Some(TypedRoot::of_words(self.before))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count as usize, Some(self.count as usize))
    }
}

impl ExactSizeIterator for PackedRows<'_> {}

/// Roots with types, in the order in which the runtime reported them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TypedRoots<'a> {
    /// The collection.
    pub gc_seq: u64,
    /// Number of this part, from 0.
    pub part: u32,
    /// The roots.
    pub rows: PackedRows<'a>,
}

impl<'a> TypedRoots<'a> {
    /// [`BatchHeader::phase`] of packed rows. The first version had rows of another layout, with 0.
    pub const PACKED: u8 = 1;

    /// Whether the header says so.
    pub(super) fn are_of_another_layout(payload: &[u8]) -> bool {
        BatchHeader::decode(payload).is_ok_and(|header| header.phase != Self::PACKED)
    }

    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(payload);
        let header = BatchHeader::read(&mut reader)?;
        let rows = PackedRows::take(&mut reader, header.rows)?;
        Ok(Self { gc_seq: header.gc_seq, part: header.part, rows })
    }
}
