//! What `/proc` says about a process and the runtime in it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::process_status::ProcessStatus;

use super::environ::{command_line, environ};
use super::proc::{find_line, proc, start_time, status};

/// The path of the runtime's library, if this line of `/proc/PID/maps` has it. Sets `in_executable` at a sign of a
/// runtime that may have no library.
fn mapped_library(line: &[u8], in_executable: &mut bool) -> Option<PathBuf> {
    // Address, permissions, offset, device and inode come first; the path begins with the first "/".
    let path = &line[line.iter().position(|b| *b == b'/')?..];
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let name = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
    // The memory file through which CoreCLR maps its generated code twice.
    *in_executable |= name == b"memfd:doublemapper";
    let is_runtime = matches!(name, b"libcoreclr.so" | b"libmonosgen-2.0.so");
    is_runtime.then(|| PathBuf::from(OsStr::from_bytes(path)))
}

pub(crate) fn facts(pid: u32) -> ProcessStatus {
    let Some(status) = status(pid).filter(|status| !status.ended) else {
        return ProcessStatus { pid, ..ProcessStatus::default() };
    };
    let executable = fs::read_link(proc(pid, "exe")).ok();
    let mut in_executable = false;
    // The outer `None`: the mapped files cannot be read.
    let library = find_line(pid, "maps", |line| mapped_library(line, &mut in_executable));
    let linked_into = executable.clone().filter(|_| in_executable);
    ProcessStatus {
        pid,
        exists: true,
        uid: status.uid,
        environ: environ(pid),
        mappings_readable: library.is_some(),
        runtime_library: library.and_then(|library| library.or(linked_into)),
        executable,
        command_line: command_line(pid),
        namespace_pid: status.namespace_pid,
        parent_pid: status.parent_pid,
        start_time_ticks: start_time(pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_runtime_is_recognised_among_mapped_files() {
        let of = |path: &str| {
            let mut in_executable = false;
            let line = format!("7f00-7f01 r-xp 0000 08:01 77      {path}");
            (mapped_library(line.as_bytes(), &mut in_executable), in_executable)
        };
        assert_eq!(of("/usr/lib/libc.so.6"), (None, false));
        assert_eq!(of("/opt/a b/libcoreclr.so (deleted)"), (Some("/opt/a b/libcoreclr.so".into()), false));
        assert_eq!(of("/memfd:doublemapper (deleted)"), (None, true));
        assert_eq!(of("/usr/bin/notlibcoreclr.so"), (None, false));
    }

    #[test]
    fn the_facts_of_this_process_are_right() {
        let facts = facts(std::process::id());
        assert!(facts.exists && facts.mappings_readable);
        assert_eq!(facts.runtime_library, None);
        assert_eq!(facts.executable, std::env::current_exe().ok());
        assert_eq!(facts.parent_pid, Some(std::os::unix::process::parent_id()));
        assert_eq!(facts.uid, Some(rustix::process::geteuid().as_raw()));
        assert_eq!(facts.command_line, Some(std::env::args_os().collect::<Vec<_>>()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = mapped_library(&bytes, &mut false);
        }
    }
}
