//! What `/proc` says about other processes.

use std::fs;

/// Resident and swapped-out memory of a process; `None` if `/proc` does not say.
pub(crate) fn memory_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let swapped = kib("VmSwap:").unwrap_or(0);
    kib("VmRSS:").map(|resident| resident.saturating_add(swapped).saturating_mul(1024))
}

/// The names of a process's threads; none if `/proc` does not say.
pub(crate) fn thread_names(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = threads.filter_map(|thread| fs::read(thread.path().join("comm")).ok());
    names.map(|name| String::from_utf8_lossy(name.trim_ascii_end()).into_owned()).collect()
}
