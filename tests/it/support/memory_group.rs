//! A control group with a limit of memory, for the processes that enter it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use anyhow::{Context, Result};
use xtask::testkit::Skip;

use super::{DEADLINE, until};

/// A group below the one of the tests. Dropping it removes it, so its processes must have ended before.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    dir: PathBuf,
    limit: &'static str,
    used: &'static str,
}

impl MemoryGroup {
    /// Skips the test where no such group can be made.
    pub(crate) fn new() -> Result<MemoryGroup> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("gcwatch-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let mut why = String::new();
        for (parent, limit, used) in places() {
            let dir = parent.join(&name);
            match fs::create_dir(&dir) {
                Ok(()) if dir.join(limit).is_file() => return Ok(MemoryGroup { dir, limit, used }),
                // The parent does not pass the controller on.
                Ok(()) => {
                    why = format!("{} has no memory controller for groups below it", parent.display());
                    fs::remove_dir(dir)?;
                }
                Err(e) => why = format!("{}: {e}", parent.display()),
            }
        }
        Err(Skip::because(format!("no control group for memory can be made here: {why}")).into())
    }

    /// The file to which a process writes its id to enter.
    pub(crate) fn processes(&self) -> PathBuf {
        self.dir.join("cgroup.procs")
    }

    pub(crate) fn limit(&self, bytes: u64) -> Result<()> {
        fs::write(self.dir.join(self.limit), bytes.to_string()).context("cannot limit the memory of a group")
    }

    /// In bytes.
    pub(crate) fn used(&self) -> Result<u64> {
        Ok(fs::read_to_string(self.dir.join(self.used))?.trim().parse()?)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A process that was killed leaves it a moment later.
        let _ = until("the group to be empty", DEADLINE / 10, || Ok(fs::remove_dir(&self.dir).is_ok()));
    }
}

/// The groups that may get one below them, with the names of the files for limit and use: that of the tests, those above it,
/// and what a container sees as the first one.
fn places() -> Vec<(PathBuf, &'static str, &'static str)> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut places = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, limit, used) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        let dirs = Path::new(path).ancestors().filter_map(|dir| dir.strip_prefix("/").ok());
        places.extend(dirs.map(|dir| (Path::new(root).join(dir), limit, used)));
    }
    places
}
