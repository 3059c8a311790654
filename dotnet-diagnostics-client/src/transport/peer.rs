//! Who is at the other end of a connection.

/// The process at the other end of a connection, as the operating system vouches for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its process id as this process sees it; `None` where the system does not tell.
    pub pid: Option<u32>,
    /// Its effective user id when it connected.
    pub uid: u32,
}
