//! A process with its CPU time and memory, as `/proc` tells them.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// What a process took, from its start to its end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) wall_ms: f64,
    /// User and system, of all its threads. Of a process with one thread in nanoseconds, of others in steps of 10 ms.
    pub(crate) cpu_ms: f64,
    /// The most it had resident, as far as it was looked at (every few milliseconds).
    pub(crate) memory_mib: f64,
}

/// Runs a command to its end, its output thrown away.
pub(crate) fn run(mut command: Command) -> Result<Cost> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let program = command.get_program().to_owned();
    finish(child, began, Duration::from_secs(1800)).with_context(|| program.display().to_string())
}

/// Wall alone, without looking at it meanwhile: for what takes milliseconds.
pub(crate) fn wall_ms(mut command: Command) -> Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    let wall = began.elapsed();
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(wall.as_secs_f64() * 1e3)
}

/// Waits for a process that succeeds.
pub(crate) fn finish(mut child: Child, began: Instant, limit: Duration) -> Result<Cost> {
    let proc = format!("/proc/{}", child.id());
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process id")?;
    let mut cost = Cost::default();
    // It stays a zombie until `wait`, with its times still to be read.
    let ended = |options| Ok::<bool, rustix::io::Errno>(waitid(WaitId::Pid(pid), options)?.is_some());
    while !ended(WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG)? {
        cost.memory_mib = memory_mib(&proc).unwrap_or(cost.memory_mib);
        if began.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("it did not end within {limit:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
    cost.wall_ms = began.elapsed().as_secs_f64() * 1e3;
    cost.cpu_ms = cpu_ms(&proc).context("its times could not be read")?;
    let status = child.wait()?;
    if !status.success() {
        let mut said = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut said)?;
        }
        bail!("it ended with {status}: {}", said.trim());
    }
    Ok(cost)
}

/// A process that is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for a process that was told to end; how it ends does not matter.
pub(crate) fn finish_in_place(child: &mut Child, limit: Duration) -> Result<()> {
    let until = Instant::now() + limit;
    while child.try_wait()?.is_none() {
        if Instant::now() > until {
            bail!("it did not end within {limit:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn memory_mib(proc: &str) -> Option<f64> {
    let status = fs::read_to_string(Path::new(proc).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

fn cpu_ms(proc: &str) -> Option<f64> {
    let stat = fs::read_to_string(Path::new(proc).join("stat")).ok()?;
    // Behind the name, which may hold anything; utime and stime are fields 14 and 15 of all.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    let counted = ticks * 1e3 / rustix::param::clock_ticks_per_second() as f64;
    // The first thread's own time is known exactly, where the kernel keeps it.
    let first = fs::read_to_string(Path::new(proc).join("schedstat")).ok();
    let first = first.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Some(first.map_or(counted, |ns| counted.max(ns / 1e6)))
}

/// Tells a child to go on.
pub(crate) fn go(child: &mut Child) -> Result<()> {
    let stdin = child.stdin.as_mut().context("no stdin")?;
    stdin.write_all(b"\n")?;
    Ok(stdin.flush()?)
}

/// The value of `key` in words of the form `key=value`.
pub(crate) fn fact(line: &str, key: &str) -> Result<f64> {
    let found = line.split_whitespace().filter_map(|word| word.split_once('=')).find(|word| word.0 == key);
    let (_, value) = found.with_context(|| format!("no {key} in {line:?}"))?;
    value.parse().with_context(|| format!("{key} in {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn cpu_and_memory_of_an_ended_process_are_known() {
        let cost = run(shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")).unwrap();
        assert!(cost.cpu_ms >= 10.0 && cost.cpu_ms <= cost.wall_ms + 20.0, "{cost:?}");
        assert!(cost.memory_mib > 0.1, "{cost:?}");
        assert!(run(shell("exit 3")).is_err());
    }

    #[test]
    fn facts() {
        assert_eq!(fact("done gcs=3 wall_ns=12", "wall_ns").unwrap(), 12.0);
        assert!(fact("done gcs=3", "wall_ns").is_err());
    }
}
