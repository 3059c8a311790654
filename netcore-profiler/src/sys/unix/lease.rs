//! The lease: a connection that we only read from.
//!
//! Its descriptor is a number that is shared with the whole process. A program that closes a number twice, or closes
//! all numbers, closes ours, and its next file may get the same number. So we move the descriptor to a high number,
//! which the system does not assign by itself, and check before each read and each close that it still is our socket.
//! If not, we forget the number. Check and read are less than a microsecond apart, without waiting: in the worst case
//! we read 64 bytes of a socket that got our number just then.

use core::ffi::{c_char, c_int, c_short, c_uint, c_ulong, c_void};
use core::ptr;

use super::{errno, os, sleep_ms, terminated};
use crate::sys::lease_sign::LeaseSign;

/// The least numbers to move the descriptor to. The second one is for processes with a low limit.
const HIGH_FDS: [c_int; 2] = [900, 200];

#[repr(C)]
pub(super) struct PollFd {
    fd: c_int,
    events: c_short,
    happened: c_short,
}

impl PollFd {
    pub(super) fn new(fd: c_int, events: c_short) -> Self {
        Self { fd, events, happened: 0 }
    }
}

unsafe extern "C" {
    safe fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn connect(fd: c_int, address: *const c_void, length: c_uint) -> c_int;
    fn getsockopt(fd: c_int, level: c_int, option: c_int, value: *mut c_void, length: *mut c_uint) -> c_int;
    safe fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    pub(super) fn poll(fds: *mut PollFd, count: c_ulong, timeout_ms: c_int) -> c_int;
    pub(super) fn recv(fd: c_int, buffer: *mut c_void, length: usize, flags: c_int) -> isize;
    safe fn close(fd: c_int) -> c_int;
}

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease {
    fd: c_int,
    identity: u64,
}

/// A number that no other socket of the running system has; `None`: the descriptor is not a socket. It is 0 for every
/// socket on systems that have no such number (Linux before 4.12).
fn identity(fd: c_int) -> Option<u64> {
    let mut value = 0_u64;
    let mut length = size_of::<u64>() as c_uint;
    let (level, option) = os::SOCKET_IDENTITY;
    // SAFETY: `value` has `length` bytes.
    let answer = unsafe { getsockopt(fd, level, option, (&raw mut value).cast(), &raw mut length) };
    match answer {
        0 if os::SOCKETS_ARE_NUMBERED => Some(value),
        0 => Some(0),
        _ if matches!(errno(), os::EBADF | os::ENOTSOCK) => None,
        _ => Some(0),
    }
}

impl Lease {
    /// A socket that is not connected.
    fn new() -> Option<Self> {
        const UNIX: c_int = 1;
        const STREAM: c_int = 1;
        const SET_FD: c_int = 2;
        const SET_FL: c_int = 4;
        const CLOSE_ON_EXEC: c_int = 1;
        let fd = socket(UNIX, STREAM | os::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return None;
        }
        let low = Self { fd, identity: identity(fd)? };
        fcntl(fd, SET_FD, CLOSE_ON_EXEC);
        fcntl(fd, SET_FL, os::NONBLOCK);
        let mut high = HIGH_FDS.iter().map(|least| fcntl(fd, os::DUPLICATE_AT_LEAST, *least));
        let Some(fd) = high.find(|fd| *fd >= 0) else { return Some(low) };
        low.close();
        Some(Self { fd, ..low })
    }

    /// Connects to a Unix socket; gives up if its queue is full for `timeout_ms`.
    pub(crate) fn connect(path: &str, timeout_ms: u32) -> Option<Self> {
        const UNIX: u8 = 1;
        const PATH_OFFSET: usize = 2;
        #[cfg(target_os = "linux")]
        const PATH_BYTES: usize = 108;
        #[cfg(not(target_os = "linux"))]
        const PATH_BYTES: usize = 104;
        #[repr(C)]
        struct Address {
            family: [u8; PATH_OFFSET],
            path: [c_char; PATH_BYTES],
        }
        let family = if cfg!(target_os = "linux") {
            u16::from(UNIX).to_ne_bytes()
        } else {
            [size_of::<Address>() as u8, UNIX]
        };
        let address = Address { family, path: terminated(path)? };

        let lease = Self::new()?;
        let mut left_ms = timeout_ms;
        loop {
            let bytes = size_of::<Address>() as c_uint;
            // SAFETY: `address` has `bytes` bytes.
            if unsafe { connect(lease.fd, ptr::from_ref(&address).cast(), bytes) } == 0 {
                return Some(lease);
            }
            let later = matches!(errno(), os::EAGAIN | os::EINTR);
            if !later || left_ms == 0 {
                lease.close();
                return None;
            }
            left_ms = left_ms.saturating_sub(1);
            sleep_ms(1);
        }
    }

    /// The descriptor's number.
    pub(crate) fn number(self) -> c_int {
        self.fd
    }

    /// The same, for system calls.
    pub(super) fn fd(self) -> c_int {
        self.fd
    }

    /// Whether the descriptor still is our socket.
    pub(super) fn is_ours(self) -> bool {
        identity(self.fd) == Some(self.identity)
    }

    /// Waits up to `timeout_ms` for a heartbeat or the end of the lease.
    pub(crate) fn wait(self, timeout_ms: u32) -> LeaseSign {
        const READABLE: c_short = 1;
        let mut fd = PollFd::new(self.fd, READABLE);
        // SAFETY: one descriptor is passed, and the count is 1. Polling has no effect on it, whoever owns it.
        let ready = unsafe { poll(&raw mut fd, 1, timeout_ms as c_int) };
        let mut bytes = [0_u8; 64];
        if !self.is_ours() {
            return LeaseSign::Taken;
        }
        if ready <= 0 {
            return LeaseSign::Silent;
        }
        // SAFETY: the buffer has this length. `recv` fails on anything but a socket.
        match unsafe { recv(self.fd, bytes.as_mut_ptr().cast(), bytes.len(), os::DO_NOT_WAIT) } {
            count @ 1.. => LeaseSign::of(bytes.get(..count.unsigned_abs()).unwrap_or_default()),
            0 => LeaseSign::Closed,
            _ if matches!(errno(), os::EAGAIN | os::EINTR) => LeaseSign::Silent,
            _ => LeaseSign::Closed,
        }
    }

    /// Closes the connection, if the descriptor still is ours.
    pub(crate) fn close(self) {
        if self.is_ours() {
            close(self.fd);
        }
    }

    /// The connection as a number that is never 0, and the identity of the socket.
    pub(crate) fn into_parts(self) -> (usize, u64) {
        ((self.fd as usize).wrapping_add(1), self.identity)
    }

    /// The connection from [`Lease::into_parts`]; `None` from 0.
    pub(crate) fn from_parts(number: usize, identity: u64) -> Option<Self> {
        number.checked_sub(1).map(|fd| Self { fd: fd as c_int, identity })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;
    use crate::wire::{LEASE_GOODBYE, LEASE_HEARTBEAT};

    unsafe extern "C" {
        fn dup2(from: c_int, to: c_int) -> c_int;
    }

    const LIMIT_MS: u32 = 20_000;

    fn connected() -> (Lease, UnixStream) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lease");
        let listener = UnixListener::bind(&path).unwrap();
        let lease = Lease::connect(path.to_str().unwrap(), 100).unwrap();
        (lease, listener.accept().unwrap().0)
    }

    #[test]
    fn heartbeats_and_the_end_are_seen() {
        let (lease, mut other) = connected();
        assert!(lease.fd >= HIGH_FDS[1], "{}", lease.fd);
        assert_eq!(lease.wait(1), LeaseSign::Silent);
        other.write_all(&[LEASE_HEARTBEAT; 2]).unwrap();
        assert_eq!(lease.wait(LIMIT_MS), LeaseSign::Alive);
        assert_eq!(lease.wait(1), LeaseSign::Silent, "both were read");
        other.write_all(&[LEASE_HEARTBEAT, LEASE_GOODBYE]).unwrap();
        assert_eq!(lease.wait(LIMIT_MS), LeaseSign::Closed, "goodbye");
        let (number, id) = lease.into_parts();
        assert_eq!(Lease::from_parts(number, id), Some(lease));
        drop(other);
        assert_eq!(lease.wait(LIMIT_MS), LeaseSign::Closed);
        assert!(lease.is_ours());
        lease.close();
        assert!(!lease.is_ours());
        assert_eq!(lease.wait(LIMIT_MS), LeaseSign::Taken, "at once");
    }

    #[test]
    fn closing_is_seen_at_the_other_end() {
        let (lease, mut other) = connected();
        lease.close();
        assert_eq!(other.read(&mut [0]).unwrap(), 0);
    }

    /// The program closes the descriptor, and a file of its own gets the number.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_descriptor_of_the_program_is_neither_read_nor_closed() {
        let others: [fn() -> (OwnedFd, OwnedFd); 3] = [
            || {
                let (here, there) = UnixStream::pair().unwrap();
                (here.into(), there.into())
            },
            || {
                let (here, there) = std::io::pipe().unwrap();
                (here.into(), there.into())
            },
            || {
                let file = tempfile::NamedTempFile::new().unwrap();
                (File::open(file.path()).unwrap().into(), file.into_file().into())
            },
        ];
        for other in others {
            let (lease, ours) = connected();
            let (here, there) = other();
            // SAFETY: the descriptor is the lease's, which only holds the number.
            assert_eq!(unsafe { dup2(here.as_raw_fd(), lease.fd) }, lease.fd);
            drop(here);
            File::from(there.try_clone().unwrap()).write_all(b"the program's own").unwrap();
            for _ in 0..3 {
                assert_eq!(lease.wait(1), LeaseSign::Taken);
                lease.close();
            }
            // SAFETY: opened above with this number, and not closed since.
            let mut here = unsafe { File::from_raw_fd(lease.fd) };
            let mut text = [0; 17];
            here.read_exact(&mut text).unwrap();
            assert_eq!(&text, b"the program's own");
            drop(ours);
        }
    }
}
