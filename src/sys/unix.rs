//! Linux and macOS.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{self, SignalKind};

use super::Signal;

/// Ctrl-C and SIGTERM, as they come. From its making on they no longer end this process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

impl Signals {
    /// Starts listening. Must be called within a tokio runtime.
    pub(crate) fn listen() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
        })
    }

    /// The next one. Cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt { to_group: in_foreground() },
            Some(()) = self.terminate.recv() => Signal::Terminate,
            else => std::future::pending().await,
        }
    }
}

/// We are in the foreground of a terminal: its Ctrl-C reaches our children as it reaches us.
fn in_foreground() -> bool {
    let Ok(terminal) = fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// How much more can be written to the file system of a directory; `None` where it does not say.
pub(crate) fn free_bytes(dir: &Path) -> Option<u64> {
    let file_system = rustix::fs::statvfs(dir).ok()?;
    Some(file_system.f_bavail.saturating_mul(file_system.f_frsize))
}

/// Reads a file at a place.
pub(crate) fn read_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// Passes a signal on to a child.
pub(crate) fn forward(pid: u32, signal: Signal) -> io::Result<()> {
    let signal = match signal {
        Signal::Interrupt { .. } => rustix::process::Signal::INT,
        Signal::Terminate => rustix::process::Signal::TERM,
    };
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.ok_or(io::ErrorKind::InvalidInput)?, signal)?;
    Ok(())
}

/// Keeps a process that is about to be started out of the terminal's signals.
pub(crate) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// The code a shell would show: 128 + n after signal n.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// The user we act as.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether we act as the user who usually may do everything.
pub(crate) fn is_root() -> bool {
    own_uid() == 0
}

/// Whether paths mean the same to that process as to us. Unknown is yes: the loader will tell.
pub(crate) fn same_mounts(pid: u32) -> bool {
    let namespace = |p: String| fs::read_link(p).ok();
    match (namespace(format!("/proc/{pid}/ns/mnt")), namespace("/proc/self/ns/mnt".into())) {
        (Some(theirs), Some(ours)) => theirs == ours,
        _ => true,
    }
}

/// A directory below `parent` in which only we (and those who know a name in it) can look.
pub(crate) fn make_temp_dir(parent: &Path) -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("gcw")
        .rand_bytes(6)
        .permissions(Permissions::from_mode(0o711))
        .tempdir_in(parent)
}

/// The directory for the library below `parent`: ours alone to write, for all to read.
pub(crate) fn make_shared_dir(parent: &Path) -> io::Result<PathBuf> {
    let dir = parent.join(format!("gcwatch-{}", own_uid()));
    match DirBuilder::new().mode(0o755).create(&dir) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let meta = fs::symlink_metadata(&dir)?;
    if !meta.is_dir() || meta.uid() != own_uid() || meta.mode() & 0o022 != 0 {
        return Err(io::Error::other(format!(
            "{} belongs to someone else, or others can write to it",
            dir.display()
        )));
    }
    Ok(dir)
}

/// A regular file of ours that nobody else can write.
pub(crate) fn made_by_us(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|m| m.is_file() && m.uid() == own_uid() && m.mode() & 0o022 == 0)
}

/// Readable for every target, writable for none.
pub(crate) fn readable_by_all(file: &fs::File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o644))
}

/// Lets the target's user connect to a socket of ours.
pub(crate) fn give_to(path: &Path, uid: u32) -> io::Result<()> {
    if uid == own_uid() { Ok(()) } else { std::os::unix::fs::chown(path, Some(uid), None) }
}

/// The connection that keeps the profiler in the target: a byte a second. Closed or silent, it leaves.
#[derive(Debug)]
pub(crate) struct Lease {
    listener: UnixListener,
    held: Option<UnixStream>,
}

impl Lease {
    /// Listens at `path`.
    pub(crate) fn listen(path: &Path) -> io::Result<Lease> {
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Lease { listener, held: None })
    }

    /// Waits until the profiler has come.
    pub(crate) async fn taken(&mut self) -> io::Result<()> {
        let (stream, _) = self.listener.accept().await?;
        self.held = Some(stream);
        // It may have gone again with its process: it came all the same.
        let _gone = self.beat().await;
        Ok(())
    }

    /// Says that we are still here.
    pub(crate) async fn beat(&mut self) -> io::Result<()> {
        match &mut self.held {
            Some(stream) => stream.write_all(&[1]).await,
            None => Ok(()),
        }
    }

    /// Forgets whoever has come by now: one that was turned away is gone again.
    pub(crate) async fn forget_arrivals(&mut self) {
        // A listener with nobody in line is pending at the first look.
        while let Ok(Ok(_)) = tokio::time::timeout(Duration::ZERO, self.listener.accept()).await {}
    }

    /// Says that it is over, and keeps the other half of the connection, to see when it ends.
    pub(crate) async fn end(&mut self) {
        if let Some(stream) = &mut self.held
            && let Err(e) = stream.shutdown().await
        {
            tracing::debug!("lease: {e}");
        }
    }

    /// Waits until the profiler is out. Cancel safe.
    pub(crate) async fn gone(&mut self) {
        if let Some(stream) = &mut self.held {
            // It sends nothing.
            let _end = stream.read(&mut [0]).await;
            self.held = None;
        }
    }
}
