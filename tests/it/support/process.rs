//! Looks at other processes through the operating system.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::{DEADLINE, until};

/// Sends a signal to a process that a test started.
pub(crate) fn signal(pid: u32, signal: Signal) -> Result<()> {
    let raw = i32::try_from(pid)?;
    let Some(pid) = Pid::from_raw(raw).filter(|_| raw > 1) else { bail!("{raw} is not a process to signal") };
    kill_process(pid, signal).with_context(|| format!("signal to {raw}"))
}

/// The diagnostics socket of a process. A runtime that was killed leaves its socket behind, and a later process may get
/// the same id: only the newest socket has a listener.
pub(crate) fn diagnostics_socket(pid: u32) -> Result<PathBuf> {
    let prefix = format!("dotnet-diagnostic-{pid}-");
    let newest = fs::read_dir(std::env::temp_dir())?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .max_by_key(|entry| entry.metadata().and_then(|m| m.modified()).ok());
    newest.map(|entry| entry.path()).with_context(|| format!("process {pid} has no socket"))
}

/// At the end of the test, kills a process that the test knows only by its id, such as a child of gcwatch.
#[derive(Debug)]
pub(crate) struct Guard(pub(crate) u32);

impl Drop for Guard {
    fn drop(&mut self) {
        // Usually it has already ended. Its parent, or init, reaps it.
        let _ = signal(self.0, Signal::KILL);
    }
}

/// Waits for a process and returns its status; kills it at the deadline.
pub(crate) fn end_of(mut child: Child) -> Result<ExitStatus> {
    let waited = until("gcwatch to end", DEADLINE, || Ok(child.try_wait()?.is_some()));
    if let Err(error) = waited {
        child.kill()?;
        child.wait()?;
        return Err(error);
    }
    Ok(child.wait()?)
}

/// Kills all descendants of a process that a test started.
pub(super) fn kill_descendants(pid: u32) {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
        kill_descendants(child);
        let _ = signal(child, Signal::KILL);
    }
}

/// The threads and descriptors of a process at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// The number of threads by name.
    pub(crate) threads: BTreeMap<String, usize>,
    /// The number of descriptors by kind ("socket", "pipe") or path.
    pub(crate) descriptors: BTreeMap<String, usize>,
}

impl Footprint {
    pub(crate) fn of(pid: u32) -> Result<Footprint> {
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let mut threads = BTreeMap::new();
        for task in fs::read_dir(proc.join("task"))? {
            // The thread may have ended meanwhile.
            let Ok(name) = fs::read_to_string(task?.path().join("comm")) else { continue };
            *threads.entry(name.trim().to_owned()).or_default() += 1;
        }
        let mut descriptors = BTreeMap::new();
        for descriptor in fs::read_dir(proc.join("fd"))? {
            let Ok(link) = fs::read_link(descriptor?.path()) else { continue };
            let name = link.to_string_lossy();
            let kind = name.split_once(":[").map_or(name.as_ref(), |(kind, _)| kind);
            *descriptors.entry(kind.to_owned()).or_default() += 1;
        }
        Ok(Footprint { threads, descriptors })
    }

    /// The same with one more thread, named after the thread that started it.
    pub(crate) fn with_a_thread(&self) -> Footprint {
        let mut more = self.clone();
        *more.threads.entry(".NET EventPipe".to_owned()).or_default() += 1;
        more
    }

    /// Whether gcwatch's profiler is loaded, or still leaving.
    pub(crate) fn has_our_threads(&self) -> bool {
        self.threads.keys().any(|name| name.starts_with("gcwatch-"))
    }

    /// Whether nothing is new since `before`. Threads and descriptors that have gone do not matter.
    ///
    /// One pipe more (two descriptors) is allowed: the first time that the runtime walks native frames, libunwind opens
    /// one to probe memory, and keeps it; on a busy machine that happens during the watch. The profiler opens none.
    pub(crate) fn within(&self, before: &Footprint) -> bool {
        let fits = |now: &BTreeMap<String, usize>, then: &BTreeMap<String, usize>| {
            let background_gc = ".NET BGC";
            // When background collections are on again, they have threads.
            now.iter()
                .filter(|(name, _)| *name != background_gc)
                .all(|(name, count)| then.get(name).is_some_and(|before| count <= before))
        };
        let mut descriptors = before.descriptors.clone();
        *descriptors.entry("pipe".to_owned()).or_default() += 2;
        fits(&self.threads, &before.threads) && fits(&self.descriptors, &descriptors)
    }
}
