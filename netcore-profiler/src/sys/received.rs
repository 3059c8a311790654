//! What waiting for bytes has shown.

/// What waiting for bytes has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(windows, expect(dead_code, reason = "nothing is received there"))]
pub(crate) enum Received {
    /// So many bytes came.
    Bytes(usize),
    /// None came within the time.
    Nothing,
    /// The other end has closed the connection, or the descriptor is not ours any more.
    Closed,
}
