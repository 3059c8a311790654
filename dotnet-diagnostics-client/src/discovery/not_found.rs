//! Why a process has no endpoint.

use std::io;
use std::path::PathBuf;

use crate::process_status::ProcessStatus;
use crate::sys;

use super::listing::{RejectReason, Rejected, SearchedDirectory};

/// A process has no endpoint that can be used, with what is known about the reason.
#[derive(Debug, Clone, thiserror::Error)]
#[error("process {pid} cannot be reached: {}", self.reason())]
#[non_exhaustive]
pub struct NotFound {
    /// The process that was asked for.
    pub pid: u32,
    /// What the operating system says about it.
    pub facts: ProcessStatus,
    /// The directories that were searched.
    pub searched: Vec<SearchedDirectory>,
    /// Files with the name of an endpoint that were not taken.
    pub rejected: Vec<Rejected>,
}

/// The most likely reason why a process has no endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotFoundReason {
    /// The process does not exist.
    #[error("there is no such process")]
    NoSuchProcess,
    /// This user may not inspect the process, or not open its socket.
    #[error("not permitted{}", owner_suffix(*.owner_uid))]
    NotPermitted {
        /// User id that owns the process or its socket, if known.
        owner_uid: Option<u32>,
    },
    /// The environment of the process switches diagnostics off.
    #[error("its environment switches diagnostics off: {variable}=0")]
    Disabled {
        /// Name of the variable.
        variable: String,
    },
    /// No .NET runtime is loaded in the process, or not yet.
    #[error("no .NET runtime is loaded in it")]
    NotDotnet,
    /// The file of the socket was removed while the process is running.
    #[error("its socket {} was removed while it runs", .path.display())]
    SocketRemoved {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The directory for sockets cannot be used, so the runtime has no socket.
    #[error("its directory for temporary files, {directory}, cannot be used")]
    BadDirectory {
        /// The directory.
        directory: SearchedDirectory,
    },
    /// The path of the socket would be too long, so the runtime has no socket.
    #[error("its directory for temporary files is too long for a socket: {} would have {length} bytes", .path.display())]
    NameTooLong {
        /// The path that would be needed.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// There is no socket, and no known reason for that.
    #[error("it has no diagnostics socket")]
    NoSocket,
}

pub(crate) fn owner_suffix(owner_uid: Option<u32>) -> String {
    owner_uid.map_or_else(String::new, |uid| format!(": it belongs to user id {uid}"))
}

impl NotFound {
    /// The most likely reason, derived from the fields.
    pub fn reason(&self) -> NotFoundReason {
        if !self.facts.exists {
            return NotFoundReason::NoSuchProcess;
        }
        for rejected in &self.rejected {
            match rejected.reason {
                RejectReason::NotPermitted { owner_uid } => {
                    return NotFoundReason::NotPermitted { owner_uid: Some(owner_uid) };
                }
                RejectReason::Removed => {
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
        // Without environment and mappings, no reason can be derived from them.
        let readable = sys::HIDES_OWN_ENVIRONMENT && self.facts.command_line.is_some();
        let unreadable = self.facts.environ.is_none() && !self.facts.mappings_readable && !readable;
        if self.searched.iter().any(hidden) || (self.facts.uid.is_some() && unreadable) {
            return NotFoundReason::NotPermitted { owner_uid: self.facts.uid };
        }
        for rejected in &self.rejected {
            if let RejectReason::NameTooLong { length, .. } = rejected.reason {
                return NotFoundReason::NameTooLong { path: rejected.path.clone(), length };
            }
        }
        match self.searched.iter().find(|dir| dir.problem.is_some()) {
            Some(directory) => NotFoundReason::BadDirectory { directory: directory.clone() },
            None => NotFoundReason::NoSocket,
        }
    }

    /// Whether the reason is [`NotFoundReason::NotPermitted`].
    pub fn is_permission_denied(&self) -> bool {
        matches!(self.reason(), NotFoundReason::NotPermitted { .. })
    }
}
