//! Windows: the pipe's name follows from the process id.
#![expect(unsafe_code, reason = "process snapshots and pipe probes have no safe binding")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::iter;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_FILE_NOT_FOUND, GetLastError, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Pipes::WaitNamedPipeW;
use windows_sys::Win32::System::Threading::{
    OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, QueryFullProcessImageNameW,
};

use crate::discovery::{Found, Listing, NotFound, Rejected, Rejection, SearchedDirectory};
use crate::endpoint::{Endpoint, PIPE_PREFIX};
use crate::error::Result;
use crate::process::ProcessFacts;
use crate::transport::{Peer, Stream, Transport};

/// A handle that is closed when it goes.
struct Owned(HANDLE);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the handle came from the system, is valid and nobody else closes it.
        unsafe { CloseHandle(self.0) };
    }
}

/// Process and parent ids of everything that runs.
fn snapshot() -> Vec<(u32, u32)> {
    // SAFETY: takes no pointers; the result is checked before it is used.
    let raw = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if raw == INVALID_HANDLE_VALUE {
        return Vec::new();
    }
    let handle = Owned(raw);
    // SAFETY: the structure is plain data, for which all zeros are valid.
    let mut entry: PROCESSENTRY32W = unsafe { mem::zeroed() };
    entry.dwSize = size_of::<PROCESSENTRY32W>() as u32;
    let mut all = Vec::new();
    // SAFETY: the handle is open, and the entry is writable and has its size set as the call wants it.
    let mut more = unsafe { Process32FirstW(handle.0, &raw mut entry) };
    while more != 0 {
        all.push((entry.th32ProcessID, entry.th32ParentProcessID));
        // SAFETY: as above.
        more = unsafe { Process32NextW(handle.0, &raw mut entry) };
    }
    all
}

pub(crate) fn exists(pid: u32) -> bool {
    snapshot().iter().any(|(known, _)| *known == pid)
}

pub(crate) fn cpu_ticks(_pid: u32) -> Option<u64> {
    None
}

pub(crate) fn is_stopped(_pid: u32) -> bool {
    false
}

pub(crate) fn children(_pid: u32) -> Vec<u32> {
    Vec::new()
}

pub(crate) fn uid(_pid: u32) -> Option<u32> {
    None
}

pub(crate) fn environ(_pid: u32) -> Option<Vec<(OsString, OsString)>> {
    None
}

pub(crate) fn has_variable(_pid: u32, _name: &str, _wanted: impl FnMut(&OsStr) -> bool) -> bool {
    false
}

/// A process by its id: its pipe's name is its id and nothing else.
#[derive(Debug)]
pub(crate) struct Pin(u32);

impl Pin {
    pub(crate) fn new(pid: u32) -> io::Result<Self> {
        let pin = Self(pid);
        pin.check().map(|()| pin)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        if exists(self.0) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    pub(crate) fn is(&self, peer: &Peer) -> bool {
        peer.pid.is_none_or(|pid| pid == self.0)
    }
}

pub(crate) async fn connect(_pin: &Arc<Pin>, endpoint: &Endpoint) -> Result<Stream> {
    endpoint.connect().await
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
    let handle = Owned(raw);
    let mut buffer = [0u16; 1024];
    let mut length = buffer.len() as u32;
    // SAFETY: the handle is open, and `length` is the number of units that the buffer holds.
    let ok = unsafe { QueryFullProcessImageNameW(handle.0, 0, buffer.as_mut_ptr(), &raw mut length) };
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

/// Whether a pipe of this name exists; whether it can be opened only an attempt tells.
fn pipe_exists(endpoint: &Endpoint) -> bool {
    let name: Vec<u16> = endpoint.to_string().encode_utf16().chain(iter::once(0)).collect();
    // SAFETY: the name ends with a NUL and outlives the call; 1 is a timeout in milliseconds.
    let available = unsafe { WaitNamedPipeW(name.as_ptr(), 1) } != 0;
    // SAFETY: no preconditions.
    available || unsafe { GetLastError() } != ERROR_FILE_NOT_FOUND
}

fn found(pid: u32) -> Found {
    Found { pid, endpoint: Endpoint::default_pipe(pid), owner_uid: None }
}

pub(crate) fn find(pid: u32) -> std::result::Result<Found, Box<NotFound>> {
    let found = found(pid);
    if pipe_exists(&found.endpoint) {
        return Ok(found);
    }
    Err(Box::new(NotFound {
        pid,
        facts: facts(pid),
        searched: vec![SearchedDirectory { path: PIPE_PREFIX.into(), problem: None }],
        rejected: Vec::new(),
    }))
}

pub(crate) fn list() -> Listing {
    let running = pids();
    let mut listing = Listing::default();
    let entries = fs::read_dir(PIPE_PREFIX);
    listing.searched.push(SearchedDirectory {
        path: PIPE_PREFIX.into(),
        problem: entries.as_ref().err().map(io::Error::kind),
    });
    let mut candidates: Vec<u32> = match entries {
        Ok(entries) => entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                name.to_str()?.strip_prefix("dotnet-diagnostic-")?.parse().ok()
            })
            .collect(),
        // Wine cannot list pipes, but it can be asked for each.
        Err(_) => running.iter().copied().filter(|pid| pipe_exists(&Endpoint::default_pipe(*pid))).collect(),
    };
    candidates.sort_unstable();
    candidates.dedup();
    for pid in candidates {
        if running.contains(&pid) {
            listing.found.push(found(pid));
        } else {
            listing.rejected.push(Rejected {
                path: Endpoint::default_pipe(pid).to_string().into(),
                reason: Rejection::ProcessEnded { pid },
            });
        }
    }
    listing
}
