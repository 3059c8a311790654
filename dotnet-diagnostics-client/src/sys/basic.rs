//! What this crate does not know of a process on macOS and the BSDs.

use std::ffi::OsStr;
use std::io;

use super::macos::exists;
pub(crate) use super::macos::{environ, uid};

macro_rules! unknown {
    ($($name:ident: $answer:ty,)*) => {$(
        pub(crate) fn $name(_pid: u32) -> $answer {
            <$answer>::default()
        }
    )*};
}

unknown! {
    cpu_ticks: Option<u64>,
    is_stopped: bool,
    children: Vec<u32>,
}

pub(crate) fn has_variable(_pid: u32, _name: &str, _wanted: impl FnMut(&OsStr) -> bool) -> bool {
    false
}

/// A process by its id alone. Whether the id has been given to another process is not noticed.
#[derive(Debug)]
pub(crate) struct Pin {
    pub(crate) pid: u32,
}

impl Pin {
    pub(crate) fn new(pid: u32) -> io::Result<Self> {
        let pin = Self { pid };
        pin.check().map(|()| pin)
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        if exists(self.pid) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Whether the peer of a connection is this process.
    pub(crate) fn is_peer(&self, pid: Option<u32>, _uid: u32) -> bool {
        pid.is_none_or(|pid| pid == self.pid)
    }
}
