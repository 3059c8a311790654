//! Directories of leases whose gcwatch was killed (Linux). The next gcwatch that makes one in the same place removes them.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat};

/// How the names of these directories begin.
pub(super) const PREFIX: &str = "gcw";
/// How many random letters and digits follow.
pub(super) const RANDOM_CHARS: usize = 6;
/// The socket, which is all that such a directory has.
pub(super) const LEASE: &str = "lease";

/// Looks at no more directories than these: any user can make names like ours.
pub(super) const MAX_DIRECTORIES: usize = 64;
/// A younger directory may be of a gcwatch that has not marked it yet.
const MIN_AGE_S: i64 = 60;

/// Whether a directory of a lease can have this name.
pub(super) fn is_name(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes())
        .is_some_and(|rest| rest.len() == RANDOM_CHARS && rest.iter().all(u8::is_ascii_alphanumeric))
}

/// Marks a directory as used, for as long as it is open: the system takes the mark away from a process that was killed.
/// Connecting would also tell whether somebody listens, but a gcwatch that waits would take it for the profiler.
pub(super) fn mark_used(directory: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive)?)
}

/// Removes those of `names` in `temp` that gcwatch has left. `own`: a directory that was made there just now, by the user
/// with whose rights this runs. What cannot be removed stays, and does no harm.
pub(super) fn remove(temp: &OwnedFd, names: &[OsString], own: &Stat) {
    for name in names {
        match remove_one(temp, name, own) {
            Ok(true) => tracing::debug!("removed {}, which a killed gcwatch has left", name.display()),
            Ok(false) => {}
            Err(e) => tracing::debug!("{}: {e}", name.display()),
        }
    }
}

/// Removes a directory if it is one that gcwatch has left; returns whether it was.
fn remove_one(temp: &OwnedFd, name: &OsString, own: &Stat) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(temp, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&directory)?;
    let others = Mode::RWXG | Mode::RWXO;
    if (stat.st_uid, stat.st_dev) != (own.st_uid, own.st_dev)
        || Mode::from_raw_mode(stat.st_mode).intersects(others)
        // By the clock of the file system.
        || own.st_mtime.saturating_sub(stat.st_mtime) < MIN_AGE_S
        || mark_used(&directory).is_err()
    {
        return Ok(false);
    }
    let mut entries = Dir::read_from(&directory)?.take(4);
    let only_lease = entries.all(|entry| {
        entry.is_ok_and(|entry| [&b"."[..], b"..", LEASE.as_bytes()].contains(&entry.file_name().to_bytes()))
    });
    let lease = rustix::fs::statat(&directory, LEASE, AtFlags::SYMLINK_NOFOLLOW)?;
    if !only_lease || FileType::from_raw_mode(lease.st_mode) != FileType::Socket || lease.st_uid != own.st_uid
    {
        return Ok(false);
    }
    rustix::fs::unlinkat(&directory, LEASE, AtFlags::empty())?;
    // This refuses a directory that is not empty.
    rustix::fs::unlinkat(temp, name, AtFlags::REMOVEDIR)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, SystemTime};

    use super::*;

    /// A directory with a socket on which nobody listens.
    fn left(temp: &Path, name: &str) -> io::Result<PathBuf> {
        let dir = temp.join(name);
        fs::create_dir(&dir)?;
        fs::set_permissions(&dir, Permissions::from_mode(0o700))?;
        drop(UnixListener::bind(dir.join(LEASE))?);
        Ok(dir)
    }

    fn age(dir: &Path, seconds: u64) -> io::Result<()> {
        File::open(dir)?.set_modified(SystemTime::now() - Duration::from_secs(seconds))
    }

    #[test]
    fn only_what_is_left_is_removed() -> io::Result<()> {
        let temp = tempfile::tempdir()?;
        let at = |name: &str| left(temp.path(), name);
        let (old, young, used) = (at("gcwOld000")?, at("gcwYoung0")?, at("gcwUsed00")?);
        let (open, more, file) = (at("gcwOpen00")?, at("gcwMore00")?, at("gcwFile00")?);
        fs::set_permissions(&open, Permissions::from_mode(0o711))?;
        fs::write(more.join("more"), "")?;
        fs::remove_file(file.join(LEASE))?;
        fs::write(file.join(LEASE), "")?;
        let empty = temp.path().join("gcwEmpty0");
        fs::create_dir(&empty)?;
        fs::set_permissions(&empty, Permissions::from_mode(0o700))?;
        // Where the link leads, everything is as in `old`.
        let elsewhere = tempfile::tempdir()?;
        let linked = left(elsewhere.path(), "gcwLinked")?;
        symlink(&linked, temp.path().join("gcwLink00"))?;
        for dir in [&old, &used, &open, &more, &file, &empty, &linked] {
            age(dir, 100)?;
        }
        let user: OwnedFd = File::open(&used)?.into();
        mark_used(&user)?;
        let own: OwnedFd = File::open(at("gcwOwn000")?)?.into();
        mark_used(&own)?;

        let names: Vec<_> = fs::read_dir(temp.path())?.flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names.len(), 9);
        remove(&File::open(temp.path())?.into(), &names, &rustix::fs::fstat(&own)?);
        for dir in [&young, &used, &open, &more, &file, &empty, &linked] {
            assert!(dir.exists(), "{}", dir.display());
        }
        assert!(young.join(LEASE).exists() && used.join(LEASE).exists() && linked.join(LEASE).exists());
        assert!(!old.exists());

        // Its gcwatch has ended now.
        drop(user);
        remove(&File::open(temp.path())?.into(), &names, &rustix::fs::fstat(&own)?);
        assert!(!used.exists());
        Ok(())
    }

    #[test]
    fn names_of_others_are_not_looked_at() {
        assert!(is_name(b"gcwaZ09bc"));
        for other in ["gcwaZ09b", "gcwaZ09bcd", "gcwatch-0", "gcw/../ab", "gcwaZ09b.", "abcaZ09bc"] {
            assert!(!is_name(other.as_bytes()), "{other}");
        }
    }
}
