//! Blocks that moved, blocks that survived in place, and the sizes of generations and heaps.

use std::ops::AddAssign;

use crate::gc::generation::Generation;
use crate::gc::histogram::Histogram;

/// A number of blocks and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockCount {
    pub(crate) blocks: u64,
    pub(crate) bytes: u64,
}

impl BlockCount {
    /// The sum of those that are known; `None`: none is.
    pub(crate) fn sum(counts: impl IntoIterator<Item = Option<BlockCount>>) -> Option<BlockCount> {
        counts.into_iter().flatten().reduce(|mut sum, count| {
            sum += count;
            sum
        })
    }
}

impl AddAssign for BlockCount {
    /// Without an overflow, whatever the target sends.
    #[inline]
    fn add_assign(&mut self, more: BlockCount) {
        self.blocks = self.blocks.saturating_add(more.blocks);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// One range of a compacted generation, as the runtime reported it. `old == new`: it survived in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MovedRange {
    pub(crate) old: u64,
    pub(crate) new: u64,
    pub(crate) bytes: u64,
    /// `None`: the bounds of the generations were not known.
    pub(crate) from: Option<Generation>,
    pub(crate) to: Option<Generation>,
}

/// One range that survived in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SurvivingRange {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// `None`: the bounds of the generations were not known.
    pub(crate) generation: Option<Generation>,
}

/// Blocks that went from one generation to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transition {
    pub(crate) from: Generation,
    pub(crate) to: Generation,
    pub(crate) count: BlockCount,
}

/// The blocks that a compacting collection moved.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Moved {
    /// Blocks with `old != new`.
    pub(crate) count: BlockCount,
    /// A range of a runtime that knows only 32-bit lengths was 4 GiB or longer.
    pub(crate) bytes_at_least: bool,
    /// Blocks with `old == new`: they are pinned, or there was no gap before them.
    pub(crate) stayed: BlockCount,
    pub(crate) sizes: Histogram,
    /// |new - old| of each moved block.
    pub(crate) distances: Histogram,
    pub(crate) transitions: Option<Vec<Transition>>,
    /// Only with `--blocks`.
    pub(crate) ranges: Option<Vec<MovedRange>>,
}

/// The blocks that survived in generations that were not compacted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Surviving {
    pub(crate) count: BlockCount,
    pub(crate) bytes_at_least: bool,
    pub(crate) sizes: Histogram,
    /// Only with `--blocks`.
    pub(crate) ranges: Option<Vec<SurvivingRange>>,
}

/// One generation's part in a collection. Sizes include free space, as the runtime counts them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GenerationStats {
    pub(crate) size_before_bytes: Option<u64>,
    /// Free list and free objects before the collection.
    pub(crate) free_before_bytes: Option<u64>,
    pub(crate) size_after_bytes: Option<u64>,
    pub(crate) promoted_bytes: Option<u64>,
    /// Free list and free objects after the collection.
    pub(crate) fragmentation_bytes: Option<u64>,
    pub(crate) compacted: Option<bool>,
    /// Blocks are booked to the generation they lay in before.
    pub(crate) moved: Option<BlockCount>,
    pub(crate) surviving: Option<BlockCount>,
}

impl GenerationStats {
    /// Its size after the collection, without free space.
    pub(crate) fn used_after_bytes(&self) -> Option<u64> {
        self.size_after_bytes.zip(self.fragmentation_bytes).map(|(size, free)| size.saturating_sub(free))
    }
}

/// What the program allocated between collections. Before .NET 9 it has only a part of the large objects that were allocated
/// while a background collection ran: the runtime does not tell them (measured on 8, 9 and 10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Allocated {
    pub(crate) bytes: u64,
    /// Those of them that are large objects.
    pub(crate) large_bytes: u64,
    /// The time in which that was, ns.
    pub(crate) in_ns: u64,
}

impl Allocated {
    /// Bytes a second. `None`: no time has passed.
    pub(crate) fn per_second(self) -> Option<f64> {
        (self.in_ns > 0).then(|| self.bytes as f64 * 1e9 / self.in_ns as f64)
    }
}

impl AddAssign for Allocated {
    fn add_assign(&mut self, more: Allocated) {
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.large_bytes = self.large_bytes.saturating_add(more.large_bytes);
        self.in_ns = self.in_ns.saturating_add(more.in_ns);
    }
}

/// One heap's part (server GC has several).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeapStats {
    pub(crate) index: u32,
    pub(crate) size_before_bytes: Option<u64>,
    pub(crate) size_after_bytes: Option<u64>,
    /// Bytes that survived in the condemned generations of this heap.
    pub(crate) promoted_bytes: Option<u64>,
    /// Why this heap wanted that generation, in the GC's own terms.
    pub(crate) condemned_reasons: Option<Vec<&'static str>>,
}
