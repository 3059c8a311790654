//! What the lease says when the agent listens to it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseSign {
    /// At least one heartbeat has arrived.
    Alive,
    /// Nothing has arrived.
    Silent,
    /// The other end was closed.
    Closed,
    /// The target has closed our descriptor. Its number may belong to another file of the target by now.
    #[cfg_attr(windows, expect(dead_code, reason = "a pipe's handle has no number of its own to compare"))]
    Taken,
}
