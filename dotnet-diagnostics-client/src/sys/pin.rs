//! A process held on to, and work done with its rights on a thread of its own.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::process::{Pid, PidfdFlags};
use rustix::thread::UnshareFlags;
use tokio::sync::oneshot;

use crate::endpoint::Endpoint;
use crate::error::Result;
use crate::transport::{Peer, Stream, Transport, connect_error};

use super::inside::{self, PinnedSocket, Starts};
use super::linux::start_key;
use super::rights::Rights;

/// One process, for as long as it runs: a later one of the same id is another.
#[derive(Debug)]
pub(crate) struct Pin {
    pid: u32,
    /// `None` before Linux 5.3, and where a filter forbids it: the start time alone tells then.
    descriptor: Option<OwnedFd>,
    start: u64,
}

impl Pin {
    pub(crate) fn new(pid: u32) -> io::Result<Self> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let descriptor = rustix::process::pidfd_open(raw, PidfdFlags::empty()).ok();
        let start = start_key(pid).ok_or_else(gone)?;
        let pin = Self { pid, descriptor, start };
        pin.check()?;
        Ok(pin)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// # Errors
    /// [`io::ErrorKind::NotFound`] when the process has ended.
    pub(crate) fn check(&self) -> io::Result<()> {
        let ended = self.descriptor.as_ref().is_some_and(|descriptor| {
            let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            rustix::event::poll(&mut polled, Some(&at_once)).is_ok_and(|ready| ready > 0)
        });
        if ended || start_key(self.pid) != Some(self.start) || !super::exists(self.pid) {
            Err(gone())
        } else {
            Ok(())
        }
    }

    /// Whether it is who is at the other end of a socket. Of a process in a namespace that this one cannot see into
    /// the kernel tells the user only.
    pub(crate) fn is(&self, peer: &Peer) -> bool {
        match peer.pid {
            Some(pid) => pid == self.pid,
            None => Rights::of(self.pid).is_ok_and(|rights| rights.user() == peer.uid),
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the process has ended")
}

/// Whose rights work is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum With {
    /// The process's; without them not at all.
    Theirs,
    /// This process's own: nothing is made or changed.
    Own,
}

/// A process's directories, for work with that process's rights.
#[derive(Debug)]
pub struct Inside {
    starts: Starts,
    rights: Rights,
    with: With,
    /// The kernel itself keeps this thread from doing what a user may not.
    harmless: bool,
}

impl Inside {
    /// The user id of the process, which files are made with.
    pub fn user(&self) -> u32 {
        self.rights.user()
    }

    /// Opens a directory as the process itself names it, and tells its name there, without links.
    ///
    /// # Errors
    /// Where it cannot be opened, or where others than the process's user could put another directory in its place.
    pub fn open(&self, path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
        let root = self.root()?;
        let start = if path.is_absolute() { root } else { self.starts.current()? };
        let below = path.strip_prefix("/").unwrap_or(path);
        let (directory, named) = match inside::open_below(start, below) {
            Ok(directory) => {
                let named = inside::path_below(root, &directory)?;
                (directory, named)
            }
            // Where paths mean the same to both, the usual way leads to what these rights can reach anyhow.
            Err(e)
                if e.kind() == io::ErrorKind::Unsupported
                    && path.is_absolute()
                    && self.starts.are_shared() =>
            {
                (inside::open_plainly(path)?, path.to_owned())
            }
            Err(e) => return Err(e),
        };
        inside::only_theirs(root, &directory, self.user())?;
        Ok((directory, named))
    }

    /// Reads a regular file as the process itself names it, if it is no longer than `most` bytes.
    ///
    /// # Errors
    /// There is none, it is longer, or something else.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let start = match path.is_absolute() {
            true => self.root()?,
            false => self.starts.current()?,
        };
        // To wait for whoever writes to a pipe would be to wait for the target.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = inside::open_below_as(start, path.strip_prefix("/").unwrap_or(path), flags)?;
        let stat = rustix::fs::fstat(&file)?;
        let is_fit = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            && u64::try_from(stat.st_size).is_ok_and(|size| size <= most);
        if !is_fit {
            return Err(io::Error::other("it is no regular file, or too long"));
        }
        let mut bytes = Vec::new();
        File::from(file).take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn root(&self) -> io::Result<&OwnedFd> {
        match self.starts.root() {
            // The same user, and no more than a user: paths are taken to mean the same to both.
            Err(_) if self.harmless => Ok(self.starts.own()),
            root => root,
        }
    }

    /// Opens a directory as this process names it, to look at it.
    pub(crate) fn look(&self, path: &Path) -> io::Result<OwnedFd> {
        self.starts.look(path)
    }

    /// What is needed to do something later with the same rights, when the process may have ended.
    pub fn later(&self) -> Later {
        Later(self.rights.clone())
    }
}

/// The rights that a process had.
#[derive(Debug, Clone)]
pub struct Later(Rights);

impl Later {
    /// Works on a thread that has these rights; where it cannot have them nothing is done.
    ///
    /// # Errors
    /// Where there can be no further thread.
    pub fn act(&self, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        let rights = self.0.clone();
        spawn(move || {
            if rights.take().is_ok() {
                work();
            }
        })
    }
}

/// Works on a thread of its own, which ends afterwards: rights that were given up are not taken back. A file system
/// that does not answer holds up that thread only.
pub(crate) async fn act<R: Send + 'static>(
    pin: Arc<Pin>,
    with: With,
    work: impl FnOnce(&Inside) -> io::Result<R> + Send + 'static,
) -> io::Result<R> {
    let (sender, receiver) = oneshot::channel();
    spawn(move || {
        // Nobody waits any more: that is no failure.
        let _ = sender.send(enter(&pin, with).and_then(|inside| work(&inside)));
    })?;
    receiver.await.map_err(|_| io::Error::other("the thread that worked for it has ended early"))?
}

/// The same, waited for without a runtime.
pub(crate) fn act_within<R: Send + 'static>(
    pin: Arc<Pin>,
    limit: Duration,
    work: impl FnOnce(&Inside) -> io::Result<R> + Send + 'static,
) -> io::Result<R> {
    let (sender, receiver) = mpsc::channel();
    spawn(move || {
        // Nobody waits any more: that is no failure.
        let _ = sender.send(enter(&pin, With::Theirs).and_then(|inside| work(&inside)));
    })?;
    receiver.recv_timeout(limit).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

fn enter(pin: &Pin, with: With) -> io::Result<Inside> {
    let starts = Starts::of(pin.pid)?;
    let rights = Rights::of(pin.pid)?;
    // Both were read of the process that is meant.
    pin.check()?;
    if with == With::Theirs {
        rights.take()?;
    }
    let harmless = !Rights::own()?.are_more_than_a_users();
    Ok(Inside { starts, rights, with, harmless })
}

/// Connects to the socket behind an endpoint with the process's rights. Where they cannot be had, and this process has
/// others than a user's, only to a socket that belongs to the process's user.
pub(crate) async fn connect(pin: &Arc<Pin>, endpoint: &Endpoint) -> Result<Stream> {
    let Endpoint::Socket(path) = endpoint else {
        return endpoint.connect().await;
    };
    let with = |with| {
        let path = path.clone();
        act(Arc::clone(pin), with, move |inside| connect_inside(inside, &path))
    };
    let connected = match with(With::Theirs).await {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => with(With::Own).await,
        done => done,
    };
    let adopted = connected.and_then(|stream| {
        stream.set_nonblocking(true)?;
        tokio::net::UnixStream::from_std(stream)
    });
    adopted.map(Stream::new).map_err(|e| connect_error(endpoint, e))
}

fn connect_inside(inside: &Inside, path: &Path) -> io::Result<UnixStream> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let socket = PinnedSocket::find(&inside.look(parent)?, name)?;
    if inside.with == With::Own && !inside.harmless && socket.owner != inside.user() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    UnixStream::connect(socket.name())
}

/// A thread that sees this process's directories as ever, but has its own umask, as far as the kernel allows.
fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("gcwatch-guest".to_owned()).spawn(move || {
        if own_directory_state().is_ok() {
            rustix::process::umask(Mode::empty());
        }
        work();
    })
}

/// Gives the calling thread a umask (and current directory) of its own. A container's filter may forbid it: modes are
/// then set again on descriptors, and only a umask that takes rights from the owner is felt.
#[expect(unsafe_code, reason = "unshare can also take descriptors away from a thread")]
fn own_directory_state() -> rustix::io::Result<()> {
    // SAFETY: the table of descriptors stays shared; only umask, root and current directory become the thread's own.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }
}
