//! A process that is held on to: another one that gets its id later is never taken for it.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::sys;
use crate::transport::{Stream, Transport};

/// A process, pinned by its id and its start (on Linux by a pidfd, too).
#[derive(Clone)]
pub struct Pinned(Arc<sys::Pin>);

impl Pinned {
    /// The process that has this id now.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] where there is none.
    pub fn new(pid: u32) -> io::Result<Self> {
        sys::Pin::new(pid).map(|pin| Self(Arc::new(pin)))
    }

    /// The process that listens at an endpoint; `None` where the operating system does not say.
    ///
    /// # Errors
    /// Nobody listens there, or it ended at once.
    pub async fn behind(endpoint: &Endpoint) -> Result<Option<Self>> {
        let pid = endpoint.connect().await?.peer().and_then(|peer| peer.pid);
        pid.map(Self::new).transpose().map_err(|_| Error::Stale { endpoint: endpoint.clone() })
    }

    /// Its id, as this process sees it.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when it has ended, whoever has its id now.
    pub fn check(&self) -> io::Result<()> {
        self.0.check()
    }

    /// How to reach its runtime at an endpoint that [`discovery`](crate::discovery) has found.
    pub fn dial(&self, endpoint: Endpoint) -> Dial {
        Dial { endpoint, process: Some(self.clone()) }
    }

    /// Works in the process's directories with that process's own rights, on a thread of its own: whatever paths it
    /// leads to, nothing happens there that its user could not do. Set a limit: its file system may never answer.
    ///
    /// # Errors
    /// Where this process may not take those rights or the process has ended, and those of the work.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub async fn act<R: Send + 'static>(
        &self,
        work: impl FnOnce(&sys::Inside) -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        sys::act(Arc::clone(&self.0), sys::With::Theirs, work).await
    }

    /// The same for one who cannot wait asynchronously, with a limit.
    ///
    /// # Errors
    /// Those of [`act`](Self::act), and [`io::ErrorKind::TimedOut`].
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn act_within<R: Send + 'static>(
        &self,
        limit: std::time::Duration,
        work: impl FnOnce(&sys::Inside) -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        sys::act_within(Arc::clone(&self.0), limit, work)
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({})", self.pid())
    }
}

/// The way to a runtime. Where its process is known, a connection is that process's or an error: on Linux it is opened
/// with that process's rights, so that a socket which only this user may open is not opened in its name.
#[derive(Debug, Clone)]
pub struct Dial {
    endpoint: Endpoint,
    process: Option<Pinned>,
}

impl Dial {
    /// Where it leads.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The process behind it, where that is known.
    pub fn process(&self) -> Option<&Pinned> {
        self.process.as_ref()
    }
}

/// An endpoint that was named by its address: whoever listens there is meant.
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
        let stream = sys::connect(&process.0, &self.endpoint).await?;
        match stream.peer() {
            Some(peer) if !process.0.is(&peer) => {
                Err(Error::Impostor { endpoint: self.endpoint.clone(), pid: peer.pid, uid: peer.uid })
            }
            _ => Ok(stream),
        }
    }
}
