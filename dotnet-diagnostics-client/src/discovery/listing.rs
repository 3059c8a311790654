//! What a search for endpoints finds.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::endpoint::Endpoint;

/// All endpoints found, and what was found and is none.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Listing {
    /// One for each process, by ascending process id.
    pub found: Vec<Found>,
    /// Where was looked.
    pub searched: Vec<SearchedDirectory>,
    /// Sockets that belong to no running process, and the like.
    pub rejected: Vec<Rejected>,
}

/// An endpoint and the process behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Process id as this process sees it.
    pub pid: u32,
    /// Where its runtime listens.
    pub endpoint: Endpoint,
    /// User id that owns the socket, where there is such a thing.
    pub owner_uid: Option<u32>,
}

/// A directory in which sockets were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchedDirectory {
    /// The directory; beginning with `/proc/PID/root` it is seen through that process's eyes.
    pub path: PathBuf,
    /// Why it could not be read, if it could not.
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

/// Something that looks like an endpoint and is not, or not for us.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The candidate.
    pub path: PathBuf,
    /// Why it was not taken.
    pub reason: Rejection,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

/// Why a candidate was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// No process of that id runs here. The socket is left over, or belongs to a container that shares the directory.
    #[error("process {pid} is not running")]
    ProcessEnded {
        /// Process id in the name.
        pid: u32,
    },
    /// The process id was used again since: the start time in the name is not this process's.
    #[error("left over from an earlier process: start time {found} in the name, {expected} expected")]
    StaleKey {
        /// Start time of the process, in clock ticks since boot.
        expected: u64,
        /// Start time in the name.
        found: u64,
    },
    /// Another socket of the same process id is newer.
    #[error("another socket of the same process id is newer")]
    Older,
    /// This user may not write to the socket, and so not connect.
    #[error("belongs to user id {owner_uid}, and this user may not open it")]
    NotPermitted {
        /// Owner of the socket.
        owner_uid: u32,
    },
    /// The runtime still listens, but something has removed the socket's file, a cleaner of temporary files perhaps.
    #[error("the process listens here, but the socket's file was removed")]
    Removed,
    /// The name would be too long for a socket, so the runtime has none.
    #[error("the name has {length} bytes, a socket's can have {max}")]
    NameTooLong {
        /// Length of the full name in bytes.
        length: usize,
        /// The most possible.
        max: usize,
    },
}
