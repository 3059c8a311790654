//! Puts the profiler library and the lease's socket into a directory that the target can reach (Linux).
//!
//! gcwatch does this with the target's rights and through descriptors: a path can lead somewhere else at any moment,
//! and gcwatch must do nothing for the target's user that he could not do himself.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use dotnet_diagnostics_client::{Pinned, ProcessFiles, ProcessRights};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::leftover::{self, LEASE};
use super::unix::{Expected, Lease};

/// A network file system or one in user space (FUSE) may never answer.
const MEET_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the target finds the library and the lease's socket, and our end of the lease.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// The library's path, as the target sees it.
    pub(crate) library: PathBuf,
    /// The path of the lease's socket, as the target sees it.
    pub(crate) lease_path: PathBuf,
    pub(crate) lease: Lease,
    /// Removes the socket when dropped.
    pub(crate) name: SocketName,
}

/// Puts the library and the lease's socket where `process` can reach them; without a process, where those that we
/// start can.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] if gcwatch cannot take on the process's rights; otherwise what is wrong with
/// each directory.
pub(crate) async fn meet(
    process: Option<&Pinned>,
    dirs: Vec<PathBuf>,
    file_name: String,
    library: Vec<u8>,
) -> io::Result<Meeting> {
    let ourselves;
    let (pinned, pid) = match process {
        Some(pinned) => (pinned, Some(pinned.pid())),
        None => {
            ourselves = Pinned::new(std::process::id())?;
            (&ourselves, None)
        }
    };
    let work = pinned.run_as_user(move |inside| {
        let mut problems = Vec::new();
        for dir in &dirs {
            match meet_in(inside, dir, &file_name, &library) {
                Ok(met) => return Ok(met),
                Err(e) => problems.push(format!("{}: {e}", dir.display())),
            }
        }
        Err(io::Error::other(problems.join("; ")))
    });
    let silent = |_| io::Error::new(io::ErrorKind::TimedOut, "its file system does not answer");
    let met = tokio::time::timeout(MEET_TIMEOUT, work).await.map_err(silent)??;
    let expected = Expected { pid, uid: met.user };
    let lease = Lease::on(met.listener, expected)?;
    Ok(Meeting { library: met.library, lease_path: met.lease_path, lease, name: met.name })
}

/// Reads a file that a process names, with that process's rights, so that gcwatch reads only what the process can.
pub(crate) fn read_of(pid: u32, path: PathBuf, most: u64) -> io::Result<Vec<u8>> {
    const READ_TIMEOUT: Duration = Duration::from_secs(2);
    Pinned::new(pid)?.run_as_user_within(READ_TIMEOUT, move |inside| inside.read(&path, most))
}

/// What the thread with the target's rights hands back to [`meet`].
struct Met {
    library: PathBuf,
    lease_path: PathBuf,
    listener: UnixListener,
    user: u32,
    name: SocketName,
}

fn meet_in(inside: &ProcessFiles, dir: &Path, file_name: &str, library: &[u8]) -> io::Result<Met> {
    let (temp, path) = inside.open(dir)?;
    if rustix::fs::fstatvfs(&temp)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(io::Error::other("it is mounted noexec, so nothing can be loaded from it"));
    }
    let shared = place(inside, &temp, file_name, library)?;
    let (name, listener) = listen(inside, &temp)?;
    Ok(Met {
        library: path.join(shared).join(file_name),
        lease_path: path.join(&name.directory_name).join(LEASE),
        listener,
        user: inside.user(),
        name,
    })
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const ALL_CAN_READ: Mode = Mode::RWXU.union(Mode::RGRP).union(Mode::XGRP).union(Mode::ROTH).union(Mode::XOTH);

/// Puts the library into a directory below `temp`, and returns that directory's name. An earlier directory is used
/// again if it is fit, so that a process that loaded the library before finds the same file.
fn place(inside: &ProcessFiles, temp: &OwnedFd, file_name: &str, library: &[u8]) -> io::Result<OsString> {
    let usual = format!("gcwatch-{}", inside.user());
    make_directory(temp, &usual, ALL_CAN_READ)?;
    let mut names = vec![usual.clone().into()];
    // Something else may have the usual name, such as another user's directory. gcwatch leaves that as it is.
    names.extend(names_with(temp, &format!("{usual}-"))?);
    for name in names {
        if let Some(directory) = open_fit(inside, temp, &name)?
            && put(inside, &directory, file_name, library)?
        {
            return Ok(name);
        }
    }
    let name = unused(&format!("{usual}-"));
    if !make_directory(temp, &name, ALL_CAN_READ)? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let directory = open_fit(inside, temp, &name.clone().into())?;
    match directory.map(|directory| put(inside, &directory, file_name, library)).transpose() {
        Ok(Some(true)) => Ok(name.into()),
        other => {
            // This fails if the directory is not empty, which is rare.
            let _ = rustix::fs::unlinkat(temp, &name, AtFlags::REMOVEDIR);
            let changed = || io::Error::other("files there do not belong to who made them");
            Err(other.err().unwrap_or_else(changed))
        }
    }
}

/// Makes a directory; `false` if the name is taken.
fn make_directory(parent: &OwnedFd, name: &str, mode: Mode) -> io::Result<bool> {
    match rustix::fs::mkdirat(parent, name, mode) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// The names of directories that an earlier gcwatch may have made because the usual name was taken.
fn names_with(temp: &OwnedFd, prefix: &str) -> io::Result<Vec<OsString>> {
    /// Any user can create any number of names with this prefix.
    const MAX_NAMES: usize = 16;
    let mut fitting = names_that(temp, MAX_NAMES, |name| name.starts_with(prefix.as_bytes()))?;
    fitting.sort_unstable();
    Ok(fitting)
}

/// At most so many of the names in a directory that fit.
fn names_that(temp: &OwnedFd, most: usize, fits: impl Fn(&[u8]) -> bool) -> io::Result<Vec<OsString>> {
    use std::os::unix::ffi::OsStrExt;
    const MAX_ENTRIES: usize = 20_000;
    let directory = match rustix::fs::openat(temp, ".", DIRECTORY, Mode::empty()) {
        Ok(directory) => directory,
        // gcwatch can use a directory that it cannot list.
        Err(Errno::ACCESS) => return Ok(Vec::new()),
        Err(e) => return Err(e.into()),
    };
    let entries = rustix::fs::Dir::new(directory)?.take(MAX_ENTRIES).flatten();
    let names = entries.map(|entry| std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    Ok(names.filter(|name| fits(name.as_bytes())).take(most).collect())
}

/// A name that nobody can predict.
fn unused(prefix: &str) -> String {
    let random = |_| fastrand::alphanumeric();
    prefix.chars().chain((0..leftover::RANDOM_CHARS).map(random)).collect()
}

/// Opens a directory if it belongs to the target's user and nobody else can write to it; otherwise `None`.
fn open_fit(inside: &ProcessFiles, temp: &OwnedFd, name: &OsString) -> io::Result<Option<OwnedFd>> {
    let directory = match rustix::fs::openat(temp, name, DIRECTORY, Mode::empty()) {
        Ok(directory) => directory,
        Err(Errno::LOOP | Errno::NOTDIR | Errno::ACCESS | Errno::NOENT) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let stat = rustix::fs::fstat(&directory)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    let fit = stat.st_uid == inside.user()
        && mode.contains(Mode::RWXU)
        && !mode.intersects(Mode::WGRP | Mode::WOTH);
    Ok(fit.then_some(directory))
}

/// Puts the library into a directory unless it is there; `false` if something else has its name. It never overwrites a
/// file, because a process may have it mapped.
fn put(inside: &ProcessFiles, directory: &OwnedFd, file_name: &str, library: &[u8]) -> io::Result<bool> {
    match is_there(inside, directory, file_name, library)? {
        Some(same) => return Ok(same),
        None => write_once(directory, file_name, library)?,
    }
    // Another gcwatch may have been faster.
    Ok(is_there(inside, directory, file_name, library)? == Some(true))
}

/// Whether a file is the library and only the target's user can change it; `None` if there is no file. This only
/// tells whether the file is usable: that user can change it at any time, but harms only his own process.
fn is_there(
    inside: &ProcessFiles,
    directory: &OwnedFd,
    file_name: &str,
    library: &[u8],
) -> io::Result<Option<bool>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(directory, file_name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(_) => return Ok(Some(false)),
    };
    let stat = rustix::fs::fstat(&file)?;
    let fit = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_uid == inside.user()
        && !Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH)
        && u64::try_from(stat.st_size).ok() == u64::try_from(library.len()).ok();
    if !fit {
        return Ok(Some(false));
    }
    let mut found = Vec::with_capacity(library.len());
    File::from(file).take(library.len() as u64).read_to_end(&mut found)?;
    Ok(Some(found == library))
}

/// Writes to a temporary name and renames it, so that nobody finds an incomplete file.
fn write_once(directory: &OwnedFd, file_name: &str, library: &[u8]) -> io::Result<()> {
    let temporary = unused(".gcw");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(directory, &temporary, flags, Mode::RUSR | Mode::WUSR)?);
    let readable = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let written = file.write_all(library).and_then(|()| {
        rustix::fs::fchmod(&file, readable)?;
        match rustix::fs::renameat_with(directory, &temporary, directory, file_name, RenameFlags::NOREPLACE) {
            // Some file systems cannot rename without replacing, but make hard links.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(directory, &temporary, directory, file_name, AtFlags::empty())
            }
            renamed => renamed,
        }?;
        Ok(())
    });
    match written {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
            Err(e)
        }
        // After a hard link, or if another gcwatch was faster, the temporary name still exists.
        _ => {
            let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
            Ok(())
        }
    }
}

/// Makes a directory that only the target's user may enter, and listens on a socket in it.
fn listen(inside: &ProcessFiles, temp: &OwnedFd) -> io::Result<(SocketName, UnixListener)> {
    let directory_name = unused(leftover::PREFIX);
    rustix::fs::mkdirat(temp, &directory_name, Mode::RWXU)?;
    listen_in(inside, temp, &directory_name).inspect_err(|_| {
        let _ = rustix::fs::unlinkat(temp, &directory_name, AtFlags::REMOVEDIR);
    })
}

fn listen_in(
    inside: &ProcessFiles,
    temp: &OwnedFd,
    directory_name: &str,
) -> io::Result<(SocketName, UnixListener)> {
    let directory = rustix::fs::openat(temp, directory_name, DIRECTORY, Mode::empty())?;
    let stat = rustix::fs::fstat(&directory)?;
    let others = Mode::RWXG | Mode::RWXO;
    if stat.st_uid != inside.user() || Mode::from_raw_mode(stat.st_mode).intersects(others) {
        return Err(io::Error::other("directories there do not belong to who made them"));
    }
    if let Err(e) = leftover::mark_used(&directory) {
        tracing::debug!("the lease's directory cannot be marked as used: {e}");
    }
    let names = names_that(temp, leftover::MAX_DIRECTORIES, leftover::is_name).unwrap_or_default();
    leftover::remove(temp, &names, &stat);
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    // `bind` gives the socket's file the mode of the descriptor.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    // This goes through the open directory, not its path. `bind` refuses a name that exists, even a link.
    let address = SocketAddrUnix::new(format!("/proc/self/fd/{}/{LEASE}", directory.as_raw_fd()))?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, 16)?;
    let held = Held { temp: temp.try_clone()?, directory, rights: inside.rights() };
    Ok((
        SocketName { directory_name: directory_name.to_owned(), held: Some(held) },
        UnixListener::from(socket),
    ))
}

/// The lease's socket and the directory that was made for it. Dropping this removes both, with the target's rights.
#[derive(Debug)]
pub(crate) struct SocketName {
    directory_name: String,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    temp: OwnedFd,
    directory: OwnedFd,
    rights: ProcessRights,
}

impl Drop for SocketName {
    fn drop(&mut self) {
        /// If removing takes longer, an unused directory stays, which does no harm.
        const REMOVE_TIMEOUT: Duration = Duration::from_secs(1);
        let Some(Held { temp, directory, rights }) = self.held.take() else { return };
        let name = std::mem::take(&mut self.directory_name);
        let (sender, done) = mpsc::channel();
        let started = rights.run(move || {
            let removed = rustix::fs::unlinkat(&directory, LEASE, AtFlags::empty())
                .and_then(|()| rustix::fs::unlinkat(&temp, &name, AtFlags::REMOVEDIR));
            let _ = sender.send(removed);
        });
        let removed = started.map(|_thread| done.recv_timeout(REMOVE_TIMEOUT));
        if !matches!(removed, Ok(Ok(Ok(())))) {
            tracing::debug!("could not remove the lease's directory: {removed:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opening a FIFO would wait for a writer, and a target's user can put one where its settings are expected.
    #[test]
    fn a_fifo_is_not_waited_for() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let fifo = dir.path().join("app.runtimeconfig.json");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        assert!(read_of(std::process::id(), fifo, 1 << 20).is_err());
        Ok(())
    }
}
