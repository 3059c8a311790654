//! Errors of the diagnostics IPC.

use std::io;
use std::time::Duration;

use crate::discovery::{NotFound, owner_suffix};
use crate::endpoint::Endpoint;
use crate::hresult::HResult;
use crate::message::{InvalidRequest, Operation, ProtocolError};

/// Result of the diagnostics IPC.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on a diagnostics endpoint failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the operating system that has no variant of its own.
    #[error("{action} failed")]
    Io {
        /// What failed, for example "connecting to /tmp/…".
        action: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Nothing listens on the endpoint. The socket is left over from a process that was killed, or does not exist.
    #[error("nothing listens on {endpoint}: its process has ended")]
    Stale {
        /// The endpoint that was tried.
        endpoint: Endpoint,
    },
    /// This user may not open the endpoint. Only the user of the target and the administrator may.
    #[error("not permitted to open {endpoint}{}", owner_suffix(*.owner_uid))]
    PermissionDenied {
        /// The endpoint that was tried.
        endpoint: Endpoint,
        /// User id that owns the socket, if known.
        owner_uid: Option<u32>,
    },
    /// Another process than the expected one listens on the endpoint. Nothing was sent to it.
    #[error("{} listens on {endpoint}, not the process that was asked for", peer_name(*.pid, *.uid))]
    Impostor {
        /// The endpoint that was tried.
        endpoint: Endpoint,
        /// Id of the process that listens, if this process can see it.
        pid: Option<u32>,
        /// User id of that process.
        uid: u32,
    },
    /// The runtime did not answer in time. It serves one connection at a time, and another tool may hold that.
    #[error("no answer to {operation} within {} s", .after.as_secs_f64())]
    Timeout {
        /// What it was asked.
        operation: Operation,
        /// The timeout.
        after: Duration,
    },
    /// The connection ended before the answer was complete, usually because the process has ended.
    #[error("the connection ended before {operation} was answered: the process has probably ended")]
    Closed {
        /// The command.
        operation: Operation,
    },
    /// The answer does not follow the diagnostics protocol.
    #[error("the answer to {operation} is not understood")]
    Protocol {
        /// The command.
        operation: Operation,
        /// What is wrong with the answer.
        #[source]
        source: ProtocolError,
    },
    /// The request has an invalid value, so it was not sent.
    #[error("invalid {operation} request")]
    InvalidRequest {
        /// The command.
        operation: Operation,
        /// The invalid value.
        #[source]
        source: InvalidRequest,
    },
    /// The runtime answered with an error code.
    #[error("{operation} was refused by the runtime: {code}{}", after(.text.as_deref()))]
    Runtime {
        /// The command.
        operation: Operation,
        /// The code of the runtime, or for AttachProfiler possibly that of the profiler.
        code: HResult,
        /// What the runtime says about it. Only WriteCoreDump3 has a text.
        text: Option<String>,
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
        /// The longest path allowed, in bytes.
        max: usize,
    },
}

/// The runtime chooses the text, so it is quoted and escaped.
fn after(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!(": {text:?}"))
}

fn peer_name(pid: Option<u32>, uid: u32) -> String {
    pid.map_or_else(|| format!("a process of user id {uid}"), |pid| format!("process {pid} of user id {uid}"))
}

impl Error {
    /// The error code of the runtime, for [`Error::Runtime`].
    pub fn hresult(&self) -> Option<HResult> {
        match self {
            Self::Runtime { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the operation failed because of missing permissions.
    pub fn is_permission_denied(&self) -> bool {
        match self {
            Self::PermissionDenied { .. } => true,
            Self::NotFound(not_found) => not_found.is_permission_denied(),
            Self::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// Whether the runtime is too old to know the command.
    pub fn is_unknown_command(&self) -> bool {
        self.hresult() == Some(HResult::UNKNOWN_COMMAND)
    }

    pub(crate) fn io(action: impl Into<String>, source: io::Error) -> Self {
        Self::Io { action: action.into(), source }
    }
}
