//! Windows. Listing and attaching at `basic` and `moves` go through the same code as elsewhere; what
//! needs a named pipe of ours says so.

use std::fs;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::ptr;

use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;

use super::Signal;

/// Ctrl-C.
#[derive(Debug)]
pub(crate) struct Signals;

impl Signals {
    /// Starts listening.
    pub(crate) fn listen() -> io::Result<Signals> {
        Ok(Signals)
    }

    /// The next one; a console sends Ctrl-C to every process in it.
    pub(crate) async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt { to_group: true },
            Err(_) => std::future::pending().await,
        }
    }
}

/// How much more can be written to the file system of a directory; `None` where it does not say.
#[expect(unsafe_code, reason = "the standard library does not ask for it")]
pub(crate) fn free_bytes(dir: &Path) -> Option<u64> {
    let path: Vec<u16> = dir.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: the path ends with a zero, the result is written to `free`, and the rest may be null.
    let told = unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, ptr::null_mut(), ptr::null_mut()) };
    (told != 0).then_some(free)
}

/// A console has sent it to the child already.
pub(crate) fn forward(_pid: u32, _signal: Signal) -> io::Result<()> {
    Ok(())
}

/// Reads a file at a place. The file's own position goes along: whoever reads it does so by place only.
pub(crate) fn read_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Keeps a process that is about to be started out of the console's signals.
pub(crate) fn own_group(command: &mut Command) {
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// There is no such user.
pub(crate) fn is_root() -> bool {
    false
}

/// The code as Windows gives it.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

/// There is one set of paths.
pub(crate) fn same_mounts(_pid: u32) -> bool {
    true
}

/// A directory below `parent`.
pub(crate) fn make_temp_dir(parent: &Path) -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("gcw").tempdir_in(parent)
}

/// The directory for the library below `parent`, which is the user's own temporary directory.
pub(crate) fn make_shared_dir(parent: &Path) -> io::Result<PathBuf> {
    let dir = parent.join("gcwatch");
    fs::create_dir_all(&dir)?;
    Ok(dir)
}

/// The temporary directory is the user's own.
pub(crate) fn made_by_us(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|m| m.is_file())
}

/// Inherited from the directory.
pub(crate) fn readable_by_all(_file: &fs::File) -> io::Result<()> {
    Ok(())
}

/// Nothing to give.
pub(crate) fn give_to(_path: &Path, _uid: u32) -> io::Result<()> {
    Ok(())
}

/// The connection that keeps the profiler in the target.
#[derive(Debug)]
pub(crate) struct Lease;

impl Lease {
    /// Not here yet.
    pub(crate) fn listen(_path: &Path) -> io::Result<Lease> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "level roots is not available on Windows yet"))
    }

    /// Never.
    pub(crate) async fn taken(&mut self) -> io::Result<()> {
        std::future::pending().await
    }

    /// Nobody to tell.
    pub(crate) async fn beat(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Nobody came.
    pub(crate) async fn forget_arrivals(&mut self) {}

    /// Nobody to tell.
    pub(crate) async fn end(&mut self) {}

    /// Nobody was there.
    pub(crate) async fn gone(&mut self) {}
}
