//! Unix domain sockets.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::{UnixListener, UnixStream};

use crate::endpoint::Endpoint;
use crate::error::{Error, Result};

use super::peer::Peer;

pub(crate) type Stream = UnixStream;

/// Longest path that fits the shortest `sun_path` in use, macOS's 104 bytes with its NUL.
const MAX_SUN_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Longest path accepted for a listener: below every platform's limit, with room for what a runtime may append.
/// At 108 bytes .NET 8 and 9 hang at their start.
const MAX_LISTENER_PATH: usize = 100;

pub(super) async fn connect(endpoint: &Endpoint) -> io::Result<Stream> {
    let Endpoint::Socket(path) = endpoint else {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "named pipes exist on Windows only"));
    };
    if path.as_os_str().len() > MAX_SUN_PATH
        && let Some((_directory, short)) = shorten(path)?
    {
        return UnixStream::connect(short).await;
    }
    UnixStream::connect(path).await
}

/// A path through `/proc/PID/root` can outgrow `sun_path` though the target's own fits; an open directory gives a
/// short name for it. The name is good for as long as the returned directory is open.
fn shorten(path: &Path) -> io::Result<Option<(File, PathBuf)>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    if !cfg!(target_os = "linux") {
        return Ok(None);
    }
    let directory = File::open(parent)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
    Ok(Some((directory, short)))
}

pub(super) fn peer(stream: &Stream) -> Option<Peer> {
    let told = stream.peer_cred().ok()?;
    // 0: a process in a namespace that this one cannot see into.
    let pid = told.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
    Some(Peer { pid, uid: told.uid() })
}

pub(super) fn owner_uid(endpoint: &Endpoint) -> Option<u32> {
    match endpoint {
        Endpoint::Socket(path) => fs::symlink_metadata(path).ok().map(|meta| meta.uid()),
        Endpoint::Pipe(_) => None,
    }
}

/// The file of a bound socket, removed once: on request, or when the last holder goes.
#[derive(Debug)]
pub(crate) struct BoundName {
    path: PathBuf,
    removed: AtomicBool,
}

impl BoundName {
    pub(crate) fn remove(&self) {
        if !self.removed.swap(true, Ordering::Relaxed) {
            // Nothing useful can be done about a failure here: the directory may be gone already.
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
        let Endpoint::Socket(path) = endpoint else {
            return Err(Error::io(
                format!("listening on {endpoint}"),
                io::Error::new(io::ErrorKind::Unsupported, "named pipes exist on Windows only"),
            ));
        };
        let length = path.as_os_str().len();
        if length > MAX_LISTENER_PATH {
            return Err(Error::PathTooLong {
                path: path.display().to_string(),
                length,
                max: MAX_LISTENER_PATH,
            });
        }
        let failed = |source| Error::io(format!("listening on {endpoint}"), source);
        let raw = Self {
            listener: UnixListener::bind(path).map_err(failed)?,
            name: Arc::new(BoundName { path: path.clone(), removed: AtomicBool::new(false) }),
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
}
