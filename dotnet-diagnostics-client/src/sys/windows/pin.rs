//! A process that keeps its id for as long as we hold a handle to it.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, ERROR_INVALID_PARAMETER, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, WaitForSingleObject,
};

use super::handle::open;

/// A process. While the handle is open, the system gives its id to no other process.
#[derive(Debug)]
pub(crate) struct Pin {
    pub(crate) pid: u32,
    handle: OwnedHandle,
}

impl Pin {
    pub(crate) fn new(pid: u32) -> io::Result<Self> {
        let handle = open(pid, PROCESS_SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION);
        let handle = handle.map_err(|error| if no_process(&error) { not_found() } else { error })?;
        let pin = Self { pid, handle };
        pin.check().map(|()| pin)
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        // SAFETY: the handle is open; the call does not wait.
        let state = unsafe { WaitForSingleObject(self.handle.as_raw_handle(), 0) };
        if state == WAIT_TIMEOUT { Ok(()) } else { Err(not_found()) }
    }

    /// Whether the peer of a connection is this process.
    pub(crate) fn is_peer(&self, pid: Option<u32>, _uid: u32) -> bool {
        pid.is_none_or(|pid| pid == self.pid)
    }
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// The system's answer for an id that no process has.
fn no_process(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_INVALID_PARAMETER.cast_signed())
}

pub(crate) fn exists(pid: u32) -> bool {
    match Pin::new(pid) {
        Ok(_) => true,
        // A process of another user.
        Err(error) => error.raw_os_error() == Some(ERROR_ACCESS_DENIED.cast_signed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_is_noticed() {
        assert!(Pin::new(std::process::id()).unwrap().check().is_ok());
        let mut child = std::process::Command::new("cmd").args(["/c", "exit 0"]).spawn().unwrap();
        let pin = Pin::new(child.id());
        child.wait().unwrap();
        // It may have ended before it was pinned.
        if let Ok(pin) = pin {
            assert_eq!(pin.check().unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        assert!(!exists(0xffff_fff0));
    }
}
