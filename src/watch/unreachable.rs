//! .NET processes of a tree that do not report to our port: their diagnostics are off, or too old.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dotnet_diagnostics_client::{ProcessFacts, process};

use super::port_name::{PORTS, names_port};

/// A runtime dials within milliseconds of its loading, on a busy machine later.
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks for them.
#[derive(Debug)]
pub(crate) struct Unreachable {
    /// Processes that cannot be of the tree, or are settled.
    settled: HashSet<u32>,
    /// Those with a runtime in them, and since when they are known.
    silent: HashMap<u32, Instant>,
    port: PathBuf,
}

/// A process that cannot be watched, and why.
#[derive(Debug)]
pub(crate) struct UnreachableProcess {
    pub(crate) facts: ProcessFacts,
    pub(crate) why: String,
    pub(crate) remedy: &'static str,
}

impl Unreachable {
    /// `port`: what processes of the tree have in their environment. To be made when there is none but
    /// its root.
    pub(crate) fn new(port: &Path, root: u32) -> Unreachable {
        let settled = process::pids().into_iter().filter(|pid| *pid != root).collect();
        Unreachable { settled, silent: HashMap::new(), port: port.to_owned() }
    }

    /// This one has reported.
    pub(crate) fn reported(&mut self, pid: u32) {
        self.settled.insert(pid);
        self.silent.remove(&pid);
    }

    /// Those that have come up since.
    pub(crate) fn look(&mut self) -> Vec<UnreachableProcess> {
        let pids: HashSet<u32> = process::pids().into_iter().collect();
        // An id may be used again.
        self.settled.retain(|pid| pids.contains(pid));
        self.silent.retain(|pid, _| pids.contains(pid));
        let mut found = Vec::new();
        for pid in pids {
            if self.settled.contains(&pid) {
                continue;
            }
            // It may yet load a runtime, or become another program.
            if !process::has_variable(pid, PORTS, |value| names_port(value, &self.port)) {
                continue;
            }
            let facts = ProcessFacts::read(pid);
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
