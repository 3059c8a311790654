//! Byte streams to a runtime: Unix domain sockets and Windows named pipes.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::endpoint::Endpoint;
use crate::error::{Error, Result};

#[cfg(unix)]
#[path = "unix.rs"]
mod imp;
#[cfg(windows)]
#[path = "windows.rs"]
mod imp;

/// Whether a name without any prefix means a pipe (Windows) or a path (elsewhere).
pub(crate) const NAMES_ARE_PIPES: bool = imp::NAMES_ARE_PIPES;

pub(crate) use imp::{BoundName, RawListener};

/// A way to reach one runtime: each call yields a fresh connection, good for one command.
///
/// [`Endpoint`] dials; [`PortConnections`](crate::PortConnections) waits until the runtime has dialled again.
pub trait Transport: Send + Sync {
    /// Opens the next connection.
    ///
    /// # Errors
    /// [`Error::Stale`], [`Error::PermissionDenied`] or [`Error::Io`].
    fn connect(&self) -> impl Future<Output = Result<Stream>> + Send;
}

impl Transport for Endpoint {
    async fn connect(&self) -> Result<Stream> {
        match imp::connect(self).await {
            Ok(stream) => Ok(Stream(stream)),
            Err(source) => Err(connect_error(self, source)),
        }
    }
}

/// What it means that a connection could not be opened.
pub(crate) fn connect_error(endpoint: &Endpoint, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            Error::Stale { endpoint: endpoint.clone() }
        }
        io::ErrorKind::PermissionDenied => {
            Error::PermissionDenied { endpoint: endpoint.clone(), owner_uid: imp::owner_uid(endpoint) }
        }
        _ => Error::io(format!("connecting to {endpoint}"), source),
    }
}

/// A connection to a runtime, one command long. Dropping it closes it.
pub struct Stream(imp::Stream);

/// The process at the other end of a connection, as the operating system vouches for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its process id as this process sees it; `None` where the system does not tell.
    pub pid: Option<u32>,
    /// Its effective user id when it connected.
    pub uid: u32,
}

impl Stream {
    /// Who is at the other end; `None` where the operating system does not say (Windows).
    pub fn peer(&self) -> Option<Peer> {
        imp::peer(&self.0)
    }

    pub(crate) fn new(stream: imp::Stream) -> Self {
        Self(stream)
    }

    /// Whether the peer has closed an idle connection on which it never speaks first.
    pub(crate) fn has_ended(&self) -> bool {
        let mut byte = [0];
        match self.0.try_read(&mut byte) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
