//! macOS and the BSDs. Without `/proc` little is known of a process, so the newest socket of its id is taken for its
//! own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::SystemTime;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::process_facts::ProcessFacts;

use super::socket_place::{SocketDirectory, SocketPlace, shared_directories};

pub(crate) fn exists(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM))
}

pub(crate) fn pids() -> Vec<u32> {
    Vec::new()
}

pub(crate) fn facts(pid: u32) -> ProcessFacts {
    ProcessFacts { pid, exists: exists(pid), ..ProcessFacts::default() }
}

/// The name has the start time in seconds here. Only a system call without a safe binding tells it.
pub(crate) fn start_time(_pid: u32) -> Option<u64> {
    None
}

pub(crate) fn socket_place(pid: u32) -> SocketPlace {
    SocketPlace {
        pid,
        start_time: None,
        directories: shared_directories()
            .into_iter()
            .map(|path| SocketDirectory { path_in_process: path.clone(), path })
            .collect(),
    }
}

/// There are no namespaces, and no list of processes.
#[derive(Debug)]
pub(crate) struct OwnNamespaces;

impl OwnNamespaces {
    pub(crate) fn read() -> Self {
        Self
    }

    pub(crate) fn place_elsewhere(&self, _pid: u32) -> Option<SocketPlace> {
        None
    }
}

pub(crate) fn is_listening(_pid: u32, _path: &Path) -> bool {
    false
}

/// The sockets in a directory whose names `parse` accepts, each with what `parse` made of its name.
pub(crate) fn sockets<N>(
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

/// The user id that owns a socket, and when the socket was made. `None` where the path is no socket.
pub(crate) fn socket(path: &Path) -> Option<(u32, SystemTime)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let made = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    metadata.file_type().is_socket().then(|| (metadata.uid(), made))
}

/// Whether this process may connect to a socket.
pub(crate) fn may_connect(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}
