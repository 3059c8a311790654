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

use super::shared::{Settings, Signal};

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

/// Opens a file to be written from its start. A new one has the access list of its directory.
///
/// # Errors
/// Those of the system.
pub(crate) fn create(path: &Path) -> io::Result<fs::File> {
    fs::File::create(path)
}

/// The same, and what is there keeps what it holds. Where a file was made: its name.
///
/// # Errors
/// Those of the system.
pub(crate) fn create_kept(path: &Path) -> io::Result<(fs::File, Option<PathBuf>)> {
    match fs::File::create_new(path) {
        Ok(file) => Ok((file, Some(path.to_owned()))),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            Ok((fs::File::options().write(true).open(path)?, None))
        }
        Err(e) => Err(e),
    }
}

/// Where a file is: its directory without links, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// Of an open file, by the name under which it was opened.
    pub(crate) fn of(_file: &fs::File, path: &Path) -> Option<Place> {
        place(path)
    }
}

/// Where a file is or would be made; `None`: something else is there, or there is no such directory.
pub(crate) fn place(path: &Path) -> Option<Place> {
    if let Ok(there) = fs::metadata(path) {
        return there.is_file().then(|| fs::canonicalize(path).ok()).flatten().map(Place);
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    Some(Place(fs::canonicalize(dir).ok()?.join(path.file_name()?)))
}

/// The name that a file renamed to `path` has to get. `None`: something that is no file is there, such as a device, which
/// is written and not replaced.
///
/// # Errors
/// Those of the system.
pub(crate) fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::metadata(path) {
        Ok(there) if there.is_file() => fs::canonicalize(path).map(Some),
        Ok(_) => Ok(None),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Some(path.to_owned())),
        Err(e) => Err(e),
    }
}

/// A new file beside `path`, to be renamed to it. It has the access list of the directory.
///
/// # Errors
/// Those of the system.
pub(crate) fn replacement(path: &Path, _for_all: bool) -> io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    tempfile::Builder::new().prefix(".gcwatch-").tempfile_in(dir)
}

/// Opens a file of settings. Users are not told apart.
///
/// # Errors
/// Those of the system; `NotFound` also where something that is no file is there.
pub(crate) fn open_settings(path: &Path) -> io::Result<Settings> {
    let file = fs::File::open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(Settings::Open { file, own: true }),
        false => Err(io::ErrorKind::NotFound.into()),
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

/// Handles are inherited only where that is asked for.
pub(crate) fn close_inherited() {}

/// Nobody is told apart.
pub(crate) fn own_uid() -> u32 {
    0
}

/// There is no such socket.
pub(crate) fn give_socket(_socket: &Path, _uid: u32, _to_all: bool) -> io::Result<()> {
    Ok(())
}

/// There is no such user.
pub(crate) fn is_root() -> bool {
    false
}

/// The code as Windows gives it.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

/// A directory below `parent`.
pub(crate) fn make_temp_dir(parent: &Path) -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("gcw").tempdir_in(parent)
}

/// Not looked at here.
pub(crate) fn others_can_change(_file: &fs::File) -> io::Result<bool> {
    Ok(false)
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
    pub(crate) fn beat(&self) {}

    /// Nobody reads.
    pub(crate) fn all_read(&self) -> Option<bool> {
        None
    }

    /// Nobody came.
    pub(crate) async fn forget_arrivals(&mut self) {}

    /// Nobody to tell.
    pub(crate) async fn end(&mut self) {}

    /// Nobody was there.
    pub(crate) async fn gone(&mut self) {}
}
