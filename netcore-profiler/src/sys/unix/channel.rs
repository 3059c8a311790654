//! The connection over which a heap graph leaves the process. It is used by our own thread, and by the forked copy.

use core::ffi::{c_int, c_void};

use super::lease::{Lease, PollFd, poll, recv};
use super::{errno, os};
use crate::sys::received::Received;

unsafe extern "C" {
    fn send(fd: c_int, bytes: *const c_void, length: usize, flags: c_int) -> isize;
}

impl Lease {
    /// Sends as much as fits without waiting for longer than `timeout_ms`. `None`: the connection has ended.
    pub(crate) fn send_some(self, bytes: &[u8], timeout_ms: u32) -> Option<usize> {
        const WRITABLE: i16 = 4;
        if !self.is_ours() {
            return None;
        }
        // SAFETY: the bytes can be read. The call never waits, and raises no signal.
        let sent =
            unsafe { send(self.fd(), bytes.as_ptr().cast(), bytes.len(), os::DO_NOT_WAIT | os::NO_SIGNAL) };
        if sent >= 0 {
            return Some(sent.unsigned_abs());
        }
        if !matches!(errno(), os::EAGAIN | os::EINTR) {
            return None;
        }
        let mut fd = PollFd::new(self.fd(), WRITABLE);
        // SAFETY: one descriptor is passed, and the count is 1.
        unsafe { poll(&raw mut fd, 1, timeout_ms as c_int) };
        Some(0)
    }

    /// Waits up to `timeout_ms` for bytes.
    pub(crate) fn receive(self, bytes: &mut [u8], timeout_ms: u32) -> Received {
        const READABLE: i16 = 1;
        let mut fd = PollFd::new(self.fd(), READABLE);
        // SAFETY: one descriptor is passed, and the count is 1. Polling has no effect on it, whoever owns it.
        let ready = unsafe { poll(&raw mut fd, 1, timeout_ms as c_int) };
        if !self.is_ours() {
            return Received::Closed;
        }
        if ready <= 0 {
            return Received::Nothing;
        }
        // SAFETY: the buffer has this length. `recv` fails on anything but a socket.
        match unsafe { recv(self.fd(), bytes.as_mut_ptr().cast(), bytes.len(), os::DO_NOT_WAIT) } {
            count @ 1.. => Received::Bytes(count.unsigned_abs()),
            0 => Received::Closed,
            _ if matches!(errno(), os::EAGAIN | os::EINTR) => Received::Nothing,
            _ => Received::Closed,
        }
    }
}
