//! How much memory gcwatch itself has left: a small file can hold a graph that needs all of it.

use std::fs;

use super::group::Groups;

/// Memory that can still be had, in bytes, with swap space; `None`: the system does not say.
pub(crate) fn free_bytes() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text));
    [of_machine, Groups::read(&groups).free_bytes].into_iter().flatten().min()
}

/// What `/proc/meminfo` says.
fn of_machine(text: &str) -> Option<u64> {
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(kib("MemAvailable:")?.saturating_add(kib("SwapFree:").unwrap_or(0)).saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_space_counts() {
        let text = "MemTotal: 9 kB\nMemAvailable:    7 kB\nSwapFree: 2 kB\n";
        assert_eq!((of_machine(text), of_machine("MemTotal: 9 kB")), (Some(9 << 10), None));
    }
}
