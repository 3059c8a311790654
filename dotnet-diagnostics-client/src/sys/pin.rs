//! Holds on to a process, so that a later process with the same id is not taken for it.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};

use super::linux::{exists, start_time};
use super::rights::Rights;

/// A process, identified by its id and its start.
#[derive(Debug)]
pub(crate) struct Pin {
    pub(crate) pid: u32,
    /// `None` before Linux 5.3, and where a seccomp filter forbids it: only the start time then identifies the process.
    pidfd: Option<OwnedFd>,
    /// In clock ticks since boot.
    start_time: u64,
}

impl Pin {
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when there is no such process.
    pub(crate) fn new(pid: u32) -> io::Result<Self> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let pidfd = rustix::process::pidfd_open(raw, PidfdFlags::empty()).ok();
        let start_time = start_time(pid).ok_or_else(ended)?;
        let pin = Self { pid, pidfd, start_time };
        pin.check()?;
        Ok(pin)
    }

    /// # Errors
    /// [`io::ErrorKind::NotFound`] when the process has ended.
    pub(crate) fn check(&self) -> io::Result<()> {
        let has_ended = match &self.pidfd {
            // No other process gets the id while this one runs.
            Some(pidfd) => {
                let mut polled = [PollFd::new(pidfd, PollFlags::IN)];
                let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
                rustix::event::poll(&mut polled, Some(&at_once)).is_ok_and(|ready| ready > 0)
            }
            None => start_time(self.pid) != Some(self.start_time),
        };
        if has_ended || !exists(self.pid) { Err(ended()) } else { Ok(()) }
    }

    /// Whether the peer of a connection is this process. For a peer in a PID namespace that this process cannot see,
    /// the kernel tells only the user id.
    pub(crate) fn is_peer(&self, pid: Option<u32>, uid: u32) -> bool {
        match pid {
            Some(pid) => pid == self.pid,
            None => Rights::of(self.pid).is_ok_and(|rights| rights.user() == uid),
        }
    }
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the process has ended")
}
