//! Directories of another process, through descriptors. What a path leads to can change at any moment; what a
//! descriptor refers to cannot.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directories at which the paths of a process begin. They are opened before the thread takes the rights of the
/// process, which may not suffice to open them.
#[derive(Debug)]
pub(crate) struct Roots {
    pid: u32,
    /// The root directory of the process, if this process may open it.
    root: io::Result<OwnedFd>,
    /// The current directory of the process, if this process may open it.
    current: io::Result<OwnedFd>,
    /// The root directory of this process.
    pub(crate) own: OwnedFd,
    /// Both processes are in one mount namespace.
    same_mounts: bool,
}

impl Roots {
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let open =
            |name: &str| Ok(rustix::fs::open(format!("/proc/{pid}/{name}"), DIRECTORY, Mode::empty())?);
        let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        let theirs = mounts(&pid.to_string());
        let same_mounts = theirs.is_some() && theirs == mounts("self");
        Ok(Self {
            pid,
            same_mounts,
            root: open("root"),
            current: open("cwd"),
            own: open_directory(Path::new("/"))?,
        })
    }

    pub(crate) fn root(&self) -> io::Result<&OwnedFd> {
        opened(&self.root)
    }

    pub(crate) fn current(&self) -> io::Result<&OwnedFd> {
        opened(&self.current)
    }

    /// Whether absolute paths mean the same to both processes.
    pub(crate) fn are_shared(&self) -> bool {
        self.same_mounts && self.root().and_then(|root| is_same(root, &self.own)).unwrap_or(false)
    }

    /// Opens a directory by its name in this process, to search it. A path below `/proc/PID/root` does not leave that
    /// root. A kernel without `openat2` follows links as usual, which does no harm to a search.
    pub(crate) fn open_for_search(&self, path: &Path) -> io::Result<OwnedFd> {
        let proc = PathBuf::from(format!("/proc/{}", self.pid));
        let (start, below) = if let Ok(below) = path.strip_prefix(proc.join("root")) {
            (self.root()?, below)
        } else if let Ok(below) = path.strip_prefix(proc.join("cwd")) {
            (self.current()?, below)
        } else {
            (&self.own, path.strip_prefix("/").unwrap_or(path))
        };
        match open_below(start, below) {
            Err(e) if e.kind() == io::ErrorKind::Unsupported => open_directory(path),
            opened => opened,
        }
    }
}

fn opened(directory: &io::Result<OwnedFd>) -> io::Result<&OwnedFd> {
    directory.as_ref().map_err(|e| io::Error::new(e.kind(), e.to_string()))
}

/// Opens a directory by its name in this process, to search it.
pub(crate) fn open_for_search(path: &Path) -> io::Result<OwnedFd> {
    let pid = path.strip_prefix("/proc").ok().and_then(|rest| rest.iter().next()?.to_str()?.parse().ok());
    match pid {
        Some(pid) => Roots::of(pid)?.open_for_search(path),
        None => open_directory(path),
    }
}

/// Opens a directory and follows links as usual.
pub(crate) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Opens a directory below `start`, which acts as the root directory: absolute links begin there, and `..` does not
/// leave it.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] where the kernel cannot do it.
pub(crate) fn open_below(start: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    open_below_as(start, path, DIRECTORY)
}

/// As [`open_below`], for a file of any kind. Opening a file that is not regular can have effects or block, so `flags`
/// should have `NONBLOCK`.
pub(crate) fn open_below_as(start: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    /// While directories are renamed, the kernel cannot tell whether `..` has left the root, and answers EAGAIN.
    const MAX_ATTEMPTS: u32 = 256;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..MAX_ATTEMPTS {
        match openat2(start, path, flags, Mode::empty(), resolve) {
            Ok(opened) => return Ok(opened),
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            // Container runtimes answer EPERM to system calls that they do not know.
            Err(Errno::NOSYS | Errno::PERM) => {
                let why = "this kernel has no openat2 (Linux 5.6), or a filter forbids it";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
            Err(e) => return Err(e.into()),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "its directories are renamed all the time"))
}

/// A socket, held by a descriptor: nobody can put another socket in its place.
#[derive(Debug)]
pub(crate) struct PinnedSocket {
    fd: OwnedFd,
    pub(crate) owner: u32,
}

impl PinnedSocket {
    /// Opens a socket in a directory. A symbolic link is not followed.
    pub(crate) fn find(directory: &OwnedFd, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(directory, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is no socket"));
        }
        Ok(Self { fd, owner: stat.st_uid })
    }

    /// A path that leads to it as long as this value lives. It is short, even where the socket's own path is too long
    /// to connect to.
    pub(crate) fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.fd.as_raw_fd())
    }
}

/// The entries of a directory.
pub(crate) fn read_directory(directory: &OwnedFd) -> io::Result<rustix::fs::Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    Ok(rustix::fs::Dir::new(fd)?)
}

/// Whether two descriptors refer to the same file.
fn is_same(one: &OwnedFd, other: &OwnedFd) -> io::Result<bool> {
    let (one, other) = (rustix::fs::fstat(one)?, rustix::fs::fstat(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

/// The path of a directory below `root`, without links.
pub(crate) fn path_below(root: &OwnedFd, directory: &OwnedFd) -> io::Result<PathBuf> {
    let path = |fd: &OwnedFd| fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let (root_path, full) = (path(root)?, path(directory)?);
    let below = full.strip_prefix(&root_path).map_err(|_| io::ErrorKind::NotFound)?;
    // The directory may have been moved meanwhile, or a mount may hide it.
    let again = open_below(root, below)?;
    if is_same(&again, directory)? {
        Ok(Path::new("/").join(below))
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Checks that only root, `user` and the owner of the root directory can replace this directory by another one: it and
/// all directories above it belong to them, and others can write only to "sticky" ones like `/tmp`, where users can
/// rename only what they own.
///
/// # Errors
/// Names the directory that others can change.
pub(crate) fn check_not_replaceable(root: &OwnedFd, directory: &OwnedFd, user: u32) -> io::Result<()> {
    const MAX_DEPTH: usize = 256;
    let root_stat = rustix::fs::fstat(root)?;
    let trusted = [0, user, root_stat.st_uid];
    let mut current = rustix::fs::openat(directory, ".", DIRECTORY, Mode::empty())?;
    for level in 0..MAX_DEPTH {
        let stat = rustix::fs::fstat(&current)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        let name = if level == 0 { "it".to_owned() } else { format!("the directory {level} above it") };
        if !trusted.contains(&stat.st_uid) {
            return Err(io::Error::other(format!("{name} belongs to user {}", stat.st_uid)));
        }
        if mode.intersects(Mode::WGRP | Mode::WOTH) && !mode.contains(Mode::SVTX) {
            return Err(io::Error::other(format!("other users can write to {name}")));
        }
        if (stat.st_dev, stat.st_ino) == (root_stat.st_dev, root_stat.st_ino) {
            return Ok(());
        }
        let above = rustix::fs::openat(&current, "..", DIRECTORY, Mode::empty())?;
        if is_same(&above, &current)? {
            return Ok(());
        }
        current = above;
    }
    Err(io::Error::other("it is too deep"))
}
