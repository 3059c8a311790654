//! What Windows says about other processes.
#![expect(unsafe_code, reason = "the system's calls have no safe binding")]

use std::mem;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use tokio::net::windows::named_pipe::NamedPipeServer;
use windows_sys::Win32::Foundation::{INVALID_HANDLE_VALUE, LocalFree};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::Pipes::GetNamedPipeClientProcessId;
use windows_sys::Win32::System::ProcessStatus::{GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    GetThreadDescription, OpenProcess, OpenThread, PROCESS_QUERY_LIMITED_INFORMATION,
    THREAD_QUERY_LIMITED_INFORMATION,
};

/// The process at the other end of a pipe. `None`: the system does not say.
pub(super) fn client_of(pipe: &NamedPipeServer) -> Option<u32> {
    let mut pid = 0;
    // SAFETY: the pipe is open, and `pid` can be written.
    let ok = unsafe { GetNamedPipeClientProcessId(pipe.as_raw_handle(), &raw mut pid) };
    (ok != 0 && pid != 0).then_some(pid)
}

/// Memory that a process has committed. `None` if it cannot be asked.
pub(crate) fn memory_bytes(pid: u32) -> Option<u64> {
    memory_counters(pid).map(|counters| counters.PagefileUsage as u64)
}

/// The most memory that a process has had resident so far. `None` if it cannot be asked.
pub(crate) fn peak_memory_bytes(pid: u32) -> Option<u64> {
    memory_counters(pid).map(|counters| counters.PeakWorkingSetSize as u64)
}

fn memory_counters(pid: u32) -> Option<PROCESS_MEMORY_COUNTERS> {
    // SAFETY: takes no pointers; the result is checked before it is used.
    let raw = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if raw.is_null() {
        return None;
    }
    // SAFETY: the handle came from the system, is valid and nobody else closes it.
    let process = unsafe { OwnedHandle::from_raw_handle(raw) };
    // SAFETY: the structure is plain data, for which all zeros are valid.
    let mut counters: PROCESS_MEMORY_COUNTERS = unsafe { mem::zeroed() };
    let bytes = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    // SAFETY: the handle is open, and the structure has `bytes` bytes.
    let ok = unsafe { GetProcessMemoryInfo(process.as_raw_handle(), &raw mut counters, bytes) };
    (ok != 0).then_some(counters)
}

/// The names of a process's threads, as far as they have one.
pub(crate) fn thread_names(pid: u32) -> Vec<String> {
    // SAFETY: takes no pointers; the result is checked before it is used.
    let raw = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) };
    if raw == INVALID_HANDLE_VALUE {
        return Vec::new();
    }
    // SAFETY: the handle came from the system, is valid and nobody else closes it.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(raw) };
    // SAFETY: the structure is plain data, for which all zeros are valid.
    let mut entry: THREADENTRY32 = unsafe { mem::zeroed() };
    entry.dwSize = size_of::<THREADENTRY32>() as u32;
    let mut names = Vec::new();
    // SAFETY: the handle is open, and the entry is writable and has its size set as the call wants it.
    let mut more = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        if entry.th32OwnerProcessID == pid {
            names.extend(thread_name(entry.th32ThreadID));
        }
        // SAFETY: as above.
        more = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) };
    }
    names
}

fn thread_name(id: u32) -> Option<String> {
    // SAFETY: takes no pointers; the result is checked before it is used.
    let raw = unsafe { OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, id) };
    if raw.is_null() {
        return None;
    }
    // SAFETY: the handle came from the system, is valid and nobody else closes it.
    let thread = unsafe { OwnedHandle::from_raw_handle(raw) };
    let mut name = ptr::null_mut();
    // SAFETY: the handle is open, and `name` can be written.
    if unsafe { GetThreadDescription(thread.as_raw_handle(), &raw mut name) } < 0 || name.is_null() {
        return None;
    }
    // SAFETY: the call has returned a string that ends with a zero.
    let length = (0..).take_while(|index| unsafe { *name.add(*index) } != 0).count();
    // SAFETY: these units were just read.
    let text = String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(name, length) });
    // SAFETY: the string came from the call above, and nobody uses it any more.
    unsafe { LocalFree(name.cast()) };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_memory_is_known() {
        assert!(memory_bytes(std::process::id()).is_some_and(|bytes| bytes > 100_000));
        assert_eq!(memory_bytes(u32::MAX - 3), None);
    }
}
