//! Windows named pipes.
#![expect(unsafe_code, reason = "the system's calls have no safe binding")]

use std::io;
use std::os::windows::io::AsRawHandle;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer};
use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_PIPE_BUSY, ERROR_PIPE_NOT_CONNECTED};
use windows_sys::Win32::System::Pipes::{GetNamedPipeClientProcessId, GetNamedPipeServerProcessId};

use crate::endpoint::{Endpoint, PIPE_PREFIX};
use crate::error::{Error, Result};
use crate::sys;
use crate::sys::public::PipeAccess;

use super::peer::Peer;

const BUSY_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Either end of a pipe. A pipe that breaks reads as an end of file here.
#[derive(Debug)]
pub(crate) enum Stream {
    Client(NamedPipeClient),
    Server(NamedPipeServer),
}

/// Does the same with either end.
macro_rules! either {
    ($stream:expr, $pipe:ident => $result:expr) => {
        match $stream {
            Stream::Client($pipe) => $result,
            Stream::Server($pipe) => $result,
        }
    };
}

fn full_name(endpoint: &Endpoint) -> io::Result<String> {
    match endpoint {
        Endpoint::Pipe(name) => Ok(format!("{PIPE_PREFIX}{name}")),
        Endpoint::Socket(_) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "runtimes on Windows listen on named pipes only"))
        }
    }
}

/// The names of runtimes' endpoints are those of pipes.
pub(super) fn named(text: &str) -> Endpoint {
    Endpoint::pipe(text)
}

pub(super) async fn connect_as(_process: &Arc<sys::Pin>, endpoint: &Endpoint) -> io::Result<Stream> {
    connect(endpoint).await
}

#[cfg(feature = "fuzz")]
pub(super) async fn answering(_bytes: &[u8]) -> io::Result<Stream> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) async fn connect(endpoint: &Endpoint) -> io::Result<Stream> {
    let name = full_name(endpoint)?;
    loop {
        match ClientOptions::new().open(&name) {
            Ok(pipe) => return Ok(Stream::Client(pipe)),
            // Every instance is in use. The deadline of the caller bounds the waiting.
            Err(error) if is(&error, ERROR_PIPE_BUSY) => tokio::time::sleep(BUSY_RETRY_INTERVAL).await,
            Err(error) => return Err(error),
        }
    }
}

pub(super) fn peer(stream: &Stream) -> Option<Peer> {
    let mut pid = 0;
    // SAFETY: the pipe is open, and `pid` can be written.
    let ok = unsafe {
        match stream {
            Stream::Client(pipe) => GetNamedPipeServerProcessId(pipe.as_raw_handle(), &raw mut pid),
            Stream::Server(pipe) => GetNamedPipeClientProcessId(pipe.as_raw_handle(), &raw mut pid),
        }
    };
    (ok != 0 && pid != 0).then_some(Peer { pid: Some(pid), uid: 0 })
}

pub(super) fn owner_uid(_: &Endpoint) -> Option<u32> {
    None
}

fn is(error: &io::Error, code: u32) -> bool {
    error.raw_os_error() == Some(code.cast_signed())
}

fn is_end(error: &io::Error) -> bool {
    is(error, ERROR_BROKEN_PIPE) || is(error, ERROR_PIPE_NOT_CONNECTED)
}

impl Stream {
    pub(super) fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        let result = either!(self, pipe => pipe.try_read(buf));
        result.or_else(|error| if is_end(&error) { Ok(0) } else { Err(error) })
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let polled = either!(self.get_mut(), pipe => Pin::new(pipe).poll_read(cx, buf));
        polled.map(|result| result.or_else(|error| if is_end(&error) { Ok(()) } else { Err(error) }))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), pipe => Pin::new(pipe).poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), pipe => Pin::new(pipe).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), pipe => Pin::new(pipe).poll_shutdown(cx))
    }
}

/// The name of a pipe. It disappears with the last instance of the pipe.
#[derive(Debug)]
pub(crate) struct BoundName;

impl BoundName {
    pub(crate) fn remove(&self) {}
}

/// A pipe of which one instance always waits for the next runtime.
#[derive(Debug)]
pub(crate) struct RawListener {
    name: String,
    access: PipeAccess,
    waiting: NamedPipeServer,
}

impl RawListener {
    pub(crate) fn bind(endpoint: &Endpoint) -> Result<Self> {
        let create = || -> io::Result<Self> {
            let name = full_name(endpoint)?;
            let access = PipeAccess::own_user()?;
            // Fails if another process already has a pipe of this name.
            let waiting = access.create(&name, true)?;
            Ok(Self { name, access, waiting })
        };
        create().map_err(|source| Error::io(format!("listening on {endpoint}"), source))
    }

    pub(crate) fn name(&self) -> Arc<BoundName> {
        Arc::new(BoundName)
    }

    pub(crate) async fn accept(&mut self) -> io::Result<Stream> {
        self.waiting.connect().await?;
        let next = self.access.create(&self.name, false)?;
        let connected = std::mem::replace(&mut self.waiting, next);
        Ok(Stream::Server(connected))
    }

    /// Whether accepting can work again later. Pipes have no such error.
    pub(crate) fn can_go_on_after(_error: &io::Error) -> bool {
        false
    }
}
