//! Sends messages of the walk to gcwatch.

use crate::sys::{self, Lease, copy};
use crate::wire::graph::HEAD_BYTES;

/// How long the walk waits at once for gcwatch to read, before it looks whether it is still wanted.
const WAIT_MS: u32 = 200;
/// In the pause: how long gcwatch may read nothing.
const STALLED_NS: u64 = 1_000_000_000;

/// Where the walk takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the copy of the process with this id. When it has ended, the copy has another parent.
    CopyOf(i32),
    /// In the program, which stands still meanwhile: until then, on the monotonic clock in ns.
    PauseUntil(u64),
}

/// The walk's end of the connection.
#[derive(Debug)]
pub(super) struct Output {
    connection: Lease,
    pub(super) place: Place,
    /// Nobody wants the graph any more, or it takes too long.
    pub(super) ended: bool,
}

impl Output {
    pub(super) fn new(connection: Lease, place: Place) -> Self {
        Self { connection, place, ended: false }
    }

    /// Sends a message, whose payload is in one or two parts.
    pub(super) fn send(&mut self, kind: u8, first: &[u8], second: &[u8]) {
        let length = first.len().saturating_add(second.len());
        let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        let head: [u8; HEAD_BYTES] = [kind, a, b, c, d];
        self.send_all(&head);
        self.send_all(first);
        self.send_all(second);
    }

    fn send_all(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        let mut read_ns = sys::tick_ns();
        while !rest.is_empty() && !self.ended {
            let sent = self.connection.send_some(rest, WAIT_MS);
            self.ended = sent.is_none()
                || match self.place {
                    Place::CopyOf(program) => copy::parent_id() != program,
                    Place::PauseUntil(until_ns) => {
                        let now_ns = sys::tick_ns();
                        if sent.is_some_and(|count| count > 0) {
                            read_ns = now_ns;
                        }
                        now_ns > until_ns || now_ns.saturating_sub(read_ns) > STALLED_NS
                    }
                };
            rest = rest.get(sent.unwrap_or(0)..).unwrap_or_default();
        }
    }
}
