//! The console.
#![expect(unsafe_code, reason = "the system's calls have no safe binding")]

use std::io;
pub(crate) use std::os::windows::io::AsHandle as AsStream;
use std::os::windows::io::AsRawHandle;
use std::time::Duration;

use windows_sys::Win32::System::Console::{
    ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode, SetConsoleMode,
};

use crate::sys::shared::TerminalInput;

/// A console cannot be waited for here.
pub(crate) fn terminal_input(_longest: Duration, _bytes: &mut [u8]) -> io::Result<TerminalInput> {
    Ok(TerminalInput::Unknown)
}

/// Whether a console understands escape sequences. Windows 10 and later do, but an older program may have switched it
/// off, so this switches it on.
pub(crate) fn shows_escapes(console: &impl AsStream) -> bool {
    let handle = console.as_handle().as_raw_handle();
    let mut mode = 0;
    // SAFETY: the handle is borrowed, so it is open during the call, and the mode is writable.
    if unsafe { GetConsoleMode(handle, &raw mut mode) } == 0 {
        // No console of Windows: a terminal such as that of MSYS2, which understands them.
        return true;
    }
    // SAFETY: as above; the call takes no pointers.
    mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0
        || unsafe { SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) } != 0
}
