//! The histogram of sizes and distances: 16 buckets per power of two.
//!
//! A bucket has the values up to and including its upper end. Powers of two, and the multiples of 8 up to 256, are
//! upper ends. The upper end of a value's bucket exceeds the value by at most one sixteenth, 6.25 %.

use super::batch::{Rows, row};
use super::cursor::{Reader, WireError, Writer};
use super::payload::Field;

/// Number of buckets; every `u64` has one.
pub const BUCKETS: usize = 977;

/// The bucket that `value` belongs to.
#[must_use]
#[inline]
pub const fn bucket(value: u64) -> u16 {
    // Without a branch: for small values the same formula shifts nothing out.
    let x = value.saturating_sub(1);
    let shift = 59_u32.wrapping_sub((x | 16).leading_zeros());
    let step = ((shift as u64) << 4).wrapping_add(x >> shift);
    step.wrapping_add((value != 0) as u64) as u16
}

/// The largest value of a bucket; `u64::MAX` for the last one and beyond.
#[must_use]
pub const fn upper_end(index: u16) -> u64 {
    if index == 0 {
        return 0;
    }
    let step = (index as u64).wrapping_sub(1);
    if step < 16 {
        return step.wrapping_add(1);
    }
    let exponent = (step >> 4).wrapping_add(3);
    if exponent > 63 {
        return u64::MAX;
    }
    let shift = (exponent as u32).wrapping_sub(4);
    // The bucket has the values with x = value - 1 from (16 + mantissa) << shift up to the first x of the next bucket,
    // which is the inclusive upper end of the values. For the last bucket that would be 2^64.
    let next = (16_u64).wrapping_add(step & 15).wrapping_add(1);
    match next.checked_shl(shift) {
        Some(end) if end >> shift == next => end,
        _ => u64::MAX,
    }
}

/// A bucket that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Its number ([`bucket`], [`upper_end`]).
    pub index: u16,
    /// How many values it has.
    pub count: u64,
    /// Sum of the values; 0 in histograms of distances.
    pub bytes: u64,
}

row! { Bucket, 18 bytes, u8: index, count, bytes }

/// A histogram, in a payload or in the profiler's memory. In a payload, empty buckets are left out.
#[derive(Debug, Clone, Copy)]
pub struct Histogram<'a> {
    /// Smallest value; undefined if there is none.
    pub min: u64,
    /// Largest value; 0 if there is none.
    pub max: u64,
    buckets: Source<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    Rows(Rows<'a, Bucket>),
    /// The buckets from `first` on.
    Dense {
        first: usize,
        counts: &'a [u64],
        bytes: &'a [u64],
    },
}

impl<'a> Histogram<'a> {
    /// A histogram of counts by bucket, and of sums unless `bytes` is empty.
    #[must_use]
    pub const fn dense(min: u64, max: u64, counts: &'a [u64], bytes: &'a [u64]) -> Self {
        Self::dense_from(0, min, max, counts, bytes)
    }

    /// The same from bucket `first` on. All other buckets are empty.
    #[must_use]
    pub const fn dense_from(first: usize, min: u64, max: u64, counts: &'a [u64], bytes: &'a [u64]) -> Self {
        Self { min, max, buckets: Source::Dense { first, counts, bytes } }
    }

    /// The buckets that are not empty, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Bucket> + use<'a> {
        let (rows, first, counts, bytes): (_, _, &[u64], &[u64]) = match self.buckets {
            Source::Rows(rows) => (Some(rows), 0, &[], &[]),
            Source::Dense { first, counts, bytes } => (None, first, counts, bytes),
        };
        let dense = counts.iter().enumerate().filter(|(_, count)| **count != 0);
        rows.into_iter().flatten().chain(dense.map(move |(at, count)| Bucket {
            index: u16::try_from(at.saturating_add(first)).unwrap_or(u16::MAX),
            count: *count,
            bytes: bytes.get(at).copied().unwrap_or(0),
        }))
    }
}

impl<'a> Field<'a> for Histogram<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let (min, max) = Field::read(reader)?;
        Ok(Self { min, max, buckets: Source::Rows(Rows::counted(reader)?) })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        (self.min, self.max).write(writer);
        writer.rows(self.iter(), Field::write);
    }
}

impl PartialEq for Histogram<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.min == other.min && self.max == other.max && self.iter().eq(other.iter())
    }
}
