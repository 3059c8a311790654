//! What this crate knows of a process only on Linux, and the answers elsewhere.

use std::ffi::{OsStr, OsString};
use std::io;

#[cfg(unix)]
use super::macos::exists;
#[cfg(windows)]
use super::windows::exists;

pub(crate) fn cpu_ticks(_pid: u32) -> Option<u64> {
    None
}

pub(crate) fn is_stopped(_pid: u32) -> bool {
    false
}

pub(crate) fn children(_pid: u32) -> Vec<u32> {
    Vec::new()
}

pub(crate) fn uid(_pid: u32) -> Option<u32> {
    None
}

pub(crate) fn environ(_pid: u32) -> Option<Vec<(OsString, OsString)>> {
    None
}

pub(crate) fn has_variable(_pid: u32, _name: &str, _wanted: impl FnMut(&OsStr) -> bool) -> bool {
    false
}

/// A process by its id alone. Whether the id has been given to another process is not noticed.
#[derive(Debug)]
pub(crate) struct Pin(u32);

impl Pin {
    pub(crate) fn new(pid: u32) -> io::Result<Self> {
        let pin = Self(pid);
        pin.check().map(|()| pin)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        if exists(self.0) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Whether the peer of a connection is this process.
    pub(crate) fn is_peer(&self, pid: Option<u32>, _uid: u32) -> bool {
        pid.is_none_or(|pid| pid == self.0)
    }
}
