//! Finding the endpoints of runtimes, and telling where was looked when there is none.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::endpoint::Endpoint;
use crate::process::ProcessFacts;
use crate::sys;

/// Finds the default endpoint of a process. Nothing is connected to.
///
/// On Linux the name is exact: directory and process id as the target sees them (its `TMPDIR`, its namespaces), and
/// its start time. Elsewhere on Unix the newest socket of that process id is taken.
///
/// # Errors
/// [`NotFound`] with everything that was looked at.
pub fn find(pid: u32) -> Result<Endpoint, Box<NotFound>> {
    sys::find(pid).map(|found| found.endpoint)
}

/// Finds the default endpoints of all runtimes on this machine that this user can see. Nothing is connected to, so an
/// endpoint may turn out to be stale or forbidden.
///
/// Routers for remote devices (`dotnet-dsrouter`) are no .NET processes and left out.
pub fn list() -> Listing {
    sys::list()
}

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

/// A process has no endpoint that can be used. Carries what is needed to say why.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NotFound {
    /// The process that was asked for.
    pub pid: u32,
    /// What is known of it.
    pub facts: ProcessFacts,
    /// Where was looked.
    pub searched: Vec<SearchedDirectory>,
    /// What was found and not taken.
    pub rejected: Vec<Rejected>,
}

/// The most likely reason for [`NotFound`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotFoundReason {
    /// The process does not exist.
    #[error("there is no such process")]
    NoSuchProcess,
    /// This user may not look at the process, or not open its socket.
    #[error("not permitted{}", owner_suffix(*.owner_uid))]
    NotPermitted {
        /// Who owns the process or its socket.
        owner_uid: Option<u32>,
    },
    /// Diagnostics were switched off by the environment.
    #[error("its environment switches diagnostics off: {variable}=0")]
    Disabled {
        /// The variable.
        variable: String,
    },
    /// No .NET runtime is loaded in the process: not a .NET process, or not one yet.
    #[error("no .NET runtime is loaded in it")]
    NotDotnet,
    /// The socket's file was removed while the process ran.
    #[error("its socket {} was removed while it runs", .path.display())]
    SocketRemoved {
        /// Where it was.
        path: PathBuf,
    },
    /// The directory for sockets does not exist or cannot be used, so the runtime has none.
    #[error("its directory for temporary files, {directory}, cannot be used")]
    BadDirectory {
        /// The directory.
        directory: SearchedDirectory,
    },
    /// The name of the socket would be too long, so the runtime has none.
    #[error("its directory for temporary files is too long for a socket: {} would have {length} bytes", .path.display())]
    NameTooLong {
        /// The name that would be needed.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// There is no socket, and nothing that explains it.
    #[error("it has no diagnostics socket")]
    NoSocket,
}

fn owner_suffix(owner_uid: Option<u32>) -> String {
    owner_uid.map_or_else(String::new, |uid| format!(": it belongs to user id {uid}"))
}

impl NotFound {
    /// The most likely reason.
    pub fn reason(&self) -> NotFoundReason {
        if !self.facts.exists {
            return NotFoundReason::NoSuchProcess;
        }
        for rejected in &self.rejected {
            match rejected.reason {
                Rejection::NotPermitted { owner_uid } => {
                    return NotFoundReason::NotPermitted { owner_uid: Some(owner_uid) };
                }
                Rejection::Removed => {
                    return NotFoundReason::SocketRemoved { path: rejected.path.clone() };
                }
                _ => {}
            }
        }
        if let Some(variable) = self.facts.ipc_disabled_by() {
            return NotFoundReason::Disabled { variable };
        }
        if self.facts.mappings_readable && self.facts.runtime_library.is_none() {
            return NotFoundReason::NotDotnet;
        }
        let hidden = |dir: &SearchedDirectory| dir.problem == Some(io::ErrorKind::PermissionDenied);
        if self.searched.iter().any(hidden) || self.is_hidden_by_owner() {
            return NotFoundReason::NotPermitted { owner_uid: self.facts.uid };
        }
        for rejected in &self.rejected {
            if let Rejection::NameTooLong { length, .. } = rejected.reason {
                return NotFoundReason::NameTooLong { path: rejected.path.clone(), length };
            }
        }
        match self.searched.iter().find(|dir| dir.problem.is_some()) {
            Some(directory) => NotFoundReason::BadDirectory { directory: directory.clone() },
            None => NotFoundReason::NoSocket,
        }
    }

    /// Whether environment and mappings were kept from us, so that nothing can be said about the process.
    fn is_hidden_by_owner(&self) -> bool {
        self.facts.uid.is_some() && self.facts.environ.is_none() && !self.facts.mappings_readable
    }

    /// Whether more rights could help.
    pub fn is_permission_denied(&self) -> bool {
        matches!(self.reason(), NotFoundReason::NotPermitted { .. })
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} cannot be reached: {}", self.pid, self.reason())
    }
}

impl std::error::Error for NotFound {}
