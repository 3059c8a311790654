//! Creates the user's files: reports and recordings. They hold command lines and names from the program, so only their
//! owner can read a new one. Anyone who can write to the directory may have created something at the path before us.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tempfile::NamedTempFile;

use super::user::own_uid;

/// Only the owner can read and write; the umask can take more away.
const PRIVATE: u32 = 0o600;
/// All can read: a metrics scraper may run as another user.
const PUBLIC: u32 = 0o644;
/// As many links in a row as the kernel follows.
const MAX_LINKS: usize = 40;

/// Opens a file to write it from its start. Only the owner can read a new file; an existing one keeps its mode, and may
/// be a device or a FIFO.
///
/// # Errors
/// Those of the system; `PermissionDenied` for a symbolic link that another user made.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    opened(path, OFlags::TRUNC).map(|(file, _)| file)
}

/// Opens a file as [`create`] does, but keeps its contents. Also returns the path if it created the file.
///
/// # Errors
/// Those of [`create`].
pub(crate) fn create_kept(path: &Path) -> io::Result<(File, Option<PathBuf>)> {
    opened(path, OFlags::empty())
}

fn opened(path: &Path, truncated: OFlags) -> io::Result<(File, Option<PathBuf>)> {
    let mode = Mode::from_raw_mode(PRIVATE as _);
    let open = |path: &Path, flags| rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC | flags, mode);
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match open(&path, OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW) {
            Err(rustix::io::Errno::EXIST) => {}
            made => return Ok((made?.into(), Some(path))),
        }
        // CREATE again: only with it the kernel protects files and FIFOs in shared directories (fs.protected_regular).
        match open(&path, OFlags::CREATE | truncated | OFlags::NOFOLLOW) {
            Err(rustix::io::Errno::LOOP) => match followed(&path)? {
                Some(next) => path = next,
                None => return Ok((open(&path, truncated)?.into(), None)),
            },
            opened => return Ok((opened?.into(), None)),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// Identifies a file independently of its path, for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Device and inode.
    File(u64, u64),
    /// For a file that does not exist yet: its canonical directory, and its name.
    Name(PathBuf),
}

impl Place {
    /// The place of an open file, whose path may be gone.
    pub(crate) fn of(file: &File, _path: &Path) -> Option<Place> {
        file.metadata().ok().map(|there| Place::File(there.dev(), there.ino()))
    }
}

/// The place of a file that exists or could be created. `None` if it is no regular file but, for example, a device that
/// several may share, or if it has no directory.
pub(crate) fn place(path: &Path) -> Option<Place> {
    if let Ok(there) = fs::metadata(path) {
        return there.is_file().then(|| Place::File(there.dev(), there.ino()));
    }
    let path = replaceable(path).ok()??;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    Some(Place::Name(fs::canonicalize(dir).ok()?.join(path.file_name()?)))
}

/// The path to rename a file to so that it replaces `path`: where its links lead, to a regular file or to nothing.
/// `None` if they lead to something else, such as a device or a FIFO, which is written and not replaced.
///
/// # Errors
/// Those of [`create`].
pub(crate) fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let kind = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata.file_type(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some(path)),
            Err(e) => return Err(e),
        };
        if !kind.is_symlink() {
            return Ok(kind.is_file().then_some(path));
        }
        match followed(&path)? {
            Some(next) => path = next,
            None => return Ok(None),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// Creates a file beside `path` that will replace it by a rename. It gets the mode of the file at `path`, if that is
/// ours; otherwise all can read it (`for_all`), or only its owner.
///
/// # Errors
/// Those of the system; also if `path` is neither a file nor a link.
pub(crate) fn replacement(path: &Path, for_all: bool) -> io::Result<NamedTempFile> {
    let there = fs::symlink_metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_symlink()) {
        return Err(io::Error::other("there is something that is not a regular file"));
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let mode = if for_all { PUBLIC } else { PRIVATE };
    let made = tempfile::Builder::new()
        .prefix(".gcwatch-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(dir)?;
    let ours = |there: &Metadata| there.is_file() && there.uid() == own_uid();
    if let Some(there) = there.filter(ours) {
        made.as_file().set_permissions(Permissions::from_mode(there.mode() & 0o777))?;
    }
    Ok(made)
}

/// Where a symbolic link leads. `None` for a link in `/proc`, which may stand for an open file without a path.
fn followed(path: &Path) -> io::Result<Option<PathBuf>> {
    let Some((uid, to)) = link(path)? else { return Ok(None) };
    if uid != own_uid() && uid != 0 {
        let what = format!("it is a symbolic link that user {uid} made, which is not followed");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(Some(path.parent().unwrap_or(Path::new("")).join(to)))
}

/// A link's owner and target. The open descriptor makes sure that both are of the same link.
#[cfg(target_os = "linux")]
fn link(path: &Path) -> io::Result<Option<(u32, PathBuf)>> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let link = rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if rustix::fs::fstatfs(&link)?.f_type == rustix::fs::PROC_SUPER_MAGIC {
        return Ok(None);
    }
    let stat = rustix::fs::fstat(&link)?;
    let to = rustix::fs::readlinkat(&link, "", Vec::new())?;
    Ok(Some((stat.st_uid, OsStr::from_bytes(to.as_bytes()).into())))
}

/// A link's owner and target.
#[cfg(not(target_os = "linux"))]
fn link(path: &Path) -> io::Result<Option<(u32, PathBuf)>> {
    Ok(Some((fs::symlink_metadata(path)?.uid(), fs::read_link(path)?)))
}

/// Makes a directory below `parent` that others can enter, but not list.
pub(crate) fn make_temp_dir(parent: &Path) -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("gcw")
        .rand_bytes(6)
        .permissions(Permissions::from_mode(0o711))
        .tempdir_in(parent)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{FileTypeExt, symlink};

    use super::*;

    fn mode(path: &Path) -> io::Result<u32> {
        Ok(fs::metadata(path)?.mode() & 0o777)
    }

    #[test]
    fn a_new_file_is_private_and_an_old_one_keeps_its_mode() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("x");
        create(&path)?.write_all(b"first")?;
        assert_eq!(mode(&path)? & 0o177, 0);
        fs::set_permissions(&path, Permissions::from_mode(0o644))?;
        create(&path)?.write_all(b"2")?;
        assert_eq!((mode(&path)?, fs::read(&path)?), (0o644, b"2".to_vec()));
        replacement(&path, false)?.persist(&path)?;
        assert_eq!((mode(&path)?, fs::read(&path)?), (0o644, Vec::new()));
        Ok(())
    }

    #[test]
    fn own_links_are_followed_to_their_ends() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| dir.path().join(name);
        symlink("two", at("one"))?;
        symlink(at("file"), at("two"))?;
        assert_eq!(replaceable(&at("one"))?, Some(at("file")));
        create(&at("one"))?.write_all(b"here")?;
        assert_eq!(fs::read(at("file"))?, b"here");
        assert_eq!(replaceable(&at("one"))?, Some(at("file")));
        symlink("loop", at("loop"))?;
        assert!(create(&at("loop")).is_err() && replaceable(&at("loop")).is_err());
        Ok(())
    }

    #[test]
    fn all_paths_of_a_file_have_the_same_place() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| place(&dir.path().join(name));
        fs::write(dir.path().join("file"), "")?;
        fs::create_dir(dir.path().join("inner"))?;
        fs::hard_link(dir.path().join("file"), dir.path().join("hard"))?;
        symlink("file", dir.path().join("soft"))?;
        symlink("new", dir.path().join("dangling"))?;
        for name in ["hard", "soft", "inner/../file"] {
            assert!(at(name).is_some() && at(name) == at("file"), "{name}: {:?}", at(name));
        }
        for name in ["dangling", "inner/../new"] {
            assert!(at(name).is_some() && at(name) == at("new"), "{name}: {:?}", at(name));
        }
        fs::write(dir.path().join("other"), "")?;
        assert!(at("other") != at("file") && at("newer") != at("new"));
        assert_eq!((place(Path::new("/dev/null")), at("none/new")), (None, None));
        Ok(())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn devices_and_pipes_are_written_and_not_replaced() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| dir.path().join(name);
        symlink("/dev/null", at("null"))?;
        for path in [at("null"), "/dev/null".into()] {
            assert_eq!(replaceable(&path)?, None);
            create(&path)?.write_all(b"nobody reads it")?;
        }
        let (reader, writer) = std::io::pipe()?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&writer);
        symlink(format!("/proc/self/fd/{number}"), at("pipe"))?;
        assert_eq!(replaceable(&at("pipe"))?, None);
        create(&at("pipe"))?.write_all(b"through it")?;
        drop(writer);
        assert_eq!(io::read_to_string(reader)?, "through it");
        assert!(fs::metadata("/dev/null")?.file_type().is_char_device());
        Ok(())
    }
}
