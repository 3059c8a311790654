//! Puts the profiler library where the target can load it, and makes the pipe of the lease (Windows).
//!
//! Only this user and administrators can change the directory and the file, which is checked at the open file. It stays
//! open without the right to write or rename, so it is the one that the target loads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use dotnet_diagnostics_client::{Pinned, own_user_sid, user_sid};

use super::os::{Lease, make_directory, only_trusted_can_write};
pub(crate) use super::whole_file::read_of;
use super::whole_file::write_once;

/// Where the target finds the library and the lease's pipe, and our end of the lease.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// The library's path.
    pub(crate) library: PathBuf,
    /// The full name of the lease's pipe.
    pub(crate) lease_path: PathBuf,
    pub(crate) lease: Lease,
    /// Keeps the library as it is.
    pub(crate) name: OpenLibrary,
}

/// The library's file, open.
#[derive(Debug)]
pub(crate) struct OpenLibrary {
    _file: File,
}

/// Puts the library where `process` can load it; without a process, where those that we start can. `_dirs` are the
/// target's own directories, which its user can change: they are not used.
///
/// # Errors
/// What is wrong with each directory.
pub(crate) async fn meet(
    process: Option<&Pinned>,
    _dirs: Vec<PathBuf>,
    file_name: String,
    library: Vec<u8>,
) -> io::Result<Meeting> {
    let own = own_user_sid()?;
    let reader = process.map(|process| user_sid(process.pid())).transpose()?.unwrap_or_else(|| own.clone());
    // Another user cannot read below our profile.
    let variables = if reader == own { ["LOCALAPPDATA", "ProgramData"] } else { ["ProgramData", "PUBLIC"] };
    let mut problems = Vec::new();
    for parent in variables.iter().filter_map(std::env::var_os).map(PathBuf::from) {
        let dir = parent.join(format!("gcwatch-{own}"));
        match put(&dir, &reader, &file_name, &library) {
            Ok(file) => {
                let lease = Lease::listen(process.map(Pinned::pid))?;
                let lease_path = PathBuf::from(lease.name());
                let name = OpenLibrary { _file: file };
                return Ok(Meeting { library: dir.join(file_name), lease_path, lease, name });
            }
            Err(e) => problems.push(format!("{}: {e}", dir.display())),
        }
    }
    Err(io::Error::other(problems.join("; ")))
}

/// Puts the library into a directory, if it is not there yet, and returns it open.
fn put(dir: &Path, reader: &str, file_name: &str, library: &[u8]) -> io::Result<File> {
    make_directory(dir, reader)?;
    let open_dir = open(dir)?;
    if !open_dir.metadata()?.is_dir() || !only_trusted_can_write(&open_dir)? {
        return Err(io::Error::other("others can change it; remove it"));
    }
    let path = dir.join(file_name);
    // Write first, check afterwards: another gcwatch may write the file at any moment.
    if fs::symlink_metadata(&path).is_err() {
        write_once(dir, &path, library, |_| Ok(()))?;
    }
    let mut file = open(&path)?;
    let mut found = Vec::new();
    Read::by_ref(&mut file).take(library.len() as u64 + 1).read_to_end(&mut found)?;
    if found != library || !only_trusted_can_write(&file)? {
        return Err(io::Error::other(format!("{file_name} there is not what gcwatch put there; remove it")));
    }
    Ok(file)
}

/// Opens a file or directory itself, not what a link there leads to. As long as it is open, nobody can write, rename or
/// remove it.
fn open(path: &Path) -> io::Result<File> {
    const SHARE_READ: u32 = 1;
    const BACKUP_SEMANTICS: u32 = 0x0200_0000;
    const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    const READ_AND_READ_CONTROL: u32 = 0x8002_0000;
    let mut options = OpenOptions::new();
    options.access_mode(READ_AND_READ_CONTROL).share_mode(if path.is_dir() { 7 } else { SHARE_READ });
    let file = options.custom_flags(BACKUP_SEMANTICS | OPEN_REPARSE_POINT).open(path)?;
    if file.metadata()?.file_type().is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_gcwatch_wrote_is_used() -> io::Result<()> {
        let temp = tempfile::tempdir()?;
        let dir = temp.path().join("gcwatch");
        let own = own_user_sid()?;
        let file = put(&dir, &own, "library.dll", b"library")?;
        assert!(fs::write(dir.join("library.dll"), "other").is_err(), "it is open");
        drop(file);
        drop(put(&dir, &own, "library.dll", b"library")?);
        fs::write(dir.join("library.dll"), "other")?;
        let refused = put(&dir, &own, "library.dll", b"library").unwrap_err().to_string();
        assert!(refused.contains("is not what gcwatch put there"), "{refused}");
        Ok(())
    }
}
