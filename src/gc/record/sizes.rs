//! Sizes of generations and heaps.

use super::blocks::BlockCount;

/// One generation's part in a collection. Sizes include free space, as the runtime counts them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GenerationStats {
    pub(crate) size_before_bytes: Option<u64>,
    pub(crate) size_after_bytes: Option<u64>,
    pub(crate) promoted_bytes: Option<u64>,
    /// Free list and free objects after the collection.
    pub(crate) fragmentation_bytes: Option<u64>,
    pub(crate) compacted: Option<bool>,
    /// Blocks are booked to the generation they lay in before.
    pub(crate) moved: Option<BlockCount>,
    pub(crate) surviving: Option<BlockCount>,
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
