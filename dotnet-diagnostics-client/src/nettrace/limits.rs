//! How much a reader may hold.

/// Bounds on what a [`Reader`](super::Reader) holds, whatever its input claims. The defaults leave a wide margin to
/// what runtimes write.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// A larger block is damage: the stream cannot be read further. Runtimes write blocks of up to 100 KiB.
    /// Default: 16 MiB.
    pub max_block_bytes: usize,
    /// Blocks kept because events in them wait for their turn. Beyond it the earliest events are given out of turn,
    /// which is told once as [`Error::Limit`](super::Error::Limit). Default: 256 MiB.
    pub max_held_bytes: usize,
    /// Events that wait for their turn (about 150 bytes each). Beyond it the earliest are given out of turn, which is
    /// told once. Default: 2^18.
    pub max_held_events: usize,
    /// Memory of all descriptions of events. Further ones are an error of their block. Default: 16 MiB.
    pub max_metadata_bytes: usize,
    /// Memory of the call stacks between two sequence points. Beyond it the oldest are forgotten, and events that
    /// refer to them have none. Runtimes write a sequence point every 10 MiB. Default: 32 MiB.
    pub max_stack_bytes: usize,
    /// Threads (also label lists, in version 6) whose state is known. Beyond it those without waiting events are
    /// forgotten, and gaps before their next event are not counted as lost, which is told once. Default: 2^16.
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
/// this size was written for the second reason: blocks take 100 KiB, events 64 KiB of payload and a header.
pub(super) const ROOM_FOR_ANY_EVENT: usize = 100 * 1024 - 64 * 1024 - 256;
