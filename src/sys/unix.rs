//! Linux and macOS.
#![expect(unsafe_code, reason = "there is no safe interface to inherited descriptors and ignored signals")]

mod files;
mod port_place;
mod process;
mod settings;
mod terminal;
mod user;

use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use netcore_profiler::wire::{LEASE_GOODBYE, LEASE_GRAPH, LEASE_HEARTBEAT};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{self, SignalKind};

use super::shared::Signal;
#[cfg(not(target_os = "linux"))]
pub(super) use files::make_temp_dir;

/// All users can write to this directory, and only the owner of a file can remove or rename it.
pub(crate) const SHARED_TEMP_DIR: Option<&str> = Some("/tmp");
pub(crate) use files::{Place, create, create_kept, place, replaceable, replacement};
pub(crate) use port_place::PortPlace;
pub(crate) use process::{memory_bytes, peak_memory_bytes, thread_names};
pub(crate) use settings::open_settings;
pub(crate) use terminal::terminal_input;
pub(crate) use user::{is_root, own_uid};

/// Receives Ctrl-C, SIGTERM and SIGHUP. Once this exists, they no longer end the process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    /// `None` if SIGHUP is ignored (`nohup`), or has arrived already.
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

    /// Waits for the next signal. Cancel safe.
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

/// Whether gcwatch was started with SIGHUP ignored (`nohup`).
fn ignores_hang_up() -> bool {
    // SAFETY: `sigaction` is plain data, for which all zeros are valid. Without a new action the call changes nothing
    // and writes only to `now`.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Whether we are in the foreground of a terminal, whose Ctrl-C then also reaches our children.
fn in_foreground() -> bool {
    let Ok(terminal) = fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// The standard output.
pub(crate) fn stdout() -> io::Stdout {
    io::stdout()
}

/// The free space of a directory's file system; `None` if it does not say.
pub(crate) fn free_bytes(dir: &Path) -> Option<u64> {
    let file_system = rustix::fs::statvfs(dir).ok()?;
    Some(file_system.f_bavail.saturating_mul(file_system.f_frsize))
}

/// Reads a file at an offset.
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

/// Makes a command start in a process group of its own, which the terminal's signals do not reach.
pub(crate) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// Closes every inherited descriptor but stdin, stdout and stderr. Must be called first.
pub(crate) fn close_inherited() {
    let Ok(open) = fs::read_dir("/dev/fd") else { return };
    let numbers: Vec<i32> = open.flatten().filter_map(|fd| fd.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The descriptor of the listing itself is in the list, and is closed already.
        if Path::new("/dev/fd").join(number.to_string()).exists() {
            // SAFETY: the descriptor is open, and nothing in this process owns a descriptor yet.
            unsafe { rustix::io::close(number) };
        }
    }
}

pub(crate) use std::os::fd::AsFd as AsStream;

/// Whether a terminal understands escape sequences: here each does.
pub(crate) fn shows_escapes(_terminal: &impl AsStream) -> bool {
    true
}

/// The exit code that a shell would show: 128 + n after signal n.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Whether anyone but root and us can change a file.
pub(crate) fn others_can_change(file: &fs::File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let meta = file.metadata()?;
    Ok(![0, own_uid()].contains(&meta.uid()) || meta.mode() & 0o022 != 0)
}

/// Which process may connect to the lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    /// `None` if any process of the user may connect.
    pub(crate) pid: Option<u32>,
    pub(crate) uid: u32,
}

impl Expected {
    /// Whether this peer may connect. The kernel gives no process id for one that we cannot see: then the user decides.
    fn is(self, stream: &UnixStream) -> bool {
        let Ok(peer) = stream.peer_cred() else { return false };
        let visible = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
        match (self.pid, visible) {
            (Some(expected), Some(pid)) => pid == expected,
            _ => peer.uid() == self.uid,
        }
    }
}

/// What we wrote to a socket and its peer has not read yet, as the kernel counts it.
#[cfg(target_os = "linux")]
fn unread_bytes(stream: &UnixStream) -> Option<i32> {
    let mut unread = 0;
    // SAFETY: the descriptor is open, and this request writes one `int`, which `unread` is.
    let status =
        unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(stream), libc::TIOCOUTQ, &raw mut unread) };
    (status == 0).then_some(unread)
}

#[cfg(not(target_os = "linux"))]
fn unread_bytes(_stream: &UnixStream) -> Option<i32> {
    None
}

/// The connection over which a heap graph comes.
pub(crate) type GraphStream = UnixStream;

/// Takes the next connection of the expected process, and closes any other.
async fn arrival(listener: &UnixListener, expected: Expected) -> io::Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().await?;
        if expected.is(&stream) {
            return Ok(stream);
        }
        tracing::debug!("closed a stranger's connection to the lease: {:?}", stream.peer_cred());
    }
}

/// Keeps the profiler in the target: gcwatch sends a byte a second. If it stops or hangs up, the profiler leaves.
#[derive(Debug)]
pub(crate) struct Lease {
    listener: Arc<UnixListener>,
    expected: Expected,
    held: Option<UnixStream>,
}

impl Lease {
    /// Waits for the expected process on a listening socket.
    pub(crate) fn on(listener: std::os::unix::net::UnixListener, expected: Expected) -> io::Result<Lease> {
        listener.set_nonblocking(true)?;
        Ok(Lease { listener: Arc::new(UnixListener::from_std(listener)?), expected, held: None })
    }

    /// Listens at `path` for any process of this user.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn listen(path: &Path) -> io::Result<Lease> {
        let listener = std::os::unix::net::UnixListener::bind(path)?;
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Lease::on(listener, Expected { pid: None, uid: own_uid() })
    }

    /// Waits until the profiler connects. Any other connection is closed.
    pub(crate) async fn taken(&mut self) -> io::Result<()> {
        self.held = Some(arrival(&self.listener, self.expected).await?);
        self.beat();
        Ok(())
    }

    /// Asks the profiler, which has connected before, for a heap graph. Returns its second connection to come.
    ///
    /// # Errors
    /// The profiler is not there.
    pub(crate) async fn ask_for_graph(
        &mut self,
    ) -> io::Result<impl Future<Output = io::Result<GraphStream>> + use<>> {
        let held = self.held.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        held.write_all(&[LEASE_GRAPH]).await?;
        let (listener, expected) = (Arc::clone(&self.listener), self.expected);
        Ok(async move { arrival(&listener, expected).await })
    }

    /// Sends a heartbeat, and never waits: if the buffer is full, the profiler has not read for minutes, and one more
    /// byte would not help. A failed write does not show that the profiler has left; [`Lease::gone`] does.
    pub(crate) fn beat(&self) {
        if let Some(stream) = &self.held
            && let Err(e) = stream.try_write(&[LEASE_HEARTBEAT])
        {
            tracing::trace!("could not send a heartbeat: {e}");
        }
    }

    /// Whether the profiler has read every heartbeat so far, which shows that its process runs. `None` without a
    /// profiler, and where the system does not say.
    pub(crate) fn all_read(&self) -> Option<bool> {
        let unread = unread_bytes(self.held.as_ref()?)?;
        Some(unread == 0)
    }

    /// Closes the waiting connections: a profiler that came too late for its window must leave again.
    pub(crate) async fn forget_arrivals(&mut self) {
        /// Peers could keep connecting without end.
        const MAX_ARRIVALS: usize = 64;
        // Without a waiting connection, `accept` is pending at its first poll.
        for _ in 0..MAX_ARRIVALS {
            if !matches!(tokio::time::timeout(Duration::ZERO, self.listener.accept()).await, Ok(Ok(_))) {
                return;
            }
        }
    }

    /// Tells the profiler to leave. The read half stays open, to see when it has left.
    pub(crate) async fn end(&mut self) {
        let Some(stream) = &mut self.held else { return };
        if let Err(e) = stream.try_write(&[LEASE_GOODBYE]) {
            tracing::trace!("could not say goodbye: {e}");
        }
        // If the buffer is full, the end of our side says the same.
        if let Err(e) = stream.shutdown().await {
            tracing::debug!("could not end the lease: {e}");
        }
    }

    /// Waits until the profiler has left. Cancel safe.
    pub(crate) async fn gone(&mut self) {
        if let Some(stream) = &mut self.held {
            // The profiler sends nothing: the read ends when it closes the connection.
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
            // The profiler reads again, so the next heartbeat arrives.
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

    /// Only the expected process gets the lease, or any process of the expected user if no process is named.
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
            // The expected peer gets a heartbeat, any other the end of the connection.
            assert_eq!(AsyncReadExt::read(&mut peer, &mut [0]).await?, usize::from(comes), "{n}");
        }
        Ok(())
    }
}
