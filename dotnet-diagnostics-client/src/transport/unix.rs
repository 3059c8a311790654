//! Unix domain sockets.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use tokio::net::{UnixListener, UnixStream};

use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::sys::{self, MAX_SOCKET_PATH};

use super::peer::Peer;

pub(crate) type Stream = UnixStream;

/// Longest path for a listener. With 108 bytes, .NET 8 and 9 hang at their start.
const MAX_LISTENER_PATH: usize = 100;

fn socket_path(endpoint: &Endpoint) -> io::Result<&Path> {
    match endpoint {
        Endpoint::Socket(path) => Ok(path),
        Endpoint::Pipe(_) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "named pipes exist on Windows only"))
        }
    }
}

pub(super) async fn connect(endpoint: &Endpoint) -> io::Result<Stream> {
    let path = socket_path(endpoint)?;
    if path.as_os_str().len() > MAX_SOCKET_PATH
        && let Some((_directory, short)) = shorten(path)?
    {
        return UnixStream::connect(short).await;
    }
    UnixStream::connect(path).await
}

/// Without a prefix every name is a path.
pub(super) fn named(text: &str) -> Endpoint {
    Endpoint::socket(text)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) async fn connect_as(process: &Arc<sys::Pin>, endpoint: &Endpoint) -> io::Result<Stream> {
    let stream = sys::connect(process, socket_path(endpoint)?).await?;
    stream.set_nonblocking(true)?;
    Stream::from_std(stream)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) async fn connect_as(_process: &Arc<sys::Pin>, endpoint: &Endpoint) -> io::Result<Stream> {
    connect(endpoint).await
}

#[cfg(feature = "fuzz")]
pub(super) async fn answering(bytes: &[u8]) -> io::Result<Stream> {
    let (near, mut far) = UnixStream::pair()?;
    // Any answer fits into the buffer of the socket.
    far.try_write(bytes)?;
    tokio::io::AsyncWriteExt::shutdown(&mut far).await.map(|()| near)
}

/// Through `/proc/PID/root` a path can become too long for `sun_path`. An open directory gives it a short name, which
/// is valid as long as the returned directory is open.
fn shorten(path: &Path) -> io::Result<Option<(File, PathBuf)>> {
    let (true, Some(parent), Some(name)) = (cfg!(target_os = "linux"), path.parent(), path.file_name())
    else {
        return Ok(None);
    };
    let directory = File::open(parent)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
    Ok(Some((directory, short)))
}

pub(super) fn peer(stream: &Stream) -> Option<Peer> {
    let credentials = stream.peer_cred().ok()?;
    // 0: the process is in a PID namespace that this process cannot see.
    let pid = credentials.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
    Some(Peer { pid, uid: credentials.uid() })
}

pub(super) fn owner_uid(endpoint: &Endpoint) -> Option<u32> {
    fs::symlink_metadata(socket_path(endpoint).ok()?).ok().map(|meta| meta.uid())
}

/// The file of a bound socket. It is removed on request, or when this is dropped.
#[derive(Debug)]
pub(crate) struct BoundName {
    path: PathBuf,
    removed: AtomicBool,
}

impl BoundName {
    pub(crate) fn remove(&self) {
        if !self.removed.swap(true, Ordering::Relaxed) {
            // An error has no consequence: the directory may already have been removed.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for BoundName {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A bound socket.
#[derive(Debug)]
pub(crate) struct RawListener {
    listener: UnixListener,
    name: Arc<BoundName>,
}

impl RawListener {
    pub(crate) fn bind(endpoint: &Endpoint) -> Result<Self> {
        let failed = |source| Error::io(format!("listening on {endpoint}"), source);
        let path = socket_path(endpoint).map_err(failed)?;
        let length = path.as_os_str().len();
        if length > MAX_LISTENER_PATH {
            return Err(Error::PathTooLong {
                path: path.display().to_string(),
                length,
                max: MAX_LISTENER_PATH,
            });
        }
        let raw = Self {
            listener: UnixListener::bind(path).map_err(failed)?,
            name: Arc::new(BoundName { path: path.to_owned(), removed: AtomicBool::new(false) }),
        };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(raw)
    }

    pub(crate) fn name(&self) -> Arc<BoundName> {
        Arc::clone(&self.name)
    }

    pub(crate) async fn accept(&mut self) -> io::Result<Stream> {
        let (stream, _) = self.listener.accept().await?;
        Ok(stream)
    }

    /// Whether accepting can work again later: there are too many open files, or the peer has gone already.
    pub(crate) fn can_go_on_after(error: &io::Error) -> bool {
        matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::CONNABORTED))
    }
}
