//! macOS and the BSDs: without `/proc` only little can be said, and the newest socket stands for a process's own.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::process::ProcessFacts;

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
