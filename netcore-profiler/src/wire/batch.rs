//! Raw data in numbered parts: generation bounds, ranges and roots.

use core::fmt;
use core::marker::PhantomData;

use super::cursor::{Reader, WireError, Writer};
use super::payload::{Field, field, fields};

/// A table entry of fixed size.
pub trait Row: for<'a> Field<'a> {
    /// Size in bytes.
    const BYTES: usize;
    /// Type of [`Batch::phase`].
    type Phase: for<'a> Field<'a>;

    /// Writes the entry to the front of `buffer` and returns its size.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let capacity = buffer.len();
        // A slice of known length, so that the compiler does not check each field.
        let space = buffer.get_mut(..Self::BYTES).ok_or(WireError::BufferFull { capacity })?;
        let mut writer = Writer::new(space);
        self.write(&mut writer);
        writer.finish()
    }
}

/// Makes a struct a [`Row`] of this many bytes, with these fields in this order. It is written at once, because there
/// may be very many.
macro_rules! row {
    ($type:ident, $bytes:literal bytes, $phase:ty: $($field:ident),*) => {
        impl $crate::wire::Row for $type {
            const BYTES: usize = $bytes;
            type Phase = $phase;
        }

        impl $crate::wire::payload::Field<'_> for $type {
            #[inline]
            fn read(
                reader: &mut $crate::wire::cursor::Reader<'_>,
            ) -> Result<Self, $crate::wire::cursor::WireError> {
                Ok(Self { $($field: $crate::wire::payload::Field::read(reader)?),* })
            }

            #[inline]
            fn write(&self, writer: &mut $crate::wire::cursor::Writer<'_>) {
                let mut bytes = [0; $bytes];
                let space = bytes.as_mut_slice();
                $(let space = $crate::wire::payload::Number::put(self.$field, space);)*
                debug_assert!(space.is_empty());
                writer.bytes(&bytes);
            }
        }
    };
}
pub(super) use row;

/// Iterator over a table in a payload.
#[derive(Clone, Copy, PartialEq)]
pub struct Rows<'a, T> {
    rest: &'a [u8],
    row: PhantomData<T>,
}

impl<'a, T: Row> Rows<'a, T> {
    pub(super) fn take(reader: &mut Reader<'a>, count: usize) -> Result<Self, WireError> {
        let rest = reader.take(count.saturating_mul(T::BYTES))?;
        Ok(Self { rest, row: PhantomData })
    }

    /// With their 16-bit number in front ([`Writer::rows`]).
    pub(super) fn counted(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let count = usize::from(reader.u16()?);
        Self::take(reader, count)
    }
}

impl<T: Row> Iterator for Rows<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (head, rest) = self.rest.split_at_checked(T::BYTES)?;
        self.rest = rest;
        T::read(&mut Reader::new(head)).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rows = self.rest.len().checked_div(T::BYTES).unwrap_or(0);
        (rows, Some(rows))
    }
}

impl<T: Row> ExactSizeIterator for Rows<'_, T> {}

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
        self.write(&mut Writer::new(&mut bytes));
        bytes
    }
}

fields! { BatchHeader: gc_seq, part, rows, phase }

/// Rows of one kind, one part of a collection's: generation bounds in ascending order of address, ranges in the order of
/// the callbacks of one accumulator, roots with the null ones, values of static fields.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch<'a, T: Row> {
    /// The collection.
    pub gc_seq: u64,
    /// Number of this part, from 0. Bounds are counted over both phases.
    pub part: u32,
    /// Which rows these are, if there are several sorts.
    pub phase: T::Phase,
    /// The rows.
    pub rows: Rows<'a, T>,
}

impl<'a, T: Row> Batch<'a, T> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(payload);
        let (gc_seq, part, count) = (reader.u64()?, reader.u32()?, reader.u32()?);
        let phase = Field::read(&mut reader)?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(Self { gc_seq, part, phase, rows: Rows::take(&mut reader, count)? })
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

field! { BoundsPhase RootKind RootFlags }

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

row! { BoundsRange, 25 bytes, BoundsPhase: generation, start, length, reserved }

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

row! { MovedRange, 24 bytes, u8: old, new, bytes }

/// A block of adjacent survivors that kept its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SurvivingRange {
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
}

row! { SurvivingRange, 16 bytes, u8: start, bytes }

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

row! { Root, 18 bytes, u8: object, root_id, kind, flags }
