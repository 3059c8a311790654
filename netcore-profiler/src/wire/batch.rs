//! Raw data in numbered parts: generation bounds, ranges and roots.

use core::fmt;
use core::marker::PhantomData;

use super::cursor::{Reader, WireError, Writer};

/// The layout of a row. Private, which seals [`Row`].
pub(super) mod layout {
    use crate::wire::cursor::{Reader, WireError, Writer};

    pub trait Layout: Sized {
        const SIZE: usize;
        fn read(reader: &mut Reader<'_>) -> Result<Self, WireError>;
        fn write(&self, writer: &mut Writer<'_>);
    }
}
use layout::Layout;

/// A table entry of fixed size.
pub trait Row: Layout {
    /// Size in bytes.
    const BYTES: usize = Self::SIZE;

    /// Writes the entry to the front of `buffer` and returns its size.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let capacity = buffer.len();
        // A slice of known length, so that the compiler does not check each field.
        let space = buffer.get_mut(..Self::SIZE).ok_or(WireError::BufferFull { capacity })?;
        let mut writer = Writer::new(space);
        self.write(&mut writer);
        writer.finish()
    }
}

/// Iterator over a table in a payload.
pub struct Rows<'a, T> {
    rest: &'a [u8],
    row: PhantomData<T>,
}

impl<'a, T: Row> Rows<'a, T> {
    pub(super) fn take(reader: &mut Reader<'a>, count: usize) -> Result<Self, WireError> {
        let rest = reader.take(count.saturating_mul(T::SIZE))?;
        Ok(Self { rest, row: PhantomData })
    }
}

impl<T: Row> Iterator for Rows<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (head, rest) = self.rest.split_at_checked(T::SIZE)?;
        self.rest = rest;
        T::read(&mut Reader::new(head)).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rows = self.rest.len().checked_div(T::SIZE).unwrap_or(0);
        (rows, Some(rows))
    }
}

impl<T: Row> ExactSizeIterator for Rows<'_, T> {}

impl<T> Clone for Rows<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Rows<'_, T> {}

impl<T> PartialEq for Rows<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.rest == other.rest
    }
}

impl<T> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("bytes", &self.rest.len()).finish()
    }
}

/// The header of every batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// The collection, as [`GcTotals::gc_seq`](super::GcTotals::gc_seq).
    pub gc_seq: u64,
    /// Number of this part within the collection and kind of data, from 0.
    pub part: u32,
    /// Number of rows that follow.
    pub rows: u32,
    /// [`BoundsPhase`] of bounds, [`StaticsPhase`](super::StaticsPhase) of statics,
    /// [`TypedRoots::PACKED`](super::TypedRoots::PACKED) of typed roots; 0 elsewhere.
    pub phase: u8,
}

impl BatchHeader {
    /// Size in bytes.
    pub const SIZE: usize = 17;

    /// The bytes before the rows.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let mut writer = Writer::new(&mut bytes);
        writer.u64(self.gc_seq);
        writer.u32(self.part);
        writer.u32(self.rows);
        writer.u8(self.phase);
        bytes
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { gc_seq: reader.u64()?, part: reader.u32()?, rows: reader.u32()?, phase: reader.u8()? })
    }

    pub(super) fn decode<'a, T: Row>(payload: &'a [u8]) -> Result<(Self, Rows<'a, T>), WireError> {
        let mut reader = Reader::new(payload);
        let header = Self::read(&mut reader)?;
        let count = usize::try_from(header.rows).unwrap_or(usize::MAX);
        Ok((header, Rows::take(&mut reader, count)?))
    }
}

/// When the bounds were read. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BoundsPhase(pub u8);

impl BoundsPhase {
    /// In `GarbageCollectionStarted`: for addresses before the collection.
    pub const STARTED: Self = Self(0);
    /// In `GarbageCollectionFinished`: for addresses after the collection.
    pub const FINISHED: Self = Self(1);
}

/// One address range of a generation (`COR_PRF_GC_GENERATION_RANGE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BoundsRange {
    /// 0, 1, 2; 3: large object heap; 4: pinned object heap; others are possible.
    pub generation: u8,
    /// First address.
    pub start: u64,
    /// Used bytes.
    pub length: u64,
    /// Reserved bytes, `length` included.
    pub reserved: u64,
}

impl Row for BoundsRange {}

impl Layout for BoundsRange {
    const SIZE: usize = 25;

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            generation: reader.u8()?,
            start: reader.u64()?,
            length: reader.u64()?,
            reserved: reader.u64()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.generation);
        writer.u64(self.start);
        writer.u64(self.length);
        writer.u64(self.reserved);
    }
}

/// A block of adjacent survivors that the runtime reported as moved, even if its address is the same (`old == new`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedRange {
    /// First address before the collection.
    pub old: u64,
    /// First address after the collection.
    pub new: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Row for MovedRange {}

impl Layout for MovedRange {
    const SIZE: usize = 24;

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { old: reader.u64()?, new: reader.u64()?, bytes: reader.u64()? })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.row::<24>(&[self.old, self.new, self.bytes], &[]);
    }
}

/// A block of adjacent survivors that kept its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SurvivingRange {
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Row for SurvivingRange {}

impl Layout for SurvivingRange {
    const SIZE: usize = 16;

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { start: reader.u64()?, bytes: reader.u64()? })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.row::<16>(&[self.start, self.bytes], &[]);
    }
}

/// Kind of a root (`COR_PRF_GC_ROOT_KIND`). Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RootKind(pub u8);

impl RootKind {
    /// Any other root.
    pub const OTHER: Self = Self(0);
    /// A slot of a stack frame; since .NET 9 also thread statics.
    pub const STACK: Self = Self(1);
    /// The queue of objects whose finalizers are to run.
    pub const FINALIZER: Self = Self(2);
    /// A GC handle, also those that static fields are reached through.
    pub const HANDLE: Self = Self(3);
    /// A kind that this version does not count separately.
    pub const UNKNOWN: Self = Self(0xff);
}

/// Properties of a root (`COR_PRF_GC_ROOT_FLAGS`), a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RootFlags(pub u8);

impl RootFlags {
    /// The object must not be moved.
    pub const PINNING: u8 = 1;
    /// The root does not keep the object alive.
    pub const WEAK: u8 = 2;
    /// The root points into the object.
    pub const INTERIOR: u8 = 4;
    /// A reference-counted handle.
    pub const REFCOUNTED: u8 = 8;
    /// Bits that this version does not count separately.
    pub const UNKNOWN: Self = Self(0xff);

    /// Whether all of `bits` are set.
    #[must_use]
    pub const fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }
}

/// One root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// Address of the object after the collection; 0: the root is null.
    pub object: u64,
    /// `FunctionID` of a stack root (0: unnamed), handle of a handle root, opaque otherwise.
    pub root_id: u64,
    /// Its kind.
    pub kind: RootKind,
    /// Its flags.
    pub flags: RootFlags,
}

impl Row for Root {}

impl Layout for Root {
    const SIZE: usize = 18;

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            object: reader.u64()?,
            root_id: reader.u64()?,
            kind: RootKind(reader.u8()?),
            flags: RootFlags(reader.u8()?),
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.row::<18>(&[self.object, self.root_id], &[self.kind.0, self.flags.0]);
    }
}

/// Generation bounds at one end of a collection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<'a> {
    /// The collection.
    pub gc_seq: u64,
    /// At which end they were read.
    pub phase: BoundsPhase,
    /// Number of this part, counted from 0 over both phases.
    pub part: u32,
    /// The ranges, in ascending order of address.
    pub ranges: Rows<'a, BoundsRange>,
}

/// Moved ranges, in the order of the callbacks of one accumulator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovedRanges<'a> {
    /// The collection.
    pub gc_seq: u64,
    /// Number of this part, from 0.
    pub part: u32,
    /// The ranges.
    pub ranges: Rows<'a, MovedRange>,
}

/// Ranges that survived in place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurvivingRanges<'a> {
    /// The collection.
    pub gc_seq: u64,
    /// Number of this part, from 0.
    pub part: u32,
    /// The ranges.
    pub ranges: Rows<'a, SurvivingRange>,
}

/// Roots, null ones included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RootBatch<'a> {
    /// The collection.
    pub gc_seq: u64,
    /// Number of this part, from 0.
    pub part: u32,
    /// The roots.
    pub roots: Rows<'a, Root>,
}

impl<'a> Bounds<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let (header, ranges) = BatchHeader::decode(payload)?;
        let phase = BoundsPhase(header.phase);
        Ok(Self { gc_seq: header.gc_seq, phase, part: header.part, ranges })
    }
}

impl<'a> MovedRanges<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let (header, ranges) = BatchHeader::decode(payload)?;
        Ok(Self { gc_seq: header.gc_seq, part: header.part, ranges })
    }
}

impl<'a> SurvivingRanges<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let (header, ranges) = BatchHeader::decode(payload)?;
        Ok(Self { gc_seq: header.gc_seq, part: header.part, ranges })
    }
}

impl<'a> RootBatch<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let (header, roots) = BatchHeader::decode(payload)?;
        Ok(Self { gc_seq: header.gc_seq, part: header.part, roots })
    }
}
