//! Directories of another process, by descriptors. What a path leads to can be exchanged at any moment; what a
//! descriptor is of cannot.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// Where the paths of a process begin, opened before any of its rights are taken: they may not suffice for that.
#[derive(Debug)]
pub(crate) struct Starts {
    pid: u32,
    /// Its root directory, if this process may look there.
    root: io::Result<OwnedFd>,
    /// Its current directory, likewise.
    current: io::Result<OwnedFd>,
    /// This process's own root directory.
    own: OwnedFd,
    /// Whether the same is mounted in the same places.
    same_mounts: bool,
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Starts {
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
            own: open_plainly(Path::new("/"))?,
        })
    }

    pub(crate) fn root(&self) -> io::Result<&OwnedFd> {
        usable(&self.root)
    }

    pub(crate) fn current(&self) -> io::Result<&OwnedFd> {
        usable(&self.current)
    }

    /// This process's own root.
    pub(crate) fn own(&self) -> &OwnedFd {
        &self.own
    }

    /// Whether absolute paths mean the same to both processes.
    pub(crate) fn are_shared(&self) -> bool {
        self.same_mounts && self.root().and_then(|root| is_same(root, &self.own)).unwrap_or(false)
    }

    /// Opens a directory as this process names it: what begins with `/proc/PID/root` is below that root. On a kernel
    /// without `openat2` links are followed as ever, which is good enough to look at it.
    pub(crate) fn look(&self, path: &Path) -> io::Result<OwnedFd> {
        let proc = PathBuf::from(format!("/proc/{}", self.pid));
        let (start, below) = if let Ok(below) = path.strip_prefix(proc.join("root")) {
            (self.root()?, below)
        } else if let Ok(below) = path.strip_prefix(proc.join("cwd")) {
            (self.current()?, below)
        } else {
            (&self.own, path.strip_prefix("/").unwrap_or(path))
        };
        match open_below(start, below) {
            Err(e) if e.kind() == io::ErrorKind::Unsupported => open_plainly(path),
            opened => opened,
        }
    }
}

fn usable(start: &io::Result<OwnedFd>) -> io::Result<&OwnedFd> {
    start.as_ref().map_err(|e| io::Error::new(e.kind(), e.to_string()))
}

/// Opens a directory the kernel's usual way.
pub(crate) fn open_plainly(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Opens a directory below another, which is the root for all that is on the way: absolute links begin there, and
/// `..` ends there.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] where the kernel cannot do it.
pub(crate) fn open_below(start: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    open_below_as(start, path, DIRECTORY)
}

/// The same of a file of any kind. To open one that is no regular file may have effects: not without `NONBLOCK`.
pub(crate) fn open_below_as(start: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    /// Somebody may rename directories all the time, and the kernel then cannot tell whether `..` has left the root.
    const TRIES: u32 = 256;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match openat2(start, path, flags, Mode::empty(), resolve) {
            Ok(opened) => return Ok(opened),
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            // Container runtimes answer EPERM to system calls they do not know.
            Err(Errno::NOSYS | Errno::PERM) => {
                let why = "this kernel has no openat2 (Linux 5.6), or a filter forbids it";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
            Err(e) => return Err(e.into()),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "its directories are renamed all the time"))
}

/// A socket in an open directory, which no exchange of names can make another one.
#[derive(Debug)]
pub(crate) struct PinnedSocket {
    fd: OwnedFd,
    pub(crate) owner: u32,
}

impl PinnedSocket {
    /// Finds it; a symbolic link is none.
    pub(crate) fn find(directory: &OwnedFd, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(directory, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is no socket"));
        }
        Ok(Self { fd, owner: stat.st_uid })
    }

    /// A name for it, good as long as this lives. Short, where the socket's own may be too long.
    pub(crate) fn name(&self) -> String {
        format!("/proc/self/fd/{}", self.fd.as_raw_fd())
    }
}

/// The entries of a directory.
pub(crate) fn readable(directory: &OwnedFd) -> io::Result<rustix::fs::Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    Ok(rustix::fs::Dir::new(fd)?)
}

/// Whether two descriptors are of the same file.
fn is_same(one: &OwnedFd, other: &OwnedFd) -> io::Result<bool> {
    let (one, other) = (rustix::fs::fstat(one)?, rustix::fs::fstat(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

/// The path of a directory below `root`, without any links in it.
pub(crate) fn path_below(root: &OwnedFd, directory: &OwnedFd) -> io::Result<PathBuf> {
    let path = |fd: &OwnedFd| fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let (root_path, full) = (path(root)?, path(directory)?);
    let inside = full.strip_prefix(&root_path).map_err(|_| io::ErrorKind::NotFound)?;
    // Whoever has moved it meanwhile, or hidden it below a mount, gets nothing there.
    let again = open_below(root, inside)?;
    if is_same(&again, directory)? {
        Ok(Path::new("/").join(inside))
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Whether nobody but root, `user` and the owner of the root directory can exchange this directory for another one:
/// on the way from the root all belong to them, and others can write to none but "sticky" ones like `/tmp`, where
/// names can be exchanged by their owners only.
///
/// # Errors
/// A sentence about the directory that is open to others.
pub(crate) fn only_theirs(root: &OwnedFd, directory: &OwnedFd, user: u32) -> io::Result<()> {
    const DEEPEST: usize = 256;
    let root_stat = rustix::fs::fstat(root)?;
    let trusted = [0, user, root_stat.st_uid];
    let mut current = rustix::fs::openat(directory, ".", DIRECTORY, Mode::empty())?;
    for level in 0..DEEPEST {
        let stat = rustix::fs::fstat(&current)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        let name = if level == 0 { "it".to_owned() } else { format!("the directory {level} above it") };
        if !trusted.contains(&stat.st_uid) {
            return Err(io::Error::other(format!("{name} belongs to user {}", stat.st_uid)));
        }
        if mode.intersects(Mode::WGRP | Mode::WOTH) && !mode.contains(Mode::SVTX) {
            return Err(io::Error::other(format!("other users can write to {}", name)));
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

/// Opens a directory as this process names it, to look at it.
pub(crate) fn look(path: &Path) -> io::Result<OwnedFd> {
    let pid = path.strip_prefix("/proc").ok().and_then(|rest| rest.iter().next()?.to_str()?.parse().ok());
    match pid {
        Some(pid) => Starts::of(pid)?.look(path),
        None => open_plainly(path),
    }
}
