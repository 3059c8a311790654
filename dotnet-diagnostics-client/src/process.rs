//! What the operating system tells about a process, to explain why it has no diagnostics endpoint.

use std::ffi::{OsStr, OsString};

use crate::sys;

pub use crate::process_facts::ProcessFacts;

impl ProcessFacts {
    /// Reads what can be read. Never fails: what is missing is `None`.
    pub fn read(pid: u32) -> Self {
        sys::facts(pid)
    }
}

/// Whether a process of this id is running.
pub fn exists(pid: u32) -> bool {
    sys::exists(pid)
}

/// The environment with which a process was started, in its order; `None` where it cannot be read.
///
/// The same as [`ProcessFacts::environ`], without the cost of reading the rest.
pub fn environ(pid: u32) -> Option<Vec<(OsString, OsString)>> {
    sys::environ(pid)
}

/// Whether the environment with which a process was started has a variable with a value that is `wanted`; no, where it
/// cannot be read. A name that is there several times is asked about each time.
///
/// Cheaper than [`environ`], and not bounded in how many variables there are before.
pub fn has_variable(pid: u32, name: &str, wanted: impl FnMut(&OsStr) -> bool) -> bool {
    sys::has_variable(pid, name, wanted)
}

/// Whether a process is stopped, by a signal (SIGSTOP, Ctrl-Z) or by a debugger. One that is frozen with its container
/// does not count, nor does any where the platform does not tell.
pub fn is_stopped(pid: u32) -> bool {
    sys::is_stopped(pid)
}

/// Ids of the processes that a process has started and that it has not lost to another parent; empty where the platform
/// does not tell.
pub fn children(pid: u32) -> Vec<u32> {
    sys::children(pid)
}

/// Effective user id of a process; `None` where it cannot be read.
pub fn uid(pid: u32) -> Option<u32> {
    sys::uid(pid)
}

/// Processor time that a process has used, in clock ticks (of 10 ms, as a rule); `None` where it cannot be read.
///
/// A process that is stopped or frozen uses none.
pub fn cpu_ticks(pid: u32) -> Option<u64> {
    sys::cpu_ticks(pid)
}

/// Ids of the processes that this user can see, in no particular order.
///
/// Empty where the platform cannot tell without further libraries (macOS, BSD).
pub fn pids() -> Vec<u32> {
    sys::pids()
}
