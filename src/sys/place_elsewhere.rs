//! Where gcwatch and a target meet on systems other than Linux: in a temporary directory of the user's own. There is no
//! way to work with another user's rights on one thread, so root meets nobody else's process.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use dotnet_diagnostics_client::Pinned;

use super::os::{Lease, is_root, make_temp_dir};

/// What both sides know by name.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// The library.
    pub(crate) library: PathBuf,
    /// The lease's socket.
    pub(crate) lease_path: PathBuf,
    pub(crate) lease: Lease,
    /// Removes the socket's directory when it goes.
    pub(crate) name: SocketName,
}

/// The directory of the lease's socket.
#[derive(Debug)]
pub(crate) struct SocketName {
    _directory: tempfile::TempDir,
}

/// Puts the library and the lease where this process can load and reach them.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] for root over a process that it has not started; otherwise what is wrong with
/// each directory.
pub(crate) async fn meet(
    process: Option<&Pinned>,
    dirs: Vec<PathBuf>,
    file_name: String,
    library: Vec<u8>,
) -> io::Result<Meeting> {
    if process.is_some() && is_root() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "on this system root cannot place it safely; run gcwatch as the process's user",
        ));
    }
    let mut problems = Vec::new();
    for dir in &dirs {
        match meet_in(dir, &file_name, &library) {
            Ok(meeting) => return Ok(meeting),
            Err(e) => problems.push(format!("{}: {e}", dir.display())),
        }
    }
    Err(io::Error::other(problems.join("; ")))
}

/// Reads a file that a process names.
pub(crate) fn read_of(_pid: u32, path: PathBuf, most: u64) -> io::Result<Vec<u8>> {
    let meta = fs::metadata(&path)?;
    if !meta.is_file() || meta.len() > most {
        return Err(io::Error::other("it is no regular file, or too long"));
    }
    fs::read(path)
}

fn meet_in(dir: &Path, file_name: &str, library: &[u8]) -> io::Result<Meeting> {
    let shared = own::make_shared_dir(dir)?;
    let path = shared.join(file_name);
    // Written first and looked at afterwards: another gcwatch may put it there at any moment.
    if fs::symlink_metadata(&path).is_err() {
        write_once(&shared, &path, library)?;
    }
    if !(own::made_by_us(&path) && fs::read(&path).is_ok_and(|found| found == library)) {
        return Err(io::Error::other(format!("{} is not what gcwatch put there; remove it", path.display())));
    }
    let directory = make_temp_dir(dir)?;
    let lease_path = directory.path().join("lease");
    let lease = Lease::listen(&lease_path)?;
    Ok(Meeting { library: path, lease_path, lease, name: SocketName { _directory: directory } })
}

fn write_once(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temp = tempfile::NamedTempFile::new_in(dir)?;
    temp.write_all(bytes)?;
    let file: &File = temp.as_file();
    own::readable_by_all(file)?;
    match temp.persist_noclobber(path) {
        Ok(_) => Ok(()),
        // Another gcwatch was faster; whether it is the same is looked at next.
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e.error),
    }
}

#[cfg(unix)]
mod own {
    use std::fs::{self, DirBuilder, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    use std::path::{Path, PathBuf};

    use rustix::process::geteuid;

    /// The directory for the library below `parent`: ours alone to write, for all to read.
    pub(super) fn make_shared_dir(parent: &Path) -> io::Result<PathBuf> {
        let dir = parent.join(format!("gcwatch-{}", geteuid().as_raw()));
        match DirBuilder::new().mode(0o755).create(&dir) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
        let meta = fs::symlink_metadata(&dir)?;
        if !meta.is_dir() || meta.uid() != geteuid().as_raw() || meta.mode() & 0o022 != 0 {
            return Err(io::Error::other(format!(
                "{} belongs to someone else, or others can write to it",
                dir.display()
            )));
        }
        Ok(dir)
    }

    /// A regular file of ours that nobody else can write.
    pub(super) fn made_by_us(path: &Path) -> bool {
        fs::symlink_metadata(path)
            .is_ok_and(|m| m.is_file() && m.uid() == geteuid().as_raw() && m.mode() & 0o022 == 0)
    }

    /// Readable for every target, writable for none.
    pub(super) fn readable_by_all(file: &fs::File) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(0o644))
    }
}

/// The temporary directory is the user's own on Windows.
#[cfg(windows)]
mod own {
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};

    pub(super) fn make_shared_dir(parent: &Path) -> io::Result<PathBuf> {
        let dir = parent.join("gcwatch");
        fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    pub(super) fn made_by_us(path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|m| m.is_file())
    }

    /// Inherited from the directory.
    pub(super) fn readable_by_all(_file: &fs::File) -> io::Result<()> {
        Ok(())
    }
}
