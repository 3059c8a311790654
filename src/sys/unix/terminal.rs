//! Input of a person.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::sys::shared::TerminalInput;

/// Waits until there is input on stdin, which must be a terminal in raw mode, or a signal comes. Reads what is there, and
/// never waits for more.
///
/// # Errors
/// The system cannot wait or read.
pub(crate) fn terminal_input(longest: Duration, bytes: &mut [u8]) -> io::Result<TerminalInput> {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let longest = Timespec::try_from(longest).map_err(io::Error::other)?;
    match poll(&mut polled, Some(&longest)) {
        Ok(0) | Err(Errno::INTR) => return Ok(TerminalInput::Nothing),
        Ok(_) => {}
        Err(e) => return Err(e.into()),
    }
    let found = polled.iter().map(PollFd::revents).fold(PollFlags::empty(), PollFlags::union);
    // macOS cannot wait for every kind of terminal.
    if found.contains(PollFlags::NVAL) {
        return Ok(TerminalInput::Unknown);
    }
    if found.intersects(PollFlags::HUP | PollFlags::ERR) {
        return Ok(TerminalInput::Gone);
    }
    match rustix::io::read(&stdin, bytes) {
        Ok(0) | Err(Errno::IO) => Ok(TerminalInput::Gone),
        Ok(count) => Ok(TerminalInput::Bytes(count)),
        Err(Errno::INTR | Errno::AGAIN) => Ok(TerminalInput::Nothing),
        Err(e) => Err(e.into()),
    }
}
