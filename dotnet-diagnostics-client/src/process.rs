//! What the operating system says about processes. Most of it is known on Linux only.

use std::ffi::{OsStr, OsString};

use crate::sys;

pub use crate::process_status::ProcessStatus;

impl ProcessStatus {
    /// Reads what can be read. The rest is `None`.
    pub fn read(pid: u32) -> Self {
        sys::facts(pid)
    }
}

/// Whether a process of this id is running.
pub fn exists(pid: u32) -> bool {
    sys::exists(pid)
}

/// The environment with which a process was started, in its order. `None` if it cannot be read.
///
/// This is [`ProcessStatus::environ`] alone, at less cost.
pub fn environ(pid: u32) -> Option<Vec<(OsString, OsString)>> {
    sys::environ(pid)
}

/// Whether a process was started with an environment variable `name` whose value is `wanted`. `false` if the
/// environment cannot be read. If it has the name several times, one `wanted` value is enough.
///
/// This costs less than [`environ`], and has no limit on the number of variables.
pub fn has_variable(pid: u32, name: &str, wanted: impl FnMut(&OsStr) -> bool) -> bool {
    sys::has_variable(pid, name, wanted)
}

/// Whether a signal (SIGSTOP, Ctrl-Z) or a debugger has stopped a process. `false` for a process whose container is
/// frozen, and on other systems than Linux.
pub fn is_stopped(pid: u32) -> bool {
    sys::is_stopped(pid)
}

/// Ids of the child processes of a process. Empty on other systems than Linux.
pub fn children(pid: u32) -> Vec<u32> {
    sys::children(pid)
}

/// Effective user id of a process. `None` if it cannot be read.
pub fn uid(pid: u32) -> Option<u32> {
    sys::uid(pid)
}

/// Processor time that a process has used, in clock ticks (usually 10 ms). `None` if it cannot be read.
pub fn cpu_ticks(pid: u32) -> Option<u64> {
    sys::cpu_ticks(pid)
}

/// Ids of the processes that this user can see, in no particular order.
///
/// Empty on the BSDs.
pub fn pids() -> Vec<u32> {
    sys::pids()
}
