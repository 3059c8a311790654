//! With `--follow` every .NET process of the tree waits at its start for our word. A guard gives it when
//! gcwatch cannot any more: a process of its own that waits for gcwatch's end, killed or not, and then
//! lets go whoever still dials, until nobody is left who knows the port.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use dotnet_diagnostics_client::{Endpoint, Port, ProcessFacts, process};

use super::unheard::names;
use crate::sys;

/// The word that makes gcwatch a guard; people do not type it.
pub(crate) const WORD: &str = "guard-port";
/// How often is looked whether anybody is left.
const LOOK: Duration = Duration::from_secs(1);

/// The socket in the directory of a launch.
pub(crate) fn socket(dir: &Path) -> PathBuf {
    dir.join("port")
}

/// A guard that waits. It sees our end by the end of its stdin, which nobody else holds.
#[derive(Debug)]
pub(crate) struct PortGuard {
    _guard: Child,
}

impl PortGuard {
    /// Starts it; from now on the directory is the guard's to remove.
    pub(crate) fn start(dir: &Path) -> io::Result<PortGuard> {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.arg(WORD).arg(dir).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A Ctrl-C for us is none for it.
        sys::own_group(&mut command);
        Ok(PortGuard { _guard: command.spawn()? })
    }
}

/// What a guard does.
///
/// # Errors
/// The port cannot be opened again.
pub(crate) fn run(dir: &Path) -> io::Result<()> {
    // Nothing is ever written there.
    let _end = io::stdin().read(&mut [0])?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(&socket(dir)));
    // Whatever the directory is: nothing but ours goes.
    let _gone = std::fs::remove_file(socket(dir));
    served.and(std::fs::remove_dir(dir))
}

async fn serve(socket: &Path) -> io::Result<()> {
    if !anybody(socket) {
        return Ok(());
    }
    match std::fs::remove_file(socket) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let port = Port::bind(Endpoint::socket(socket)).map_err(io::Error::other)?;
    let mut parked = Vec::new();
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            client = port.accept() => {
                let client = client.map_err(io::Error::other)?;
                // One that runs already takes it for no harm.
                let _resumed = client.resume_runtime().await;
                parked.push(client);
            }
            _ = look.tick() => if !anybody(socket) {
                return Ok(());
            },
        }
    }
}

/// Somebody has the port in his environment, and may start a process that inherits it.
fn anybody(socket: &Path) -> bool {
    process::pids().into_iter().any(|pid| names(&ProcessFacts::read(pid), socket))
}
