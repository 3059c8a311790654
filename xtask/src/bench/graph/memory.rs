//! Memory of a program, of its forked copy and of a tool, read again and again from `/proc`.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(10);
const MIB: f64 = 1_048_576.0;

/// Peaks in MiB.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    /// By how much the program's resident memory was larger than at first.
    pub(super) grown_mib: f64,
    /// What the copy shared with no other process.
    pub(super) copy_mib: f64,
    /// Resident memory of the tool.
    pub(super) tool_mib: f64,
}

/// Reads until it is stopped.
#[derive(Debug)]
pub(super) struct Sampler {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Memory>,
}

impl Sampler {
    pub(super) fn start(program: u32, tool: Option<u32>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let first_mib = resident_mib(program).unwrap_or(0.0);
        let thread = thread::spawn(move || {
            let mut peak = Memory::default();
            while !end.load(Relaxed) {
                let grown_mib = resident_mib(program).unwrap_or(0.0) - first_mib;
                peak.grown_mib = peak.grown_mib.max(grown_mib);
                let copy_mib = copies(program).into_iter().filter_map(private_mib).sum();
                peak.copy_mib = peak.copy_mib.max(copy_mib);
                peak.tool_mib = peak.tool_mib.max(tool.and_then(resident_mib).unwrap_or(0.0));
                thread::sleep(PAUSE);
            }
            peak
        });
        Self { ended, thread }
    }

    pub(super) fn stop(self) -> Memory {
        self.ended.store(true, Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn resident_mib(pid: u32) -> Option<f64> {
    let pages: f64 =
        fs::read_to_string(format!("/proc/{pid}/statm")).ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as f64 / MIB)
}

/// The children of a process that are copies of it.
fn copies(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let children = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids = children
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>());
    let name = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    pids.filter(|pid| name(pid).trim() == "gcwatch-graph").collect()
}

fn private_mib(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let kib = |line: &str| line.split_whitespace().nth(1)?.parse::<f64>().ok();
    Some(text.lines().filter(|line| line.starts_with("Private_")).filter_map(kib).sum::<f64>() / 1024.0)
}
