//! Sockets, found through open directories: what a path leads to can change at any moment.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{Access, AtFlags, FileType};

use super::super::inside;
use super::proc::find_line;

/// The sockets in a directory whose names `parse` accepts, each with what `parse` made of its name.
pub(crate) fn sockets<N>(
    directory: &Path,
    parse: impl Fn(&OsStr) -> Option<N>,
) -> io::Result<Vec<(OsString, N)>> {
    /// Another user can put any number of files into a shared directory.
    const MAX_ENTRIES: usize = 200_000;
    let mut found = Vec::new();
    for entry in inside::read_directory(&inside::open_for_search(directory)?)?.take(MAX_ENTRIES) {
        let Ok(entry) = entry else { break };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if matches!(entry.file_type(), FileType::Socket | FileType::Unknown)
            && let Some(parsed) = parse(name)
        {
            found.push((name.to_owned(), parsed));
        }
    }
    Ok(found)
}

/// The user id that owns a socket, and when the socket was made. `None` where the path is no socket.
pub(crate) fn socket(path: &Path) -> Option<(u32, SystemTime)> {
    let directory = inside::open_for_search(path.parent()?).ok()?;
    let stat = rustix::fs::statat(&directory, path.file_name()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return None;
    }
    let since = Duration::new(u64::try_from(stat.st_mtime).ok()?, u32::try_from(stat.st_mtime_nsec).ok()?);
    Some((stat.st_uid, SystemTime::UNIX_EPOCH + since))
}

/// Whether this process may connect to a socket.
pub(crate) fn may_connect(path: &Path) -> bool {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
    inside::open_for_search(parent).is_ok_and(|directory| {
        rustix::fs::accessat(&directory, name, Access::WRITE_OK, AtFlags::empty()).is_ok()
    })
}

/// Whether the kernel lists a socket of this name in the network namespace of the process.
pub(crate) fn is_listening(pid: u32, path: &Path) -> bool {
    find_line(pid, "net/unix", |line| is_line_of(line, path).then_some(())).flatten().is_some()
}

/// Whether this line of `/proc/PID/net/unix` is about the socket of this name.
fn is_line_of(line: &[u8], path: &Path) -> bool {
    line.strip_suffix(path.as_os_str().as_bytes()).is_some_and(|head| head.ends_with(b" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_name_must_match_as_a_whole() {
        let line = b"0000: 00000002 0 00010000 0001 01 99 /tmp/dotnet-diagnostic-1-2-socket";
        assert!(is_line_of(line, Path::new("/tmp/dotnet-diagnostic-1-2-socket")));
        assert!(!is_line_of(line, Path::new("dotnet-diagnostic-1-2-socket")));
    }
}
