//! Windows.

mod console;
mod files;
mod lease;
mod port_place;
mod process;
mod security;

use std::io;
use std::os::windows::process::CommandExt;
use std::process::{Command, ExitStatus};

use tokio::signal::windows::{self, CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown};

use super::shared::Signal;
pub(crate) use console::{AsStream, shows_escapes, terminal_input};
pub(crate) use files::{
    Place, create, create_kept, free_bytes, open_settings, others_can_change, place, read_at, replaceable,
    replacement,
};
pub(crate) use lease::{GraphStream, Lease};
pub(crate) use port_place::PortPlace;
pub(crate) use process::{memory_bytes, peak_memory_bytes, thread_names};
pub(super) use security::{make_directory, only_trusted_can_write};

/// No directory belongs to all users.
pub(crate) const SHARED_TEMP_DIR: Option<&str> = None;

/// Receives what a console, a logoff and a shutdown send. Once this exists, they no longer end the process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: CtrlC,
    interrupt_all: CtrlBreak,
    close: CtrlClose,
    logoff: CtrlLogoff,
    shutdown: CtrlShutdown,
}

impl Signals {
    /// Starts listening. Must be called within a tokio runtime.
    pub(crate) fn listen() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: windows::ctrl_c()?,
            interrupt_all: windows::ctrl_break()?,
            close: windows::ctrl_close()?,
            logoff: windows::ctrl_logoff()?,
            shutdown: windows::ctrl_shutdown()?,
        })
    }

    /// Waits for the next signal. A console sends it to all its processes, children included. Cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt { to_group: true },
            Some(()) = self.interrupt_all.recv() => Signal::Interrupt { to_group: true },
            Some(()) = self.close.recv() => Signal::HangUp,
            Some(()) = self.logoff.recv() => Signal::HangUp,
            Some(()) = self.shutdown.recv() => Signal::HangUp,
            else => std::future::pending().await,
        }
    }
}

/// The standard output. If its reader has gone, an error is a broken pipe.
#[derive(Debug)]
pub(crate) struct Stdout(io::Stdout);

pub(crate) fn stdout() -> Stdout {
    Stdout(io::stdout())
}

fn named(error: io::Error) -> io::Error {
    // The standard library has no kind for it.
    const PIPE_NOT_CONNECTED: i32 = 233;
    if error.raw_os_error() == Some(PIPE_NOT_CONNECTED) {
        return io::Error::new(io::ErrorKind::BrokenPipe, error);
    }
    error
}

impl io::Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

/// Nothing to do: the console has sent the signal to the child already.
pub(crate) fn forward(_pid: u32, _signal: Signal) -> io::Result<()> {
    Ok(())
}

/// Makes a command start without our console, whose signals and whose end then do not reach it.
pub(crate) fn own_group(command: &mut Command) {
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    const DETACHED_PROCESS: u32 = 8;
    command.creation_flags(CREATE_NEW_PROCESS_GROUP | DETACHED_PROCESS);
}

/// Nothing to do: a process inherits only handles that were passed on deliberately.
pub(crate) fn close_inherited() {}

/// Users have no numbers here: pipes and files have access lists.
pub(crate) fn own_uid() -> u32 {
    0
}

/// There is no such user.
pub(crate) fn is_root() -> bool {
    false
}

/// The exit code of a process.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}
