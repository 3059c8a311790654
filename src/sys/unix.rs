//! Linux and macOS.
#![expect(
    unsafe_code,
    reason = "what a caller has left us, open files and ignored signals, has no safe way to it"
)]

mod files;
mod settings;
mod user;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{self, SignalKind};

use super::shared::Signal;
pub(crate) use files::{Place, create, create_kept, place, replaceable, replacement};
pub(crate) use settings::open_settings;
pub(crate) use user::{is_root, own_uid};

/// Ctrl-C, SIGTERM and SIGHUP, as they come. From its making on they no longer end this process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    /// `None`: it is ignored (`nohup`), or has come.
    hang_up: Option<unix::Signal>,
}

impl Signals {
    /// Starts listening. Must be called within a tokio runtime.
    pub(crate) fn listen() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
            hang_up: match ignores_hang_up() {
                true => None,
                false => Some(unix::signal(SignalKind::hangup())?),
            },
        })
    }

    /// The next one. Cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        let signal = tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt { to_group: in_foreground() },
            Some(()) = self.terminate.recv() => Signal::Terminate,
            Some(()) = hung_up => Signal::HangUp,
            else => std::future::pending().await,
        };
        if signal == Signal::HangUp {
            self.hang_up = None;
        }
        signal
    }
}

/// Whoever started us wants SIGHUP ignored (`nohup`).
fn ignores_hang_up() -> bool {
    // SAFETY: plain data, for which all zeros are valid; the call asks, changes nothing and writes to `now` alone.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
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
        Signal::HangUp => rustix::process::Signal::HUP,
    };
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.ok_or(io::ErrorKind::InvalidInput)?, signal)?;
    Ok(())
}

/// Keeps a process that is about to be started out of the terminal's signals.
pub(crate) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// Closes every descriptor beyond stdin, stdout and stderr that a caller has left open. To be called first.
pub(crate) fn close_inherited() {
    let Ok(open) = fs::read_dir("/dev/fd") else { return };
    let numbers: Vec<i32> = open.flatten().filter_map(|fd| fd.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The list itself was among them, and is closed.
        if Path::new("/dev/fd").join(number.to_string()).exists() {
            // SAFETY: it is open, and nothing in this process owns a descriptor yet: none loses its own.
            unsafe { rustix::io::close(number) };
        }
    }
}

/// The code a shell would show: 128 + n after signal n.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// A directory below `parent` in which only we (and those who know a name in it) can look.
pub(crate) fn make_temp_dir(parent: &Path) -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("gcw")
        .rand_bytes(6)
        .permissions(Permissions::from_mode(0o711))
        .tempdir_in(parent)
}

/// Whether somebody who is neither root nor we can change what is in a file.
pub(crate) fn others_can_change(file: &fs::File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let meta = file.metadata()?;
    Ok(![0, own_uid()].contains(&meta.uid()) || meta.mode() & 0o022 != 0)
}

/// Who may take a lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    /// The process, where it is known which one.
    pub(crate) pid: Option<u32>,
    pub(crate) uid: u32,
}

impl Expected {
    /// Whether it is who has connected. Of a process that we cannot see the kernel tells no id.
    fn is(self, stream: &UnixStream) -> bool {
        let Ok(peer) = stream.peer_cred() else { return false };
        let visible = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
        match (self.pid, visible) {
            (Some(expected), Some(pid)) => pid == expected,
            _ => peer.uid() == self.uid,
        }
    }
}

/// Gives a socket to another user, or with `to_all` opens it to every user: for one in a directory of ours that nobody
/// else can change, so that the name in it is the socket and nothing else.
pub(crate) fn give_socket(socket: &Path, uid: u32, to_all: bool) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let dir = rustix::fs::openat(CWD, dir, flags, Mode::empty())?;
    let meta = rustix::fs::fstat(&dir)?;
    if meta.st_uid != own_uid() || meta.st_mode & 0o022 != 0 {
        return Err(io::Error::other("its directory can be changed by others"));
    }
    let user = Some(rustix::fs::Uid::from_raw(uid));
    if !to_all && rustix::fs::chownat(&dir, name, user, None, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Ok(());
    }
    // Without the right to give it away everybody may dial, too: who is heard is decided when they do.
    Ok(rustix::fs::chmodat(&dir, name, Mode::from_raw_mode(0o666), AtFlags::empty())?)
}

/// What was written to a socket and not yet read at its other end, as the kernel counts it.
#[cfg(target_os = "linux")]
fn unread_bytes(stream: &UnixStream) -> Option<i32> {
    let mut unread = 0;
    // SAFETY: the descriptor is open, and this request writes one number.
    let told =
        unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(stream), libc::TIOCOUTQ, &raw mut unread) };
    (told == 0).then_some(unread)
}

#[cfg(not(target_os = "linux"))]
fn unread_bytes(_stream: &UnixStream) -> Option<i32> {
    None
}

/// The connection that keeps the profiler in the target: a byte a second. Closed or silent, it leaves.
#[derive(Debug)]
pub(crate) struct Lease {
    listener: UnixListener,
    expected: Expected,
    held: Option<UnixStream>,
}

impl Lease {
    /// Waits for this process on a socket that listens.
    pub(crate) fn on(listener: std::os::unix::net::UnixListener, expected: Expected) -> io::Result<Lease> {
        listener.set_nonblocking(true)?;
        Ok(Lease { listener: UnixListener::from_std(listener)?, expected, held: None })
    }

    /// Listens at `path`, for whoever has this user's rights.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn listen(path: &Path) -> io::Result<Lease> {
        let listener = std::os::unix::net::UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Lease::on(listener, Expected { pid: None, uid: own_uid() })
    }

    /// Waits until the profiler has come. Whoever else connects is hung up on.
    pub(crate) async fn taken(&mut self) -> io::Result<()> {
        let stream = loop {
            let (stream, _) = self.listener.accept().await?;
            if self.expected.is(&stream) {
                break stream;
            }
            tracing::debug!("somebody else has connected to the lease: {:?}", stream.peer_cred());
        };
        self.held = Some(stream);
        self.beat();
        Ok(())
    }

    /// Says that we are still here, and never waits: where the buffer is full the profiler has not read for minutes,
    /// and one beat more tells it nothing. One that has gone is found out by what it sends, not here.
    pub(crate) fn beat(&self) {
        if let Some(stream) = &self.held
            && let Err(e) = stream.try_write(&[1])
        {
            tracing::trace!("beat: {e}");
        }
    }

    /// Whether the profiler has read every beat so far: its process runs. `None` without a profiler, and where the
    /// system does not tell.
    pub(crate) fn all_read(&self) -> Option<bool> {
        let unread = unread_bytes(self.held.as_ref()?)?;
        Some(unread == 0)
    }

    /// Forgets whoever has come by now: one that was turned away is gone again.
    pub(crate) async fn forget_arrivals(&mut self) {
        /// Whoever may connect could do so without end.
        const MOST: usize = 64;
        // A listener with nobody in line is pending at the first look.
        for _ in 0..MOST {
            if !matches!(tokio::time::timeout(Duration::ZERO, self.listener.accept()).await, Ok(Ok(_))) {
                return;
            }
        }
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn beats_never_wait_for_their_reader() -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let dir = tempfile::tempdir()?;
            let path = dir.path().join("lease");
            let listener = std::os::unix::net::UnixListener::bind(&path)?;
            let mut lease = Lease::on(listener, Expected { pid: None, uid: own_uid() })?;
            assert_eq!(lease.all_read(), None);
            let mut profiler = std::os::unix::net::UnixStream::connect(&path)?;
            lease.taken().await?;
            // Far more than a socket's buffer holds.
            let beats = async {
                for _ in 0..20_000 {
                    lease.beat();
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), beats).await?;
            let tells = cfg!(target_os = "linux");
            assert_eq!(lease.all_read(), tells.then_some(false));
            profiler.set_nonblocking(true)?;
            let mut read = 0;
            while let Ok(n @ 1..) = profiler.read(&mut [0; 4096]) {
                read += n;
            }
            assert!((1..20_000).contains(&read), "{read} beats were kept");
            assert_eq!(lease.all_read(), tells.then_some(true));
            // It reads again: the next beat arrives.
            let heard = async {
                loop {
                    lease.beat();
                    if let Ok(1..) = profiler.read(&mut [0; 8]) {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), heard).await?;
            Ok(())
        })
    }

    /// Only the process that is expected gets the lease; of one that cannot be told, its user.
    #[tokio::test]
    async fn a_stranger_does_not_get_the_lease() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let (own_pid, uid) = (std::process::id(), own_uid());
        for (n, (pid, uid, comes)) in [
            (Some(own_pid), uid, true),
            (None, uid, true),
            (Some(own_pid + 1), uid, false),
            (None, uid + 1, false),
        ]
        .into_iter()
        .enumerate()
        {
            let path = dir.path().join(n.to_string());
            let listener = std::os::unix::net::UnixListener::bind(&path)?;
            let mut lease = Lease::on(listener, Expected { pid, uid })?;
            let mut peer = UnixStream::connect(&path).await?;
            let limit = if comes { Duration::from_secs(30) } else { Duration::from_millis(200) };
            let took = tokio::time::timeout(limit, lease.taken()).await;
            assert_eq!(took.is_ok(), comes, "{n}");
            // Who is expected gets a beat, and anybody else the end.
            assert_eq!(AsyncReadExt::read(&mut peer, &mut [0]).await?, usize::from(comes), "{n}");
        }
        Ok(())
    }
}
