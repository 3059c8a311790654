//! Other processes, as the operating system shows them.

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

/// The socket of a process's runtime. A runtime that was killed leaves its socket behind, and its process id may have come
/// to this process since: the newest socket is the one that is listened on.
pub(crate) fn diagnostics_socket(pid: u32) -> Result<PathBuf> {
    let prefix = format!("dotnet-diagnostic-{pid}-");
    let newest = fs::read_dir(std::env::temp_dir())?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .max_by_key(|entry| entry.metadata().and_then(|m| m.modified()).ok());
    newest.map(|entry| entry.path()).with_context(|| format!("process {pid} has no socket"))
}

/// Kills a process that a test knows of by its id alone, such as a child of gcwatch, at the end of the test.
#[derive(Debug)]
pub(crate) struct Guard(pub(crate) u32);

impl Drop for Guard {
    fn drop(&mut self) {
        // Mostly it has ended long ago. Its parent, or init, collects it.
        let _ = signal(self.0, Signal::KILL);
    }
}

/// How a process ended; one that does not end is killed.
pub(crate) fn end_of(mut child: Child) -> Result<ExitStatus> {
    let waited = until("the end of gcwatch", DEADLINE, || Ok(child.try_wait()?.is_some()));
    if let Err(error) = waited {
        child.kill()?;
        child.wait()?;
        return Err(error);
    }
    Ok(child.wait()?)
}

/// Kills what a process that a test started has started itself.
pub(super) fn kill_descendants(pid: u32) {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
        kill_descendants(child);
        let _ = signal(child, Signal::KILL);
    }
}

/// What a process has open at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// How many threads have this name.
    pub(crate) threads: BTreeMap<String, usize>,
    /// How many descriptors are of this kind: "socket", "pipe", or the path.
    pub(crate) descriptors: BTreeMap<String, usize>,
}

impl Footprint {
    pub(crate) fn of(pid: u32) -> Result<Footprint> {
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let mut threads = BTreeMap::new();
        for task in fs::read_dir(proc.join("task"))? {
            // A thread may end while it is looked at.
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

    /// The same with one more thread: a new one has the name of the one that started it.
    pub(crate) fn with_a_thread(&self) -> Footprint {
        let mut more = self.clone();
        *more.threads.entry(".NET EventPipe".to_owned()).or_default() += 1;
        more
    }

    /// A profiler of ours is there, or on its way out.
    pub(crate) fn has_our_threads(&self) -> bool {
        self.threads.keys().any(|name| name.starts_with("gcwatch-"))
    }

    /// Nothing is there that was not there before. Threads and descriptors that went by themselves do not matter.
    ///
    /// One pipe, which has two ends, may be more: libunwind, by which the runtime walks native frames, opens one to probe
    /// memory when it first does so, on a busy machine during the watch, and keeps it. The profiler has none.
    pub(crate) fn within(&self, before: &Footprint) -> bool {
        let fits = |now: &BTreeMap<String, usize>, then: &BTreeMap<String, usize>| {
            let background_gc = ".NET BGC";
            // Once they are back, background collections have threads.
            now.iter()
                .filter(|(name, _)| *name != background_gc)
                .all(|(name, count)| then.get(name).is_some_and(|before| count <= before))
        };
        let mut descriptors = before.descriptors.clone();
        *descriptors.entry("pipe".to_owned()).or_default() += 2;
        fits(&self.threads, &before.threads) && fits(&self.descriptors, &descriptors)
    }
}
