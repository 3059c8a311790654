//! Describes the machine that the figures were measured on, without naming it.

use std::fs;
use std::thread;

use serde_json::{Value, json};

/// Processor, memory, system, and the load average of the minute before the first measurement.
pub fn describe() -> Value {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let value = |path: &str, key: &str, separator: char| {
        let text = read(path);
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(separator)?.1.trim().trim_matches('"').to_owned())
    };
    let memory_kib = value("/proc/meminfo", "MemTotal", ':').and_then(first);
    json!({
        "processor": value("/proc/cpuinfo", "model name", ':'),
        "cores": thread::available_parallelism().map_or(0, usize::from),
        "memory_gib": memory_kib.map(|kib| (kib / f64::from(1 << 20)).ceil()),
        "system": value("/etc/os-release", "PRETTY_NAME", '='),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "load_before": load(),
    })
}

/// The load average of the last minute. `None`: the system does not tell.
pub fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok().and_then(first)
}

fn first(text: String) -> Option<f64> {
    text.split_whitespace().next()?.parse::<f64>().ok()
}
