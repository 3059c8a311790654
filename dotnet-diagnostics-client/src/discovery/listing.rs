//! Results of a search for endpoints.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::endpoint::Endpoint;

/// The endpoints that [`list`](super::list) has found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Listing {
    /// At most one per process, by ascending process id.
    pub found: Vec<Found>,
    /// The directories that were searched.
    pub searched: Vec<SearchedDirectory>,
    /// Files with the name of an endpoint that were not taken.
    pub rejected: Vec<Rejected>,
}

/// An endpoint and its process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Process id in the PID namespace of this process.
    pub pid: u32,
    /// The endpoint on which the runtime listens.
    pub endpoint: Endpoint,
    /// User id that owns the socket. `None` on Windows.
    pub owner_uid: Option<u32>,
}

/// A directory that was searched for sockets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchedDirectory {
    /// The directory. A path below `/proc/PID/root` is in the file system of that process.
    pub path: PathBuf,
    /// Why it could not be read. `None` if it could.
    pub problem: Option<io::ErrorKind>,
}

impl fmt::Display for SearchedDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)?;
        match self.problem {
            Some(problem) => write!(f, " ({problem})"),
            None => Ok(()),
        }
    }
}

/// A file with the name of an endpoint that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The file.
    pub path: PathBuf,
    /// Why it was not taken.
    pub reason: RejectReason,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

/// Why a file with the name of an endpoint was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// No process of that id is running. The socket is left over, or belongs to a container that shares the directory.
    #[error("process {pid} is not running")]
    ProcessEnded {
        /// Process id in the name.
        pid: u32,
    },
    /// The socket belongs to an earlier process with the same id: the start time in the name is not that of the
    /// process.
    #[error("left over from an earlier process: start time {found} in the name, {expected} expected")]
    StaleKey {
        /// Start time of the process, in the unit of this system.
        expected: u64,
        /// Start time in the name.
        found: u64,
    },
    /// Another socket of the same process id is newer.
    #[error("another socket of the same process id is newer")]
    Older,
    /// This user may not connect to the socket, because it may not write to it.
    #[error("belongs to user id {owner_uid}, and this user may not open it")]
    NotPermitted {
        /// Owner of the socket.
        owner_uid: u32,
    },
    /// The runtime still listens, but the file of the socket was removed, perhaps with old temporary files.
    #[error("the process listens here, but the socket's file was removed")]
    Removed,
    /// The path would be too long for a socket, so the runtime has no socket.
    #[error("the name has {length} bytes, a socket's can have {max}")]
    NameTooLong {
        /// Length of the path in bytes.
        length: usize,
        /// Longest possible path in bytes.
        max: usize,
    },
}
