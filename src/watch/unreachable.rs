//! Finds .NET processes of a tree that do not connect to our port: their diagnostics are off, or too old.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

use dotnet_diagnostics_client::{ProcessStatus, process};

use super::port::{PORTS, names_port};

/// A runtime connects within milliseconds of its loading, or later on a busy machine.
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Finds such processes.
#[derive(Debug)]
pub(crate) struct Unreachable {
    /// Processes that are not of the tree, have connected, or were already found.
    settled: HashSet<u32>,
    /// Processes with a runtime that has not connected yet, and since when they are known.
    silent: HashMap<u32, Instant>,
    /// How [`PORTS`] names the port.
    port: OsString,
}

/// A process that cannot be watched, and why.
#[derive(Debug)]
pub(crate) struct UnreachableProcess {
    pub(crate) facts: ProcessStatus,
    pub(crate) why: String,
    pub(crate) remedy: &'static str,
}

impl Unreachable {
    /// `port`: the port that processes of the tree have in their environment. Call this while the tree has no process
    /// but its root.
    pub(crate) fn new(port: &OsStr, root: u32) -> Unreachable {
        let settled = process::pids().into_iter().filter(|pid| *pid != root).collect();
        Unreachable { settled, silent: HashMap::new(), port: port.to_owned() }
    }

    /// This process has connected.
    pub(crate) fn reported(&mut self, pid: u32) {
        self.settled.insert(pid);
        self.silent.remove(&pid);
    }

    /// The unreachable processes that were not returned before.
    pub(crate) fn look(&mut self) -> Vec<UnreachableProcess> {
        let pids: HashSet<u32> = process::pids().into_iter().collect();
        // Ids may be used again.
        self.settled.retain(|pid| pids.contains(pid));
        self.silent.retain(|pid, _| pids.contains(pid));
        let mut found = Vec::new();
        for pid in pids {
            if self.settled.contains(&pid) {
                continue;
            }
            // Such a process is not settled: it may yet load a runtime, or become another program.
            if !process::has_variable(pid, PORTS, |value| names_port(value, &self.port)) {
                continue;
            }
            let facts = ProcessStatus::read(pid);
            if facts.runtime_library.is_none() {
                continue;
            }
            let since = *self.silent.entry(pid).or_insert_with(Instant::now);
            let (why, remedy) = match facts.ipc_disabled_by() {
                Some(variable) => (
                    format!("its diagnostics are switched off ({variable}=0 in its environment)"),
                    "start it without that variable",
                ),
                None if since.elapsed() > REPORT_TIMEOUT => (
                    "its runtime does not report (.NET 5 is the first that does)".to_owned(),
                    "use gcwatch attach",
                ),
                None => continue,
            };
            self.settled.insert(pid);
            found.push(UnreachableProcess { facts, why, remedy });
        }
        found
    }
}
