//! Files that gcwatch writes and reads.

use std::fs;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;

use crate::sys::shared::Settings;

/// Opens a file to write it from its start. A new file gets the access list of its directory.
///
/// # Errors
/// Those of the system.
pub(crate) fn create(path: &Path) -> io::Result<fs::File> {
    fs::File::create(path)
}

/// Opens a file as [`create`] does, but keeps its contents. Also returns the path if it created the file.
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

/// Identifies a file, for comparison: its canonical directory, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// The place of an open file, by the path that opened it.
    pub(crate) fn of(_file: &fs::File, path: &Path) -> Option<Place> {
        place(path)
    }
}

/// The place of a file that exists or could be created; `None` if it is no regular file, or has no directory.
pub(crate) fn place(path: &Path) -> Option<Place> {
    if let Ok(there) = fs::metadata(path) {
        return there.is_file().then(|| fs::canonicalize(path).ok()).flatten().map(Place);
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    Some(Place(fs::canonicalize(dir).ok()?.join(path.file_name()?)))
}

/// The path to rename a file to so that it replaces `path`. `None` if `path` is no regular file but, for example, a
/// device, which is written and not replaced.
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

/// Creates a file beside `path` that will replace it by a rename. It gets the access list of the directory.
///
/// # Errors
/// Those of the system.
pub(crate) fn replacement(path: &Path, _for_all: bool) -> io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    tempfile::Builder::new().prefix(".gcwatch-").tempfile_in(dir)
}

/// Opens a settings file. On Windows gcwatch does not check who wrote it.
///
/// # Errors
/// Those of the system; `NotFound` also for anything but a regular file.
pub(crate) fn open_settings(path: &Path) -> io::Result<Settings> {
    let file = fs::File::open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(Settings::Open { file, own: true }),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// The free space of a directory's file system; `None` if it does not say.
#[expect(unsafe_code, reason = "the standard library has no call for it")]
pub(crate) fn free_bytes(dir: &Path) -> Option<u64> {
    let path: Vec<u16> = dir.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: the path ends with a zero, the call writes its result to `free`, and the other pointers may be null.
    let done = unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, ptr::null_mut(), ptr::null_mut()) };
    (done != 0).then_some(free)
}

/// Reads a file at an offset. This moves the file's own position, so callers must read by offset only.
pub(crate) fn read_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Not checked on Windows.
pub(crate) fn others_can_change(_file: &fs::File) -> io::Result<bool> {
    Ok(false)
}
