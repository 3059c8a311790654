//! Handles to other processes.

use std::io;
use std::os::windows::io::{FromRawHandle, OwnedHandle};

use windows_sys::Win32::System::Threading::OpenProcess;

/// A handle to a process with these rights.
pub(super) fn open(pid: u32, access: u32) -> io::Result<OwnedHandle> {
    // SAFETY: takes no pointers; the result is checked before it is used.
    let raw = unsafe { OpenProcess(access, 0, pid) };
    if raw.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle came from the system, is valid and nobody else closes it.
    Ok(unsafe { OwnedHandle::from_raw_handle(raw) })
}
