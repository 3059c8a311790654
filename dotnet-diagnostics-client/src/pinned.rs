//! A pinned process: a later process with the same id is not taken for it.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::sys;
use crate::transport::{self, Stream};

/// A process, identified by its id and its start time, and on Linux by a pidfd.
///
/// On Windows, macOS and the BSDs the id alone identifies it.
#[derive(Clone)]
pub struct Pinned(pub(crate) Arc<sys::Pin>);

impl Pinned {
    /// Pins the process that has this id now.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none.
    pub fn new(pid: u32) -> io::Result<Self> {
        sys::Pin::new(pid).map(|pin| Self(Arc::new(pin)))
    }

    /// Pins the process that listens at an endpoint. Cancel safe. `None` if the operating system does not tell which one that is.
    ///
    /// # Errors
    /// [`Error::PermissionDenied`] or [`Error::Io`]; [`Error::Stale`] if the process has ended.
    pub async fn behind(endpoint: &Endpoint) -> Result<Option<Self>> {
        let pid = endpoint.connect().await?.peer().and_then(|peer| peer.pid);
        pid.map(Self::new).transpose().map_err(|_| Error::Stale { endpoint: endpoint.clone() })
    }

    /// The id of the process, as this process sees it.
    pub fn pid(&self) -> u32 {
        self.0.pid
    }

    /// Checks that the process still runs.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if it has ended, even if another process has its id now.
    pub fn check(&self) -> io::Result<()> {
        self.0.check()
    }

    /// The way to the runtime of this process at an endpoint that [`discovery`](crate::discovery) has found.
    pub fn dial(&self, endpoint: Endpoint) -> Dial {
        Dial { endpoint, process: Some(self.clone()) }
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({})", self.pid())
    }
}

/// An endpoint, and the process that must listen there, if that is known.
///
/// If it is known, every command fails for any other process with [`Error::Impostor`]. On Linux it
/// connects with the rights of that process.
#[derive(Debug, Clone)]
pub struct Dial {
    endpoint: Endpoint,
    process: Option<Pinned>,
}

impl Dial {
    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The process that must listen there. `None` if any may.
    pub fn process(&self) -> Option<&Pinned> {
        self.process.as_ref()
    }
}

/// For an endpoint that the user has named: whichever process listens there is meant.
impl From<Endpoint> for Dial {
    fn from(endpoint: Endpoint) -> Self {
        Self { endpoint, process: None }
    }
}

impl Dial {
    pub(crate) async fn connect(&self) -> Result<Stream> {
        let Some(process) = &self.process else {
            return self.endpoint.connect().await;
        };
        if process.check().is_err() {
            return Err(Error::Stale { endpoint: self.endpoint.clone() });
        }
        let stream = transport::connect_as(&process.0, &self.endpoint).await?;
        match stream.peer() {
            Some(peer) if !process.0.is_peer(peer.pid, peer.uid) => {
                Err(Error::Impostor { endpoint: self.endpoint.clone(), pid: peer.pid, uid: peer.uid })
            }
            _ => Ok(stream),
        }
    }
}
