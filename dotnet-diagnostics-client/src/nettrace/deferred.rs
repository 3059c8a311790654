//! Large payloads that a block does not hold, because the caller can read them from a file later.

/// How many of its first bytes a deferred payload still has.
pub(super) const PREFIX_BYTES: usize = 16;

/// The deferred payloads of a block, in order.
#[derive(Debug, Default)]
pub(super) struct DeferredPayloads {
    /// Where in the bytes that the block does hold the rest of each payload is missing.
    pub(super) at: Vec<u32>,
    /// How many bytes are missing in all.
    pub(super) bytes: usize,
}
