//! Windows: processes and named pipes.
#![expect(unsafe_code, reason = "the system's calls have no safe binding")]

mod access;
mod handle;
mod memory;
mod modules;
mod pin;
mod security;
mod text;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::mem;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;

use windows_sys::Win32::Foundation::{ERROR_FILE_NOT_FOUND, FILETIME, GetLastError, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Pipes::WaitNamedPipeW;
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, PROCESS_QUERY_LIMITED_INFORMATION, QueryFullProcessImageNameW,
};

use crate::endpoint::PIPE_PREFIX;
use crate::process_status::ProcessStatus;
use handle::open;
use text::wide;

pub use access::PipeAccess;
pub(crate) use memory::{environ, has_variable};
pub(crate) use pin::{Pin, exists};
pub use security::{SecurityDescriptor, own_user_sid, sid_text, user_sid};

/// The ids of all processes, each with that of its parent.
fn snapshot() -> Vec<(u32, u32)> {
    // SAFETY: takes no pointers; the result is checked before it is used.
    let raw = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if raw == INVALID_HANDLE_VALUE {
        return Vec::new();
    }
    // SAFETY: the handle came from the system, is valid and nobody else closes it.
    let handle = unsafe { OwnedHandle::from_raw_handle(raw) };
    // SAFETY: the structure is plain data, for which all zeros are valid.
    let mut entry: PROCESSENTRY32W = unsafe { mem::zeroed() };
    entry.dwSize = size_of::<PROCESSENTRY32W>() as u32;
    let mut all = Vec::new();
    // SAFETY: the handle is open, and the entry is writable and has its size set as the call wants it.
    let mut more = unsafe { Process32FirstW(handle.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        all.push((entry.th32ProcessID, entry.th32ParentProcessID));
        // SAFETY: as above.
        more = unsafe { Process32NextW(handle.as_raw_handle(), &raw mut entry) };
    }
    all
}

pub(crate) fn pids() -> Vec<u32> {
    snapshot().into_iter().map(|(pid, _)| pid).collect()
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let all = snapshot().into_iter();
    all.filter(|(child, parent)| *parent == pid && *child != pid).map(|(child, _)| child).collect()
}

/// Windows does not tell whether a debugger holds all threads of a process.
pub(crate) fn is_stopped(_pid: u32) -> bool {
    false
}

/// Users have no numbers here.
pub(crate) fn uid(_pid: u32) -> Option<u32> {
    None
}

pub(crate) fn cpu_ticks(pid: u32) -> Option<u64> {
    const TICKS_PER_10_MS: u64 = 100_000;
    let handle = open(pid, PROCESS_QUERY_LIMITED_INFORMATION).ok()?;
    let mut times = [FILETIME::default(); 4];
    let [created, ended, kernel, user] = &mut times;
    // SAFETY: the handle is open, and the four times can be written.
    let ok = unsafe { GetProcessTimes(handle.as_raw_handle(), created, ended, kernel, user) };
    let ticks = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    (ok != 0).then(|| (ticks(times[2]) + ticks(times[3])) / TICKS_PER_10_MS)
}

fn executable(pid: u32) -> Option<PathBuf> {
    let handle = open(pid, PROCESS_QUERY_LIMITED_INFORMATION).ok()?;
    let mut buffer = [0u16; 1024];
    let mut length = buffer.len() as u32;
    // SAFETY: the handle is open, and `length` is the number of units that the buffer holds.
    let ok = unsafe {
        QueryFullProcessImageNameW(handle.as_raw_handle(), 0, buffer.as_mut_ptr(), &raw mut length)
    };
    let path = buffer.get(..length as usize)?;
    (ok != 0).then(|| String::from_utf16_lossy(path).into())
}

pub(crate) fn facts(pid: u32) -> ProcessStatus {
    let parent = snapshot().into_iter().find(|(known, _)| *known == pid).map(|(_, parent)| parent);
    let modules = modules::of(pid);
    ProcessStatus {
        pid,
        exists: exists(pid),
        parent_pid: parent,
        executable: executable(pid),
        environ: environ(pid),
        command_line: memory::command_line(pid),
        mappings_readable: modules.is_some(),
        runtime_library: modules.and_then(|modules| modules::runtime(&modules)),
        namespace_pid: Some(pid),
        ..ProcessStatus::default()
    }
}

/// Whether a pipe of this full name exists. Only an attempt shows whether it can be opened.
pub(crate) fn pipe_exists(name: &str) -> bool {
    let name = wide(OsStr::new(name));
    // SAFETY: the name ends with a NUL and outlives the call; 1 is a timeout in milliseconds.
    let available = unsafe { WaitNamedPipeW(name.as_ptr(), 1) } != 0;
    // SAFETY: no preconditions.
    available || unsafe { GetLastError() } != ERROR_FILE_NOT_FOUND
}

/// The names of all pipes on this machine, without the leading `\\.\pipe\`.
///
/// # Errors
/// The names cannot be listed. Wine cannot do it.
pub(crate) fn pipe_names() -> io::Result<Vec<String>> {
    let entries = fs::read_dir(PIPE_PREFIX)?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}
