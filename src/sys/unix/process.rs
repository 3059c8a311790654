//! What `/proc` says about other processes.

use std::fs;

/// Resident and swapped-out memory of a process; `None` if `/proc` does not say.
pub(crate) fn memory_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let swapped = bytes_of(&status, "VmSwap:").unwrap_or(0);
    bytes_of(&status, "VmRSS:").map(|resident| resident.saturating_add(swapped))
}

/// The most memory that a process has had resident so far; `None` if `/proc` does not say.
pub(crate) fn peak_memory_bytes(pid: u32) -> Option<u64> {
    bytes_of(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?, "VmHWM:")
}

fn bytes_of(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib.saturating_mul(1024))
}

/// The names of a process's threads; none if `/proc` does not say.
pub(crate) fn thread_names(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = threads.filter_map(|thread| fs::read(thread.path().join("comm")).ok());
    names.map(|name| String::from_utf8_lossy(name.trim_ascii_end()).into_owned()).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_at_least_what_is_resident() {
        let own = std::process::id();
        let peak = peak_memory_bytes(own).unwrap();
        assert!(peak > 100_000 && peak_memory_bytes(own).unwrap() >= peak);
        assert_eq!(peak_memory_bytes(u32::MAX - 3), None);
    }
}
