//! macOS and the BSDs. On the BSDs little is known of a process, so the newest socket of its id is taken for its own.

#[cfg(target_os = "macos")]
mod kernel;
#[cfg(not(target_os = "macos"))]
#[path = "macos/no_kernel.rs"]
mod kernel;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::process_status::ProcessStatus;

use super::arguments;
use super::socket_place::{SocketDirectory, SocketPlace, shared_directories};

pub(crate) fn exists(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM))
}

pub(crate) fn pids() -> Vec<u32> {
    kernel::pids()
}

pub(crate) fn facts(pid: u32) -> ProcessStatus {
    let status = kernel::status(pid);
    let started = kernel::arguments(pid).and_then(|block| arguments::parse(&block)).unwrap_or_default();
    ProcessStatus {
        pid,
        exists: exists(pid),
        uid: status.as_ref().map(|status| status.uid),
        environ: started.environ,
        executable: kernel::executable(pid),
        command_line: Some(started.command_line).filter(|line| !line.is_empty()),
        parent_pid: status.as_ref().map(|status| status.parent_pid),
        start_time_ticks: status.and_then(|status| status.start_time),
        ..ProcessStatus::default()
    }
}

pub(crate) fn uid(pid: u32) -> Option<u32> {
    Some(kernel::status(pid)?.uid)
}

pub(crate) fn environ(pid: u32) -> Option<Vec<(OsString, OsString)>> {
    arguments::parse(&kernel::arguments(pid)?)?.environ
}

/// In seconds since 1970, as in the names of sockets.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    kernel::status(pid)?.start_time
}

/// The process's own directory first. Each user has a `TMPDIR` of its own.
pub(crate) fn socket_place(pid: u32) -> SocketPlace {
    let own = own_directory(pid);
    let shared = shared_directories().into_iter().filter(|path| own.as_ref() != Some(path));
    let directories: Vec<PathBuf> = own.iter().cloned().chain(shared).collect();
    SocketPlace {
        pid,
        start_time: start_time(pid),
        directories: directories
            .into_iter()
            .map(|path| SocketDirectory { path_in_process: path.clone(), path })
            .collect(),
    }
}

fn own_directory(pid: u32) -> Option<PathBuf> {
    arguments::temporary_directory(&environ(pid)?)
}

/// There are no namespaces, but each user's processes have a directory of their own.
#[derive(Debug)]
pub(crate) struct OwnNamespaces {
    shared: Vec<PathBuf>,
}

impl OwnNamespaces {
    pub(crate) fn read() -> Self {
        Self { shared: shared_directories() }
    }

    /// Where the socket of a process is, if not in the directories that all processes of this user share.
    pub(crate) fn place_elsewhere(&self, pid: u32) -> Option<SocketPlace> {
        let path = own_directory(pid).filter(|path| !self.shared.contains(path))?;
        let directory = SocketDirectory { path_in_process: path.clone(), path };
        Some(SocketPlace { pid, start_time: start_time(pid), directories: vec![directory] })
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
