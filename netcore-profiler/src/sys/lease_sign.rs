//! What the lease says when the agent listens to it.

use crate::wire::{LEASE_GOODBYE, LEASE_GRAPH};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseSign {
    /// At least one heartbeat has arrived.
    Alive,
    /// A heap graph is wanted.
    Graph,
    /// Nothing has arrived.
    Silent,
    /// The other end said goodbye, or was closed.
    Closed,
    /// The target has closed our descriptor. Its number may belong to another file of the target by now.
    #[cfg_attr(
        windows,
        expect(dead_code, reason = "the system does not let others close a protected handle")
    )]
    Taken,
}

impl LeaseSign {
    /// What these bytes of the lease mean; there is at least one.
    pub(super) fn of(bytes: &[u8]) -> Self {
        if bytes.contains(&LEASE_GOODBYE) {
            Self::Closed
        } else if bytes.contains(&LEASE_GRAPH) {
            Self::Graph
        } else {
            Self::Alive
        }
    }
}
