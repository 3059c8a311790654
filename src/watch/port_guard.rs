//! The port of a launch, and the guard that opens it again when gcwatch has ended.
//!
//! Every process that a launched program starts inherits `DOTNET_DiagnosticPorts=...,suspend`: its .NET runtime waits
//! at its start until it is resumed through that port. Without gcwatch it would wait for ever. So the guard, a process
//! of its own, waits until gcwatch has ended or was killed. Then it resumes every runtime that connects, until no
//! process has the port in its environment.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dotnet_diagnostics_client::process;
use tokio::time::sleep;

use super::admission::Admission;
use super::port::{PORTS, Unwatched, names_port};
use crate::sys::{self, PortPlace};

/// The argument that makes gcwatch a guard. Users do not type it.
pub(crate) const WORD: &str = "guard-port";
/// How often the guard looks whether the process that it waits for still has the port.
const HOLDER_INTERVAL: Duration = Duration::from_secs(1);
/// How often a guard that is root looks for processes of other users.
const USERS_INTERVAL: Duration = Duration::from_secs(2);
/// During `exec` a process has no environment for some microseconds. So nobody has the port only if two searches, this
/// time apart, find nobody.
const EXEC_TIME: Duration = Duration::from_millis(10);

/// The port of a launch. Drop it after everything that uses the port. If a process can still connect, the guard then
/// takes the port over; otherwise the port is closed for good.
#[derive(Debug)]
pub(crate) struct GuardedPort {
    place: PortPlace,
    /// Its stdin is a pipe that only we hold, so it sees our end.
    guard: Option<Child>,
}

impl GuardedPort {
    /// Makes the place of a port and starts the guard. Call it before any process can inherit the port.
    pub(crate) fn make() -> io::Result<GuardedPort> {
        let mut made = GuardedPort { place: PortPlace::make()?, guard: None };
        match start(&made.place) {
            Ok(guard) => made.guard = Some(guard),
            Err(e) => tracing::debug!("cannot start the guard of the port: {e}"),
        }
        Ok(made)
    }

    pub(crate) fn place(&self) -> &PortPlace {
        &self.place
    }
}

impl Drop for GuardedPort {
    fn drop(&mut self) {
        if self.guard.is_some() && has_holder(&self.place) {
            // Dropping the guard's stdin makes it take over.
            return;
        }
        if let Some(mut guard) = self.guard.take() {
            // The guard still waits for our end and has changed nothing yet.
            let _killed = guard.kill();
            let _ended = guard.wait();
        }
        self.place.remove();
    }
}

fn start(place: &PortPlace) -> io::Result<Child> {
    let program = std::env::current_exe().ok().filter(|path| path.exists());
    // If our file was replaced while we run, Linux can still start it from here.
    let mut command = Command::new(program.unwrap_or_else(|| "/proc/self/exe".into()));
    command.arg(WORD).arg(place.name()).current_dir("/");
    // We may have inherited the port of an outer gcwatch, whose guard must not wait for ours.
    command.env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C must not reach the guard.
    sys::own_group(&mut command);
    command.spawn()
}

/// Runs as the guard of the port at the place with this name.
///
/// # Errors
/// The port cannot be opened again.
pub(crate) fn run(name: &OsStr) -> io::Result<()> {
    // The guard must not keep open what our caller had open, such as a lock or a pipe.
    sys::close_inherited();
    // Nobody writes to it, so the read returns when gcwatch has ended.
    let _end = io::stdin().read(&mut [0])?;
    let place = PortPlace::of(name);
    let served = if has_holder(&place) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(serve(&place))
    } else {
        Ok(())
    };
    place.remove();
    served
}

/// Resumes every runtime that connects, until no process has the port.
async fn serve(place: &PortPlace) -> io::Result<()> {
    place.clear()?;
    let (port, admission) = Admission::open(place.clone()).map_err(io::Error::other)?;
    let mut look = tokio::time::interval(USERS_INTERVAL);
    let mut unwatched = Unwatched::default();
    let nobody = nobody_left(place);
    tokio::pin!(nobody);
    loop {
        tokio::select! {
            client = port.accept() => unwatched.resume(client.map_err(io::Error::other)?),
            () = &mut nobody => return Ok(()),
            // The tree is not known any more, but only its processes have the port. They are resumed, nothing else.
            _ = look.tick(), if sys::is_root() => {
                process::pids().into_iter().filter(|pid| holds(*pid, place)).for_each(|p| admission.look_at(p));
            }
        }
    }
}

/// Waits until no process has the port. Only a process that has it can pass it on. So this checks a single one of them
/// for as long as that one has it, and then searches all processes again.
async fn nobody_left(place: &PortPlace) {
    loop {
        let holder = match holder(place) {
            Some(pid) => pid,
            None => {
                sleep(EXEC_TIME).await;
                match holder(place) {
                    Some(pid) => pid,
                    None => return,
                }
            }
        };
        while holds(holder, place) {
            sleep(HOLDER_INTERVAL).await;
        }
    }
}

fn has_holder(place: &PortPlace) -> bool {
    holder(place).is_some() || {
        std::thread::sleep(EXEC_TIME);
        holder(place).is_some()
    }
}

/// A process that has the port in its environment.
fn holder(place: &PortPlace) -> Option<u32> {
    process::pids().into_iter().find(|pid| holds(*pid, place))
}

fn holds(pid: u32, place: &PortPlace) -> bool {
    process::has_variable(pid, PORTS, |value| names_port(value, place.address()))
}
