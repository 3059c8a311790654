//! The process at the other end of a connection.

/// The process at the other end of a connection, according to the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its process id in the PID namespace of this process. `None` if the operating system does not say.
    pub pid: Option<u32>,
    /// Its effective user id at the time of connecting. 0 on Windows, where users have no numbers: there the access list
    /// of a pipe decides who can connect.
    pub uid: u32,
}
