//! Windows: processes and named pipes.
#![expect(unsafe_code, reason = "process snapshots and pipe probes have no safe binding")]

use std::fs;
use std::io;
use std::iter;
use std::mem;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;

use windows_sys::Win32::Foundation::{ERROR_FILE_NOT_FOUND, GetLastError, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Pipes::WaitNamedPipeW;
use windows_sys::Win32::System::Threading::{
    OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, QueryFullProcessImageNameW,
};

use crate::endpoint::PIPE_PREFIX;
use crate::process_facts::ProcessFacts;

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

pub(crate) fn exists(pid: u32) -> bool {
    snapshot().iter().any(|(known, _)| *known == pid)
}

pub(crate) fn pids() -> Vec<u32> {
    snapshot().into_iter().map(|(pid, _)| pid).collect()
}

fn executable(pid: u32) -> Option<PathBuf> {
    // SAFETY: takes no pointers; the result is checked before it is used.
    let raw = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if raw.is_null() {
        return None;
    }
    // SAFETY: the handle came from the system, is valid and nobody else closes it.
    let handle = unsafe { OwnedHandle::from_raw_handle(raw) };
    let mut buffer = [0u16; 1024];
    let mut length = buffer.len() as u32;
    // SAFETY: the handle is open, and `length` is the number of units that the buffer holds.
    let ok = unsafe {
        QueryFullProcessImageNameW(handle.as_raw_handle(), 0, buffer.as_mut_ptr(), &raw mut length)
    };
    let path = buffer.get(..length as usize)?;
    (ok != 0).then(|| String::from_utf16_lossy(path).into())
}

pub(crate) fn facts(pid: u32) -> ProcessFacts {
    let entry = snapshot().into_iter().find(|(known, _)| *known == pid);
    ProcessFacts {
        pid,
        exists: entry.is_some(),
        parent_pid: entry.map(|(_, parent)| parent),
        executable: executable(pid),
        ..ProcessFacts::default()
    }
}

/// Whether a pipe of this full name exists. Only an attempt shows whether it can be opened.
pub(crate) fn pipe_exists(name: &str) -> bool {
    let name: Vec<u16> = name.encode_utf16().chain(iter::once(0)).collect();
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
