//! The directory of a launch with the port in it, and the guard that opens the port again when gcwatch is gone.
//!
//! Every process that a launched program starts inherits `DOTNET_DiagnosticPorts=...,suspend`: its .NET runtime waits at
//! its start until somebody resumes it through that port, for ever if nobody does. So a process of its own, the guard,
//! waits for gcwatch's end, killed or not, and then resumes whoever dials, until no process has the port in its
//! environment any more.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dotnet_diagnostics_client::process;
use tokio::time::sleep;

use super::admission::Admission;
use super::port_name::{PORTS, names_port};
use super::unwatched::Unwatched;
use crate::sys;

/// The word that makes gcwatch a guard; people do not type it.
pub(crate) const WORD: &str = "guard-port";
/// How often the guard looks whether the process that it waits for still has the port.
const HOLDER_INTERVAL: Duration = Duration::from_secs(1);
/// How often a guard that is root looks for processes of other users.
const USERS_INTERVAL: Duration = Duration::from_secs(2);
/// A process that is just starting a program has no environment for some microseconds: nobody has the port only if that
/// is so twice.
const EXEC_TIME: Duration = Duration::from_millis(10);

/// The directory that holds a launch's port. When it goes, the port is closed for good if no process can dial it any
/// more; otherwise the guard takes it over. To be dropped after everything that uses the port.
#[derive(Debug)]
pub(crate) struct PortDir {
    path: PathBuf,
    /// It sees our end by the end of its stdin, which nobody else holds.
    guard: Option<Child>,
}

impl PortDir {
    /// Makes the directory and starts the guard: before any process can inherit the port.
    pub(crate) fn make() -> io::Result<PortDir> {
        // The shortest directory there is: a socket's path has 108 bytes at most, and .NET 8 hangs at 108.
        let dir =
            sys::make_temp_dir(Path::new("/tmp")).or_else(|_| sys::make_temp_dir(&std::env::temp_dir()))?;
        let mut made = PortDir { path: dir.keep(), guard: None };
        match start(&made.path) {
            Ok(guard) => made.guard = Some(guard),
            Err(e) => tracing::debug!("no guard: {e}"),
        }
        Ok(made)
    }

    /// The socket.
    pub(crate) fn socket(&self) -> PathBuf {
        socket(&self.path)
    }
}

impl Drop for PortDir {
    fn drop(&mut self) {
        if self.guard.is_some() && has_holder(&self.socket()) {
            // Dropping its stdin tells the guard that it is its turn.
            return;
        }
        if let Some(mut guard) = self.guard.take() {
            // It waits for our end and has touched nothing yet.
            let _killed = guard.kill();
            let _ended = guard.wait();
        }
        remove(&self.path);
    }
}

fn start(dir: &Path) -> io::Result<Child> {
    let program = std::env::current_exe().ok().filter(|path| path.exists());
    // A program whose file was replaced while it runs can still be started again (Linux).
    let mut command = Command::new(program.unwrap_or_else(|| "/proc/self/exe".into()));
    command.arg(WORD).arg(dir).current_dir("/");
    // An outer gcwatch whose port we have inherited shall not wait for the guard.
    command.env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A Ctrl-C for us is none for it.
    sys::own_group(&mut command);
    command.spawn()
}

fn socket(dir: &Path) -> PathBuf {
    dir.join("port")
}

/// Whatever the directory is: nothing but ours goes.
fn remove(dir: &Path) {
    for gone in [std::fs::remove_file(socket(dir)), std::fs::remove_dir(dir)] {
        if let Err(e) = gone.or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }) {
            tracing::debug!("{}: {e}", dir.display());
        }
    }
}

/// What a guard does.
///
/// # Errors
/// The port cannot be opened again.
pub(crate) fn run(dir: &Path) -> io::Result<()> {
    // Whatever our caller had open (a lock, a pipe) is not ours to keep.
    sys::close_inherited();
    // Nothing is ever written there.
    let _end = io::stdin().read(&mut [0])?;
    let served = if has_holder(&socket(dir)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(serve(&socket(dir)))
    } else {
        Ok(())
    };
    remove(dir);
    served
}

/// Resumes whoever dials, as long as any process may start a runtime that does.
async fn serve(socket: &Path) -> io::Result<()> {
    match std::fs::remove_file(socket) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let (port, admission) = Admission::open(socket.to_owned()).map_err(io::Error::other)?;
    let mut look = tokio::time::interval(USERS_INTERVAL);
    let mut unwatched = Unwatched::default();
    let nobody = nobody_left(socket);
    tokio::pin!(nobody);
    loop {
        tokio::select! {
            client = port.accept() => unwatched.resume(client.map_err(io::Error::other)?),
            () = &mut nobody => return Ok(()),
            // Whose children they were is not known any more. They know the port's name; and they are resumed, no more.
            _ = look.tick(), if sys::is_root() => {
                process::pids().into_iter().filter(|pid| holds(*pid, socket)).for_each(|p| admission.look_at(p));
            }
        }
    }
}

/// Waits until no process has the port. Only a process that has it can hand it on, so one of them is looked at as long
/// as it has it, and all processes only then.
async fn nobody_left(socket: &Path) {
    loop {
        let holder = match holder(socket) {
            Some(pid) => pid,
            None => {
                sleep(EXEC_TIME).await;
                match holder(socket) {
                    Some(pid) => pid,
                    None => return,
                }
            }
        };
        while holds(holder, socket) {
            sleep(HOLDER_INTERVAL).await;
        }
    }
}

fn has_holder(socket: &Path) -> bool {
    holder(socket).is_some() || {
        std::thread::sleep(EXEC_TIME);
        holder(socket).is_some()
    }
}

/// A process that has the port in its environment.
fn holder(socket: &Path) -> Option<u32> {
    process::pids().into_iter().find(|pid| holds(*pid, socket))
}

fn holds(pid: u32, socket: &Path) -> bool {
    process::has_variable(pid, PORTS, |value| names_port(value, socket))
}
