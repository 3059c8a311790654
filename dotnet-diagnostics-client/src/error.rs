//! What can go wrong between this client and a runtime.

use std::io;
use std::time::Duration;

use crate::discovery::NotFound;
use crate::endpoint::Endpoint;
use crate::hresult::HResult;
use crate::message::{InvalidRequest, ProtocolError};

/// Result of this crate's IPC operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on a diagnostics endpoint failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something that has no variant of its own.
    #[error("{action} failed")]
    Io {
        /// What was being done, as a noun phrase: "connecting to /tmp/…".
        action: String,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// Nobody listens there: the socket is left over from a process that was killed, or the pipe is gone.
    #[error("nothing listens on {endpoint}: its process has ended")]
    Stale {
        /// The endpoint that was tried.
        endpoint: Endpoint,
    },
    /// This user may not open the endpoint. Only the target's own user and the administrator may.
    #[error("not permitted to open {endpoint}{}", owner_suffix(*.owner_uid))]
    PermissionDenied {
        /// The endpoint that was tried.
        endpoint: Endpoint,
        /// User id that owns the socket file, where it could be read.
        owner_uid: Option<u32>,
    },
    /// Somebody else listens where the process's runtime should: nothing was sent.
    #[error("{} listens on {endpoint}, not the process that was asked for", peer_name(*.pid, *.uid))]
    Impostor {
        /// The endpoint that was tried.
        endpoint: Endpoint,
        /// Who listens there, if that process can be seen.
        pid: Option<u32>,
        /// Whose process it is.
        uid: u32,
    },
    /// The runtime did not answer in time. It serves one connection at a time, so another tool may hold it.
    #[error("no answer to {operation} within {} s", .after.as_secs_f64())]
    Timeout {
        /// The command, or "connect".
        operation: &'static str,
        /// The deadline that passed.
        after: Duration,
    },
    /// The connection ended before the answer was complete; usually the process has just ended.
    #[error("the connection ended before {operation} was answered: the process has probably ended")]
    Closed {
        /// The command.
        operation: &'static str,
    },
    /// The peer's bytes are not the diagnostics protocol.
    #[error("the answer to {operation} is not understood")]
    Protocol {
        /// The command.
        operation: &'static str,
        /// What is wrong with the bytes.
        #[source]
        source: ProtocolError,
    },
    /// The request was refused here, before anything was sent.
    #[error("invalid {operation} request")]
    InvalidRequest {
        /// The command.
        operation: &'static str,
        /// The value that is not valid.
        #[source]
        source: InvalidRequest,
    },
    /// The runtime answered with an error code.
    #[error("{operation} was refused by the runtime: {code}")]
    Runtime {
        /// The command.
        operation: &'static str,
        /// The runtime's, or for AttachProfiler the profiler's, code.
        code: HResult,
    },
    /// No endpoint was found for a process.
    #[error(transparent)]
    NotFound(#[from] Box<NotFound>),
    /// The path of a socket is longer than runtimes accept.
    #[error("{path}: a socket path may have {max} bytes at most, this one has {length}")]
    PathTooLong {
        /// The path.
        path: String,
        /// Its length in bytes.
        length: usize,
        /// The longest allowed.
        max: usize,
    },
}

fn owner_suffix(owner_uid: Option<u32>) -> String {
    owner_uid.map_or_else(String::new, |uid| format!(": it belongs to user id {uid}"))
}

fn peer_name(pid: Option<u32>, uid: u32) -> String {
    pid.map_or_else(|| format!("a process of user id {uid}"), |pid| format!("process {pid} of user id {uid}"))
}

impl Error {
    /// The code with which the runtime refused, if it did.
    pub fn hresult(&self) -> Option<HResult> {
        match self {
            Self::Runtime { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the operation failed for want of permission.
    pub fn is_permission_denied(&self) -> bool {
        match self {
            Self::PermissionDenied { .. } => true,
            Self::NotFound(not_found) => not_found.is_permission_denied(),
            Self::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// Whether this is the runtime's way to say that it is too old for the command.
    pub fn is_unknown_command(&self) -> bool {
        self.hresult() == Some(HResult::UNKNOWN_COMMAND)
    }

    pub(crate) fn io(action: impl Into<String>, source: io::Error) -> Self {
        Self::Io { action: action.into(), source }
    }
}
