//! Connections to a runtime: Unix domain sockets and Windows named pipes.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::endpoint::{Endpoint, PIPE_PREFIX};
use crate::error::{Error, Result};
use crate::sys;

#[cfg(unix)]
#[path = "unix.rs"]
mod imp;
#[cfg(windows)]
#[path = "windows.rs"]
mod imp;
mod peer;

pub(crate) use imp::{BoundName, RawListener};
pub use peer::Peer;

/// Parses a pipe name on Windows and after `\\.\pipe\`, and otherwise a path.
impl FromStr for Endpoint {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(if text.starts_with(PIPE_PREFIX) { Self::pipe(text) } else { imp::named(text) })
    }
}

impl Endpoint {
    pub(crate) async fn connect(&self) -> Result<Stream> {
        match imp::connect(self).await {
            Ok(stream) => Ok(Stream(stream)),
            Err(source) => Err(connect_error(self, source)),
        }
    }
}

/// Connects with the rights of a process, so that this process is not tricked into opening a socket in its own name. On
/// other systems than Linux it connects with this process's own rights.
///
/// # Errors
/// [`Error::Stale`], [`Error::PermissionDenied`] or [`Error::Io`].
pub(crate) async fn connect_as(process: &Arc<sys::Pin>, endpoint: &Endpoint) -> Result<Stream> {
    imp::connect_as(process, endpoint).await.map(Stream).map_err(|source| connect_error(endpoint, source))
}

/// The meaning of an error on connecting.
fn connect_error(endpoint: &Endpoint, source: io::Error) -> Error {
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

/// A connection to a runtime, for one command. Dropping it closes it.
pub struct Stream(imp::Stream);

impl Stream {
    /// A connection to a peer that sends these bytes and closes its end.
    #[cfg(feature = "fuzz")]
    pub(crate) async fn answering(bytes: &[u8]) -> io::Result<Self> {
        imp::answering(bytes).await.map(Self)
    }

    /// The process at the other end. `None` if the operating system does not say (Windows).
    pub fn peer(&self) -> Option<Peer> {
        imp::peer(&self.0)
    }

    pub(crate) fn new(stream: imp::Stream) -> Self {
        Self(stream)
    }

    /// Whether the peer has closed an idle connection. The peer must not send anything unasked.
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
