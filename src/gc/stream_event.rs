//! One event of the stream, independent of the file format that it came in.

/// An event with its header's fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamEvent<'a> {
    pub(crate) provider: &'a str,
    pub(crate) id: u32,
    /// Bytes of a pointer in the target: 4 or 8.
    pub(crate) pointer_size: u32,
    /// The id of the target's thread in its operating system.
    pub(crate) thread: u64,
    /// ns of the stream's clock since the watch began; 0 for events from before it.
    pub(crate) at_ns: u64,
    pub(crate) payload: &'a [u8],
    /// Return addresses in managed code, the innermost first, little-endian, `pointer_size` bytes each; empty: the event has
    /// no call stack.
    pub(crate) stack: &'a [u8],
}
