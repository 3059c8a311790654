//! Work with the files of another process, with that process's rights, on a thread of its own.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::thread::UnshareFlags;
use tokio::sync::oneshot;

use super::inside::{self, PinnedSocket, Roots};
use super::pin::Pin;
use super::rights::Rights;

/// Whose rights a thread works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RightsOf {
    /// Those of the process. Without them the work is not done.
    Process,
    /// This process's own. The work then only looks at files and connects to sockets.
    Caller,
}

/// The files of a process, as that process names and may access them.
///
/// [`Pinned::run_as_user`](crate::Pinned::run_as_user) gives it to work that runs with the rights of the process.
#[derive(Debug)]
pub struct ProcessFiles {
    roots: Roots,
    rights: Rights,
    rights_of: RightsOf,
    /// This thread has no privileges: the kernel itself refuses what the user may not do.
    is_unprivileged: bool,
}

impl ProcessFiles {
    /// The user id with which the process creates files.
    pub fn user(&self) -> u32 {
        self.rights.user()
    }

    /// Opens a directory by the name that it has in the process. Also returns that name with all symbolic links
    /// resolved.
    ///
    /// # Errors
    /// The directory cannot be opened, or users other than root and the process's own could replace it by another one.
    pub fn open(&self, path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
        let root = self.root()?;
        let (directory, resolved) = match inside::open_below(self.start_of(path)?, below_root(path)) {
            Ok(directory) => {
                let resolved = inside::path_below(root, &directory)?;
                (directory, resolved)
            }
            // Paths mean the same to both processes, so the plain call opens nothing that these rights do not allow.
            Err(e)
                if e.kind() == io::ErrorKind::Unsupported
                    && path.is_absolute()
                    && self.roots.are_shared() =>
            {
                (inside::open_directory(path)?, path.to_owned())
            }
            Err(e) => return Err(e),
        };
        inside::check_not_replaceable(root, &directory, self.user())?;
        Ok((directory, resolved))
    }

    /// Reads a regular file of at most `max_bytes` bytes by the name that it has in the process.
    ///
    /// # Errors
    /// The file is longer, is no regular file, or cannot be read.
    pub fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        // NONBLOCK: opening a pipe must not wait for a writer, which the process could withhold.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = inside::open_below_as(self.start_of(path)?, below_root(path), flags)?;
        let stat = rustix::fs::fstat(&file)?;
        let is_fit = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            && u64::try_from(stat.st_size).is_ok_and(|size| size <= max_bytes);
        if !is_fit {
            return Err(io::Error::other("it is no regular file, or too long"));
        }
        let mut bytes = Vec::new();
        File::from(file).take(max_bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The rights of the process, for work that is done later, even when the process has ended.
    pub fn rights(&self) -> ProcessRights {
        ProcessRights(self.rights.clone())
    }

    /// The directory at which a path of the process begins.
    fn start_of(&self, path: &Path) -> io::Result<&OwnedFd> {
        if path.is_absolute() { self.root() } else { self.roots.current() }
    }

    fn root(&self) -> io::Result<&OwnedFd> {
        match self.roots.root() {
            // Both processes have the same, unprivileged user: paths are taken to mean the same to both.
            Err(_) if self.is_unprivileged => Ok(&self.roots.own),
            root => root,
        }
    }

    fn connect(&self, path: &Path) -> io::Result<UnixStream> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let socket = PinnedSocket::find(&self.roots.open_for_search(parent)?, name)?;
        let with_more_rights = self.rights_of == RightsOf::Caller && !self.is_unprivileged;
        if with_more_rights && socket.owner != self.user() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        UnixStream::connect(socket.path())
    }
}

fn below_root(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// The rights of a process: its user, groups and capabilities.
#[derive(Debug, Clone)]
pub struct ProcessRights(Rights);

impl ProcessRights {
    /// Runs work on a thread with these rights. If the thread cannot get them, the work is not done.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn run(&self, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        let rights = self.0.clone();
        spawn(move || {
            if rights.take().is_ok() {
                work();
            }
        })
    }
}

pub(crate) async fn run_with<R: Send + 'static>(
    pin: Arc<Pin>,
    rights_of: RightsOf,
    work: impl FnOnce(&ProcessFiles) -> io::Result<R> + Send + 'static,
) -> io::Result<R> {
    let (sender, receiver) = oneshot::channel();
    // If sending fails, the caller has stopped waiting.
    spawn(move || drop(sender.send(enter(&pin, rights_of).and_then(|files| work(&files)))))?;
    receiver.await.map_err(|_| io::Error::other("the thread that worked for it has ended early"))?
}

pub(crate) fn enter(pin: &Pin, rights_of: RightsOf) -> io::Result<ProcessFiles> {
    let roots = Roots::of(pin.pid)?;
    let rights = Rights::of(pin.pid)?;
    // After both were read: they are those of the pinned process, not of a later one with its id.
    pin.check()?;
    if rights_of == RightsOf::Process {
        rights.take()?;
    }
    let is_unprivileged = !Rights::own()?.are_privileged();
    Ok(ProcessFiles { roots, rights, rights_of, is_unprivileged })
}

/// Connects to a socket with the rights of the process. If this process cannot get them and is privileged itself, it
/// connects only to a socket that the process's user owns.
pub(crate) async fn connect(pin: &Arc<Pin>, path: &Path) -> io::Result<UnixStream> {
    let with = |rights_of| {
        let path = path.to_owned();
        run_with(Arc::clone(pin), rights_of, move |files| files.connect(&path))
    };
    match with(RightsOf::Process).await {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => with(RightsOf::Caller).await,
        connected => connected,
    }
}

/// Starts work on a new thread with a umask of its own, as far as the kernel allows. The thread ends with the work,
/// because a thread cannot take back rights that it gave up. A file system that does not answer blocks only this thread.
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("process-files".to_owned()).spawn(move || {
        if unshare_umask().is_ok() {
            rustix::process::umask(Mode::empty());
        }
        work();
    })
}

/// Gives the calling thread its own umask and current directory. A container's seccomp filter may forbid it; modes are
/// then set again through descriptors, so only a umask that takes rights from the owner has an effect.
#[expect(unsafe_code, reason = "unshare can also take descriptors away from a thread")]
fn unshare_umask() -> rustix::io::Result<()> {
    // SAFETY: the descriptor table stays shared; only umask, root and current directory become the thread's own.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }
}
