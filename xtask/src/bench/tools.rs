//! Runs the tools that the variants name: gcwatch at a level, gcwatch with a profiler that reports nothing, or
//! dotnet-trace.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use xtask::testkit::{Target, peer};
use xtask::{Clr, profiler};

use super::process::{self, Cost};
use super::{Bench, NONE};

/// How long a program or tool may take to be ready or to end.
pub(super) const LIMIT: Duration = Duration::from_secs(600);

pub(super) fn is_trace(name: &str) -> bool {
    name.starts_with("dotnet-trace")
}

pub(super) fn loads_a_profiler(name: &str) -> bool {
    name.starts_with("roots") || matches!(name, "floor" | "MONITOR_GC")
}

/// A tool that watches a process. Dropping this kills the tool.
#[derive(Debug)]
pub(super) struct Watcher {
    name: &'static str,
    pub(super) process: Target,
    began: Instant,
    /// The time from the tool's start until it was ready.
    pub(super) ready_ms: f64,
}

impl Watcher {
    /// Waits until the tool ends because its target has ended.
    pub(super) fn finish(mut self) -> Result<Cost> {
        process::finish(&mut self.process, self.began)
    }

    /// Ends a tool as Ctrl-C does. dotnet-trace sometimes ignores it, and is then killed.
    pub(super) fn interrupt(mut self) -> Result<()> {
        if self.process.wait(Duration::ZERO).is_ok() {
            bail!("it ended too early\n{:?}", self.process);
        }
        let pid = i32::try_from(self.process.pid()).ok().and_then(Pid::from_raw).context("a process id")?;
        kill_process(pid, Signal::INT)?;
        if is_trace(self.name) && self.process.wait(Duration::from_secs(3)).is_err() {
            return Ok(());
        }
        self.process.wait(LIMIT).map(|_| ())
    }
}

impl Bench {
    /// Starts a test application and waits until it is ready.
    pub(super) fn start(&self, clr: &Clr, app: &str, args: &str, env: &[(&str, &str)]) -> Result<Target> {
        let args: Vec<&str> = args.split_whitespace().collect();
        let mut target = Target::app(clr, app, &args, env)?;
        target.wait_line("ready", LIMIT)?;
        Ok(target)
    }

    /// Attaches a tool to a process and waits until it writes to the file `watched`; `None` without a tool.
    pub(super) fn watch(
        &self,
        name: &'static str,
        clr: &Clr,
        pid: u32,
        more: &str,
    ) -> Result<Option<Watcher>> {
        let output = self.file("watched");
        if output.exists() {
            std::fs::remove_file(&output)?;
        }
        let Some(mut command) = self.attach(name, clr, pid, &output)? else { return Ok(None) };
        command.args(more.split_whitespace());
        let began = Instant::now();
        let mut watcher = Watcher { name, process: Target::spawn(command)?, began, ready_ms: 0.0 };
        watcher.process.close_stdin();
        // gcwatch writes a header once it watches; dotnet-trace creates the file once its session is open.
        while !std::fs::metadata(&output).is_ok_and(|meta| is_trace(name) || meta.len() > 0) {
            if began.elapsed() > LIMIT || watcher.process.wait(Duration::ZERO).is_ok() {
                bail!("it ended, or was not ready in time\n{:?}", watcher.process);
            }
            thread::sleep(Duration::from_micros(200));
        }
        watcher.ready_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(Some(watcher))
    }

    /// A command that attaches a tool to a process and writes to a file.
    pub(super) fn attach(&self, name: &str, clr: &Clr, pid: u32, output: &Path) -> Result<Option<Command>> {
        let options = match name {
            // "none again" shows how much two equal variants differ.
            NONE | "none again" => return Ok(None),
            "floor" | "MONITOR_GC" => "--level roots --no-names".to_owned(),
            _ => match name.strip_prefix("dotnet-trace ") {
                Some(keywords) if keywords.starts_with("0x") => {
                    format!("--providers Microsoft-Windows-DotNETRuntime:{keywords}:4")
                }
                Some(profile) => format!("--profile {profile}"),
                None => format!("--level {name}"),
            },
        };
        let mut command =
            if is_trace(name) { self.newest.command(&dotnet_trace()?) } else { self.gcwatch(clr) };
        command.args([if is_trace(name) { "collect" } else { "attach" }, "-p", &pid.to_string()]);
        if let "floor" | "MONITOR_GC" = name {
            let kind = if name == "floor" { "floor" } else { "plain" };
            command.arg("--profiler-path").arg(profiler::measured(kind)?);
        }
        command.args(options.split(' ')).arg("--output").arg(output);
        Ok(Some(command))
    }

    /// A command that runs gcwatch without the user's settings.
    pub(super) fn gcwatch(&self, clr: &Clr) -> Command {
        let mut command = Command::new(&self.gcwatch);
        clr.environment(&mut command);
        let names = std::env::vars_os().map(|(name, _)| name);
        for name in names.filter(|name| name.to_string_lossy().starts_with("GCWATCH_")) {
            command.env_remove(name);
        }
        command.current_dir(self.dir.path());
        command
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

pub(super) fn dotnet_trace() -> Result<PathBuf> {
    Ok(peer("dotnet-trace-10.0.750501/dotnet-trace.dll")?)
}

/// The size of a file in MiB.
pub(super) fn mib(path: &Path) -> Result<f64> {
    Ok(std::fs::metadata(path)?.len() as f64 / f64::from(1 << 20))
}
