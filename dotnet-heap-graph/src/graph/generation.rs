//! Generations of objects.

use std::ops::Range;

use super::addresses::Addresses;
use crate::format::RangeRecord;

/// The part of the heap where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// The youngest objects.
    Gen0,
    /// Objects that survived a collection.
    Gen1,
    /// Objects that survived two or more.
    Gen2,
    /// Large objects.
    Large,
    /// Objects that never move, in a part of the heap of their own.
    Pinned,
    /// Objects that live as long as the program, such as literal strings.
    Frozen,
    /// The file does not say.
    Unknown,
}

impl Generation {
    /// All generations.
    pub const ALL: [Self; 7] =
        [Self::Gen0, Self::Gen1, Self::Gen2, Self::Large, Self::Pinned, Self::Frozen, Self::Unknown];

    fn of(range: &RangeRecord) -> Self {
        match range.generation {
            0 => Self::Gen0,
            1 => Self::Gen1,
            2 => Self::Gen2,
            RangeRecord::LARGE => Self::Large,
            RangeRecord::PINNED => Self::Pinned,
            RangeRecord::FROZEN => Self::Frozen,
            _ => Self::Unknown,
        }
    }
}

/// The generations of all objects: each has the objects from one number to the next one's.
#[derive(Debug, Default)]
pub(crate) struct Generations {
    parts: Vec<(u32, Generation)>,
}

impl Generations {
    pub(crate) fn new(ranges: &[RangeRecord], addresses: &Addresses) -> Self {
        let mut sorted: Vec<&RangeRecord> = ranges.iter().collect();
        sorted.sort_by_key(|range| range.start);
        let mut parts: Vec<(u32, Generation)> = Vec::new();
        let mut next = 0;
        for range in sorted {
            let bytes = range.used_bytes.max(range.reserved_bytes);
            let first = addresses.count_below(range.start).max(next);
            let end = addresses.count_below(range.start.saturating_add(bytes)).max(first);
            if end == first {
                continue;
            }
            if next < first {
                parts.push((next, Generation::Unknown));
            }
            parts.push((first, Generation::of(range)));
            next = end;
        }
        parts.push((next, Generation::Unknown));
        Self { parts }
    }

    pub(crate) fn of(&self, object: u32) -> Generation {
        let behind = self.parts.partition_point(|(first, _)| *first <= object);
        let part = behind.checked_sub(1).and_then(|index| self.parts.get(index));
        part.map_or(Generation::Unknown, |(_, generation)| *generation)
    }

    /// Objects with consecutive numbers and one generation; together all below `end`.
    pub(crate) fn parts(&self, end: u32) -> impl Iterator<Item = (Range<u32>, Generation)> {
        let ends = self.parts.iter().skip(1).map(|(first, _)| *first).chain([end]);
        self.parts.iter().zip(ends).map(|((first, generation), end)| (*first..end, *generation))
    }
}

#[cfg(test)]
mod tests {
    use super::super::addresses::mark;
    use super::*;

    #[test]
    fn ranges_may_overlap_and_leave_gaps() {
        let mut marks = Vec::new();
        (1..9).for_each(|i| mark(&mut marks, i * 0x1000));
        let addresses = Addresses::new(marks).unwrap();
        let range =
            |generation, start, used_bytes| RangeRecord { generation, start, used_bytes, reserved_bytes: 0 };
        let ranges = [range(3, 0x5000, 0x2000), range(0, 0x2000, 0x2000), range(2, 0x3000, 0x1001)];
        let generations = Generations::new(&ranges, &addresses);
        use Generation::*;
        let found: Vec<_> = (0..8).map(|object| generations.of(object)).collect();
        assert_eq!(found, [Unknown, Gen0, Gen0, Gen2, Large, Large, Unknown, Unknown]);
    }
}
