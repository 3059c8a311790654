//! What the figures were measured on, without naming it.

use std::fmt;
use std::fs;
use std::thread;

use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    memory_gib: u64,
    system: String,
    kernel: String,
    /// Processes that wanted to run, of the last minute, before the first measurement.
    load: Option<f64>,
}

impl Machine {
    pub(crate) fn of_this() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let value = |text: &str, key: &str, separator: char| {
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(separator)?.1.trim().trim_matches('"').to_owned())
        };
        let unknown = || "unknown".to_owned();
        let memory_kib = value(&read("/proc/meminfo"), "MemTotal", ':')
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        Self {
            processor: value(&read("/proc/cpuinfo"), "model name", ':').unwrap_or_else(unknown),
            cores: thread::available_parallelism().map_or(0, usize::from),
            memory_gib: memory_kib.map_or(0, |kib| kib.div_ceil(1 << 20)),
            system: value(&read("/etc/os-release"), "PRETTY_NAME", '=').unwrap_or_else(unknown),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: read("/proc/loadavg").split_whitespace().next().and_then(|load| load.parse().ok()),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "processor": self.processor, "cores": self.cores, "memory_gib": self.memory_gib,
            "system": self.system, "kernel": self.kernel, "load_before": self.load,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cores ({}), {} GiB, {}, kernel {}",
            self.cores, self.processor, self.memory_gib, self.system, self.kernel
        )?;
        match self.load {
            Some(load) => write!(f, "; load before the run {load:.1}"),
            None => Ok(()),
        }
    }
}
