//! A file that gets its name when it is whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A new file, which only its owner can read. Dropping this removes it. On Linux it has no name until it is kept, where the
/// file system can do that: then nothing is left of it if gcwatch is killed. Elsewhere it has a name of its own in the
/// same directory.
#[derive(Debug)]
pub(crate) struct NewFile {
    kind: Kind,
    /// The name that it is to get.
    path: PathBuf,
}

#[derive(Debug)]
enum Kind {
    Nameless(File),
    Named(NamedTempFile),
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// A file with a name that no other file has. Errors of the crate would name that one, and not what the user wanted.
fn named(dir: &Path) -> io::Result<NamedTempFile> {
    Ok(tempfile::Builder::new().prefix(".gcwatch-").tempfile_in(dir).map_err(|e| e.kind())?)
}

impl NewFile {
    /// Makes a file that is to be at `path`, which must be no link and no special file.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn create(path: PathBuf) -> io::Result<NewFile> {
        let dir = directory(&path);
        fs::metadata(dir)?;
        let kind = match nameless::create(dir)? {
            Some(file) => Kind::Nameless(file),
            None => Kind::Named(named(dir)?),
        };
        Ok(NewFile { kind, path })
    }

    /// The open file, to write it.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn file(&self) -> io::Result<File> {
        match &self.kind {
            Kind::Nameless(file) => file.try_clone(),
            Kind::Named(file) => file.as_file().try_clone(),
        }
    }

    /// Gives the file its name. What had that name before is replaced at once.
    ///
    /// # Errors
    /// Those of the system. The file is gone then.
    pub(crate) fn keep(self) -> io::Result<()> {
        match self.kind {
            Kind::Nameless(file) => match nameless::link(&file, &self.path) {
                // A link replaces nothing, but a renamed file does.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    let other = named(directory(&self.path))?.into_temp_path();
                    fs::remove_file(&other)?;
                    nameless::link(&file, &other)?;
                    other.persist(&self.path).map_err(|e| e.error)
                }
                linked => linked,
            },
            Kind::Named(file) => file.persist(&self.path).map(drop).map_err(|e| e.error),
        }
    }
}

#[cfg(target_os = "linux")]
mod nameless {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    use rustix::io::Errno;

    /// The link of `/proc` that leads to an open file.
    fn of(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }

    /// A file without a name. `None`: that cannot be here.
    pub(super) fn create(dir: &Path) -> io::Result<Option<File>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Some(File::from(file)).filter(|file| of(file).exists())),
            // What kernels and file systems say that do not have this.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Gives it a name, which nothing has.
    pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::linkat(CWD, of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod nameless {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    #[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
    pub(super) fn create(_dir: &Path) -> io::Result<Option<File>> {
        Ok(None)
    }

    pub(super) fn link(_file: &File, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(dir: &Path) -> io::Result<Vec<String>> {
        let names = fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn written(kind: Option<Kind>, path: &Path) -> io::Result<NewFile> {
        let mut new = NewFile::create(path.to_owned())?;
        new.kind = kind.unwrap_or(new.kind);
        new.file()?.write_all(b"whole")?;
        Ok(new)
    }

    #[test]
    fn has_its_name_when_it_is_kept() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("a");
        for has_name in [false, true] {
            for before in [None, Some("before")] {
                before.map(|before| fs::write(&path, before)).transpose()?;
                let kind = || has_name.then(|| named(dir.path()).map(Kind::Named)).transpose();
                drop(written(kind()?, &path)?);
                assert_eq!(path.exists(), before.is_some());
                let new = written(kind()?, &path)?;
                assert!(before.is_none_or(|before| fs::read(&path).is_ok_and(|is| is == before.as_bytes())));
                new.keep()?;
                assert_eq!(fs::read(&path)?, b"whole");
                #[cfg(unix)]
                assert_eq!(
                    std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path)?.permissions()) & 0o177,
                    0
                );
                assert_eq!(names(dir.path())?, ["a"]);
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn without_a_name_there_is_nothing_to_leave_behind() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let new = written(None, &dir.path().join("a"))?;
        let expected = usize::from(matches!(new.kind, Kind::Named(_)));
        assert_eq!(names(dir.path())?.len(), expected, "{new:?}");
        Ok(())
    }
}
