//! Where processes have their sockets: `TMPDIR`, and the mount, PID and time namespaces decide.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::socket_place::{SocketDirectory, SocketPlace, shared_directories};
use super::environ::temporary_directory;
use super::proc::{proc, start_time, status};

/// Identifies a namespace of a process: of a process id, or of "self". `None` where it cannot be read.
fn namespace(process: impl Display, kind: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/{kind}")).ok()
}

/// Whether the process is in the same namespace of this kind as this one. `None` where that cannot be read.
fn shares_namespace(pid: u32, kind: &str) -> Option<bool> {
    Some(namespace(pid, kind)? == namespace("self", kind)?)
}

/// The name that a directory of another process has in this process's file system.
fn through_proc(pid: u32, directory: &Path) -> PathBuf {
    match directory.strip_prefix("/") {
        Ok(relative) => proc(pid, "root").join(relative),
        Err(_) => proc(pid, "cwd").join(directory),
    }
}

pub(crate) fn socket_place(pid: u32) -> SocketPlace {
    let same_mounts = shares_namespace(pid, "mnt");
    let mut directories = Vec::new();
    for path_in_process in temporary_directory(pid).map_or_else(shared_directories, |path| vec![path]) {
        let reached_at = |path| SocketDirectory { path, path_in_process: path_in_process.clone() };
        if same_mounts == Some(false) || path_in_process.is_relative() {
            directories.push(reached_at(through_proc(pid, &path_in_process)));
        }
        // Even where the mounts differ, both processes may share this directory; the socket's name is exact.
        if path_in_process.is_absolute() {
            directories.push(reached_at(path_in_process.clone()));
        }
    }
    SocketPlace {
        pid: status(pid).and_then(|status| status.namespace_pid).unwrap_or(pid),
        // In another time namespace the process sees another start time than this process does.
        start_time: start_time(pid).filter(|_| shares_namespace(pid, "time") != Some(false)),
        directories,
    }
}

/// This process's own namespaces, read once for a search among all processes.
#[derive(Debug)]
pub(crate) struct OwnNamespaces {
    directories: Vec<PathBuf>,
    mounts: Option<PathBuf>,
    /// The namespace whose process ids `/proc` shows. `None` if that is not this process's own.
    pids: Option<PathBuf>,
}

impl OwnNamespaces {
    pub(crate) fn read() -> Self {
        let pid = std::process::id();
        let proc_is_own = fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() == &*pid.to_string())
            && status(pid).is_some_and(|status| status.namespace_pid == Some(pid));
        Self {
            directories: shared_directories(),
            mounts: namespace("self", "mnt"),
            pids: if proc_is_own { namespace("self", "pid") } else { None },
        }
    }

    /// Where the socket of a process is, if that may be elsewhere than in the shared directories under its own id.
    pub(crate) fn place_elsewhere(&self, pid: u32) -> Option<SocketPlace> {
        let other_directory =
            || temporary_directory(pid).is_some_and(|directory| !self.directories.contains(&directory));
        let other_mounts = || {
            let theirs = namespace(pid, "mnt");
            theirs.is_some() && self.mounts.is_some() && theirs != self.mounts
        };
        // The status takes longer to read than the namespace, so it is read only where that does not decide.
        let other_id = || {
            (self.pids.is_none() || namespace(pid, "pid") != self.pids)
                && status(pid).is_some_and(|status| status.namespace_pid.is_some_and(|inner| inner != pid))
        };
        (other_directory() || other_mounts() || other_id()).then(|| socket_place(pid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_reached_through_the_process() {
        assert_eq!(through_proc(5, Path::new("/var/tmp/")), Path::new("/proc/5/root/var/tmp"));
        assert_eq!(through_proc(5, Path::new("sub")), Path::new("/proc/5/cwd/sub"));
    }

    #[test]
    fn this_process_is_not_elsewhere() {
        let pid = std::process::id();
        assert!(OwnNamespaces::read().place_elsewhere(pid).is_none());
        let elsewhere = OwnNamespaces { directories: Vec::new(), ..OwnNamespaces::read() };
        assert!(elsewhere.place_elsewhere(pid).is_some());
        let other_mounts = OwnNamespaces { mounts: Some("mnt:[1]".into()), ..OwnNamespaces::read() };
        assert!(other_mounts.place_elsewhere(pid).is_some());
        let unsure = OwnNamespaces { pids: None, ..OwnNamespaces::read() };
        assert!(unsure.place_elsewhere(pid).is_none());
    }
}
