//! A pinned process: a later process with the same id is not taken for it.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::sys;
use crate::transport::{Stream, Transport};

/// A process, identified by its id and its start time, and on Linux by a pidfd.
///
/// On Windows, macOS and the BSDs the id alone identifies it.
#[derive(Clone)]
pub struct Pinned(Arc<sys::Pin>);

impl Pinned {
    /// Pins the process that has this id now.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none.
    pub fn new(pid: u32) -> io::Result<Self> {
        sys::Pin::new(pid).map(|pin| Self(Arc::new(pin)))
    }

    /// Pins the process that listens at an endpoint. `None` if the operating system does not tell which one that is.
    ///
    /// # Errors
    /// Those of [`Transport::connect`]; [`Error::Stale`] if the process has just ended.
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

    /// Runs work on a new thread that has the rights of the process: its user, its groups and no other capabilities.
    /// Wherever a path of the process leads, the work can do nothing there that the process's user could not do.
    ///
    /// Set a timeout: a file system of the process may never answer.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] if this process cannot get those rights, [`io::ErrorKind::NotFound`] if the
    /// process has ended, and the errors of the work.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub async fn run_as_user<R: Send + 'static>(
        &self,
        work: impl FnOnce(&sys::ProcessFiles) -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        sys::run_with(Arc::clone(&self.0), sys::RightsOf::Process, work).await
    }

    /// As [`run_as_user`](Self::run_as_user), but blocks the calling thread for at most `timeout`.
    ///
    /// # Errors
    /// Those of [`run_as_user`](Self::run_as_user), and [`io::ErrorKind::TimedOut`].
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn run_as_user_within<R: Send + 'static>(
        &self,
        timeout: std::time::Duration,
        work: impl FnOnce(&sys::ProcessFiles) -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        sys::run_as_user_within(Arc::clone(&self.0), timeout, work)
    }

    /// Connects with the rights of the process, so that this process is not tricked into opening a socket in its own
    /// name.
    async fn connect(&self, endpoint: &Endpoint) -> Result<Stream> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            if let Endpoint::Socket(path) = endpoint {
                let stream = sys::connect(&self.0, path).await.and_then(Stream::from_std);
                return stream.map_err(|e| crate::transport::connect_error(endpoint, e));
            }
        }
        endpoint.connect().await
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({})", self.pid())
    }
}

/// An endpoint, and the process that must listen there, if that is known.
///
/// If it is known, [`connect`](Transport::connect) fails for any other process with [`Error::Impostor`]. On Linux it
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

impl Transport for Dial {
    async fn connect(&self) -> Result<Stream> {
        let Some(process) = &self.process else {
            return self.endpoint.connect().await;
        };
        if process.check().is_err() {
            return Err(Error::Stale { endpoint: self.endpoint.clone() });
        }
        let stream = process.connect(&self.endpoint).await?;
        match stream.peer() {
            Some(peer) if !process.0.is_peer(peer.pid, peer.uid) => {
                Err(Error::Impostor { endpoint: self.endpoint.clone(), pid: peer.pid, uid: peer.uid })
            }
            _ => Ok(stream),
        }
    }
}
