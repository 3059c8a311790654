//! Runs processes, and reads their CPU time and memory from `/proc`.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use xtask::testkit::Target;

/// What a process cost, from its start to its end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) wall_ms: f64,
    /// User and system time of all threads: exact for a process with one thread, otherwise in steps of 10 ms.
    pub(super) cpu_ms: f64,
    /// The peak of its resident memory, which is read every 2 ms.
    pub(super) memory_mib: f64,
}

/// Runs a command to its end.
pub(super) fn run(command: Command) -> Result<Cost> {
    let began = Instant::now();
    let mut process = Target::spawn(command)?;
    process.close_stdin();
    finish(&mut process, began)
}

/// The wall time of a command that takes only milliseconds. It does not read `/proc` meanwhile.
pub(super) fn wall_ms(mut command: Command) -> Result<f64> {
    let began = Instant::now();
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let wall = began.elapsed();
    if !output.status.success() {
        bail!("{command:?} ended with {}", output.status);
    }
    Ok(wall.as_secs_f64() * 1e3)
}

/// Waits at most half an hour until a process has succeeded.
pub(super) fn finish(process: &mut Target, began: Instant) -> Result<Cost> {
    let pid = i32::try_from(process.pid()).ok().and_then(Pid::from_raw).context("a process id")?;
    let proc = format!("/proc/{}", process.pid());
    let mut cost = Cost::default();
    // NOWAIT leaves an ended process as a zombie, so that its times can still be read.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while waitid(WaitId::Pid(pid), options)?.is_none() && began.elapsed() < Duration::from_secs(1800) {
        cost.memory_mib = memory_mib(&proc).unwrap_or(cost.memory_mib);
        thread::sleep(Duration::from_millis(2));
    }
    cost.wall_ms = began.elapsed().as_secs_f64() * 1e3;
    cost.cpu_ms = cpu_ms(&proc).context("its CPU time could not be read")?;
    let status = process.wait(Duration::from_secs(10))?;
    if !status.success() {
        bail!("it ended with {status}: {}", process.stderr().trim());
    }
    Ok(cost)
}

fn memory_mib(proc: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("{proc}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

fn cpu_ms(proc: &str) -> Option<f64> {
    let stat = fs::read_to_string(format!("{proc}/stat")).ok()?;
    // utime and stime are fields 14 and 15. The name before them may contain spaces.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    let counted = ticks * 1e3 / rustix::param::clock_ticks_per_second() as f64;
    // The exact time of the first thread, if the kernel reports it.
    let first = fs::read_to_string(format!("{proc}/schedstat")).ok();
    let first = first.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Some(first.map_or(counted, |ns| counted.max(ns / 1e6)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_and_memory_of_an_ended_process_are_known() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            run(command)
        };
        let cost = shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done").unwrap();
        assert!(cost.cpu_ms >= 10.0 && cost.cpu_ms <= cost.wall_ms + 20.0, "{cost:?}");
        assert!(cost.memory_mib > 0.1, "{cost:?}");
        assert!(shell("echo why >&2; exit 3").unwrap_err().to_string().ends_with(": why"));
    }
}
