//! Where the socket of a process can be.

use std::path::{Path, PathBuf};

/// Where runtimes have their sockets unless `TMPDIR` names another directory.
pub(crate) const DEFAULT_DIRECTORY: &str = "/tmp";

/// Longest path that fits a `sun_path`, in bytes and without its NUL: the field has 108 bytes on Linux, 104 on macOS.
pub(crate) const MAX_SOCKET_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Where processes have their sockets if their `TMPDIR` is the one of this process, or none. On macOS each user has a
/// `TMPDIR` of its own.
pub(crate) fn shared_directories() -> Vec<PathBuf> {
    let mut directories = vec![std::env::temp_dir()];
    if directories[0] != Path::new(DEFAULT_DIRECTORY) {
        directories.push(DEFAULT_DIRECTORY.into());
    }
    directories
}

/// What the socket of a process is called, and in which directories it can be.
#[derive(Debug)]
pub(crate) struct SocketPlace {
    /// The process id in the socket's name: the one that the process has in its own namespace.
    pub(crate) pid: u32,
    /// The start time in the socket's name, in the unit of this system. `None` where it cannot be known: the newest
    /// socket of the process id is then taken.
    pub(crate) start_time: Option<u64>,
    /// The most likely directory first.
    pub(crate) directories: Vec<SocketDirectory>,
}

/// A directory under its two names.
#[derive(Debug)]
pub(crate) struct SocketDirectory {
    /// The name by which this process reaches it.
    pub(crate) path: PathBuf,
    /// The name by which the other process knows it.
    pub(crate) path_in_process: PathBuf,
}
