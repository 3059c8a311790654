//! Puts the profiler library and the lease's socket into a directory that the target can reach (macOS, BSD). A thread
//! cannot take on another user's rights here, so root does this only for processes that it starts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dotnet_diagnostics_client::Pinned;

use super::os::{Lease, is_root, make_temp_dir};
pub(crate) use super::whole_file::read_of;
use super::whole_file::write_once;

/// Where the target finds the library and the lease's socket, and our end of the lease.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// The library's path.
    pub(crate) library: PathBuf,
    /// The path of the lease's socket.
    pub(crate) lease_path: PathBuf,
    pub(crate) lease: Lease,
    /// Removes the socket's directory when dropped.
    pub(crate) name: SocketName,
}

/// The directory of the lease's socket.
#[derive(Debug)]
pub(crate) struct SocketName {
    _directory: tempfile::TempDir,
}

/// Puts the library and the lease's socket where `process` can reach them.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] if root did not start the process; otherwise what is wrong with each directory.
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

fn meet_in(dir: &Path, file_name: &str, library: &[u8]) -> io::Result<Meeting> {
    let shared = own::make_shared_dir(dir)?;
    let path = shared.join(file_name);
    // Write first, check afterwards: another gcwatch may write the file at any moment.
    if fs::symlink_metadata(&path).is_err() {
        write_once(&shared, &path, library, own::readable_by_all)?;
    }
    if !(own::made_by_us(&path) && fs::read(&path).is_ok_and(|found| found == library)) {
        return Err(io::Error::other(format!("{} is not what gcwatch put there; remove it", path.display())));
    }
    let directory = make_temp_dir(dir)?;
    let lease_path = directory.path().join("lease");
    let lease = Lease::listen(&lease_path)?;
    Ok(Meeting { library: path, lease_path, lease, name: SocketName { _directory: directory } })
}

mod own {
    use std::fs::{self, DirBuilder, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    use std::path::{Path, PathBuf};

    use rustix::process::geteuid;

    /// Makes the library's directory below `parent`: only we can write to it, all can read it.
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

    /// Whether this is a regular file of ours that nobody else can write to.
    pub(super) fn made_by_us(path: &Path) -> bool {
        fs::symlink_metadata(path)
            .is_ok_and(|m| m.is_file() && m.uid() == geteuid().as_raw() && m.mode() & 0o022 == 0)
    }

    /// Lets all users read the file, and no other user write to it.
    pub(super) fn readable_by_all(file: &fs::File) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(0o644))
    }
}
