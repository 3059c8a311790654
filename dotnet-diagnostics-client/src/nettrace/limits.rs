//! Bounds on the memory of a reader.

/// Bounds on what a [`Reader`](super::Reader) holds, whatever its input is. The defaults are far above what runtimes
/// write.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest block in bytes. A larger one counts as damage, and the stream cannot be read further. Runtimes write
    /// blocks of up to 100 KiB. Default: 16 MiB.
    pub max_block_bytes: usize,
    /// Memory in bytes of the blocks with events that wait for their turn. Above it, the earliest events are given out
    /// of order, and [`Error::Limit`](super::Error::Limit) comes once. Default: 256 MiB.
    pub max_held_bytes: usize,
    /// Number of events that wait for their turn (about 150 bytes each). Above it, the earliest are given out of order,
    /// and [`Error::Limit`](super::Error::Limit) comes once. Default: 2^18.
    pub max_held_events: usize,
    /// Memory in bytes of all event definitions. Further ones are an error of their block. Default: 16 MiB.
    pub max_metadata_bytes: usize,
    /// Memory in bytes of the call stacks between two sequence points. Above it, the oldest are dropped, and events
    /// that refer to them have no stack. Runtimes write a sequence point every 10 MiB. Default: 32 MiB.
    pub max_stack_bytes: usize,
    /// Number of threads whose state is kept, and of label lists in version 6. Above it, threads without waiting events
    /// are dropped, so that a gap before their next event is not counted as lost, and
    /// [`Error::Limit`](super::Error::Limit) comes once. Default: 2^16.
    pub max_threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_block_bytes: 16 << 20,
            max_held_bytes: 256 << 20,
            max_held_events: 1 << 18,
            max_metadata_bytes: 16 << 20,
            max_stack_bytes: 32 << 20,
            max_threads: 1 << 16,
        }
    }
}

/// The runtime writes an event block when the next event does not fit, and at the end of a flush. A block of at most
/// this size has room for any event (a block has 100 KiB, an event up to 64 KiB of payload and a header), so it was
/// written at the end of a flush.
pub(super) const MAX_BYTES_WITH_ROOM: usize = 100 * 1024 - 64 * 1024 - 256;
