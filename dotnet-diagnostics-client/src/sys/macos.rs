//! macOS and the BSDs: without `/proc` only little can be said, and the newest socket stands for a process's own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::endpoint::Endpoint;
use crate::error::Result;
use crate::process::ProcessFacts;
use crate::transport::{Peer, Stream, Transport};

use super::unix::{View, ViewedDirectory};

pub(crate) fn exists(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM))
}

pub(crate) fn pids() -> Vec<u32> {
    Vec::new()
}

pub(crate) fn cpu_ticks(_pid: u32) -> Option<u64> {
    None
}

pub(crate) fn is_stopped(_pid: u32) -> bool {
    false
}

pub(crate) fn children(_pid: u32) -> Vec<u32> {
    Vec::new()
}

pub(crate) fn uid(_pid: u32) -> Option<u32> {
    None
}

pub(crate) fn environ(_pid: u32) -> Option<Vec<(OsString, OsString)>> {
    None
}

pub(crate) fn has_variable(_pid: u32, _name: &str, _wanted: impl FnMut(&OsStr) -> bool) -> bool {
    false
}

pub(crate) fn facts(pid: u32) -> ProcessFacts {
    ProcessFacts { pid, exists: exists(pid), ..ProcessFacts::default() }
}

/// The key is the start time in seconds, which only a system call without a safe binding would tell.
pub(super) fn start_key(_pid: u32) -> Option<u64> {
    None
}

/// `TMPDIR` is a directory of the user's own on macOS, so another user's process is not found this way.
pub(super) fn shared_directories() -> Vec<PathBuf> {
    let mut directories = vec![std::env::temp_dir()];
    if directories[0] != Path::new("/tmp") {
        directories.push("/tmp".into());
    }
    directories
}

pub(super) fn view(pid: u32) -> View {
    View {
        socket_pid: pid,
        key: None,
        directories: shared_directories()
            .into_iter()
            .map(|here| ViewedDirectory { there: here.clone(), here })
            .collect(),
    }
}

/// There is no list of processes to look for others in.
#[derive(Debug)]
pub(super) struct Standpoint;

impl Standpoint {
    pub(super) fn own() -> Self {
        Self
    }

    pub(super) fn other_view(&self, _pid: u32) -> Option<View> {
        None
    }
}

pub(super) fn listens_on(_pid: u32, _path: &Path) -> bool {
    false
}

/// The sockets in a directory whose names are taken, with what their names say.
pub(super) fn sockets<N>(
    directory: &Path,
    parse: impl Fn(&OsStr) -> Option<N>,
) -> io::Result<Vec<(OsString, N)>> {
    let named = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let parsed = parse(&name)?;
        entry.file_type().ok()?.is_socket().then_some((name, parsed))
    };
    Ok(fs::read_dir(directory)?.flatten().filter_map(named).collect())
}

/// Owner of a socket, and when it was made; `None` where there is none.
pub(super) fn socket(path: &Path) -> Option<(u32, SystemTime)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let made = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    metadata.file_type().is_socket().then(|| (metadata.uid(), made))
}

/// Whether this process may connect to a socket.
pub(super) fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// A process by its id; its start cannot be asked for here.
#[derive(Debug)]
pub(crate) struct Pin(u32);

impl Pin {
    pub(crate) fn new(pid: u32) -> io::Result<Self> {
        let pin = Self(pid);
        pin.check().map(|()| pin)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        if exists(self.0) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    pub(crate) fn is(&self, peer: &Peer) -> bool {
        peer.pid.is_none_or(|pid| pid == self.0)
    }
}

pub(crate) async fn connect(_pin: &Arc<Pin>, endpoint: &Endpoint) -> Result<Stream> {
    endpoint.connect().await
}
