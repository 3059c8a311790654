//! What loading a graph may cost.

use std::num::NonZero;
use std::thread;

/// Limits for files that nobody vouches for, and the number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How many objects a file may have. A graph needs up to 60 bytes of memory for each.
    pub max_objects: u32,
    /// How many references a file may have. A graph needs up to 8 bytes of memory for each.
    pub max_references: u64,
    /// How much memory a graph and all answers may need, about, in bytes.
    pub max_memory_bytes: u64,
    /// How many threads work at the same time.
    pub threads: NonZero<usize>,
}

impl Limits {
    /// More objects than these have no numbers: the rest of 32 bits is for roots.
    pub const MAX_OBJECTS: u32 = u32::MAX - 64;

    /// Whether a graph of this size is permitted.
    pub(crate) fn permit(&self, objects: u64, references: u64) -> bool {
        const OBJECT_BYTES: u64 = 40;
        const REFERENCE_BYTES: u64 = 8;
        let of_objects = objects.saturating_mul(OBJECT_BYTES);
        let bytes = of_objects.saturating_add(references.saturating_mul(REFERENCE_BYTES));
        objects <= u64::from(self.max_objects.min(Self::MAX_OBJECTS))
            && references <= self.max_references
            && bytes <= self.max_memory_bytes
    }
}

impl Default for Limits {
    /// As many objects and references as a graph can have, any memory, and as many threads as the machine has processors, but no more
    /// than 8.
    fn default() -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            max_objects: Self::MAX_OBJECTS,
            max_references: u64::MAX,
            max_memory_bytes: u64::MAX,
            threads: NonZero::new(processors.min(8)).unwrap_or(NonZero::<usize>::MIN),
        }
    }
}
