//! A program that collects at a pace, and a tool that watches it from outside.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::process::{self, Cost};
use super::{Bench, Tool};

/// How long a tool may take to be ready, and to end after its target.
const LIMIT: Duration = Duration::from_secs(120);

/// What a paced program did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paced {
    pub(super) gcs: f64,
    pub(super) wall_ms: f64,
    /// Of the collection in the middle.
    pub(super) median_stall_ms: f64,
}

/// A program that waits for the word to begin; killed when dropped.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) child: Child,
    result: PathBuf,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Usually it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Bench {
    /// Starts the program and waits until its runtime is there.
    pub(super) fn paced(&self, arguments: &str) -> Result<Waiting> {
        let result = self.file("pace.txt");
        let mut arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        arguments.push(format!("result={}", result.display()));
        let line = self.app(&self.newest, "pace", &[("DOTNET_gcServer", "0".to_owned())], &arguments)?;
        let mut command = self.run_under(Tool::None, &self.newest, &line)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let stdout = child.stdout.as_mut().context("no stdout")?;
        let mut ready = [0_u8; 1];
        std::io::Read::read_exact(stdout, &mut ready).context("the program ended at once")?;
        Ok(Waiting { child, result })
    }

    /// Lets a tool (with `more` options) watch the program from outside from its first collection to its end: what the program did, and what
    /// the tool took.
    pub(super) fn watch_paced(
        &self,
        tool: Tool,
        arguments: &str,
        output: &Path,
        more: &[&str],
    ) -> Result<(Paced, Option<Cost>)> {
        // What is left from the run before says nothing of this one.
        if output.exists() {
            std::fs::remove_file(output)?;
        }
        let mut target = self.paced(arguments)?;
        let watcher = match self.attach(tool, &self.newest, target.child.id(), output)? {
            Some(mut command) => {
                command.args(more).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
                let began = Instant::now();
                let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
                if let Err(error) = wait_for(tool, output, &mut child) {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(error.context(format!("{command:?}")));
                }
                Some((child, began))
            }
            None => None,
        };
        process::go(&mut target.child)?;
        let cost = match watcher {
            Some((child, began)) => Some(process::finish(child, began, Duration::from_secs(600))?),
            None => {
                target.child.wait()?;
                None
            }
        };
        target.child.wait()?;
        let line = std::fs::read_to_string(&target.result).context("the program left no result")?;
        std::fs::remove_file(&target.result)?;
        let paced = Paced {
            gcs: process::fact(&line, "gcs")?,
            wall_ms: process::fact(&line, "wall_ns")? / 1e6,
            median_stall_ms: process::fact(&line, "median_ns")? / 1e6,
        };
        Ok((paced, cost))
    }
}

/// Whether a tool is watching: gcwatch once its header is in its output, dotnet-trace once the file is there, which it
/// makes after it has opened its session.
pub(super) fn is_ready(tool: Tool, output: &Path) -> bool {
    std::fs::metadata(output).is_ok_and(|meta| matches!(tool, Tool::Trace(_)) || meta.len() > 0)
}

/// Waits until a tool is watching.
pub(super) fn wait_for(tool: Tool, output: &Path, child: &mut Child) -> Result<()> {
    let until = Instant::now() + LIMIT;
    while !is_ready(tool, output) {
        if child.try_wait()?.is_some() {
            let mut said = String::new();
            if let Some(stderr) = child.stderr.as_mut() {
                std::io::Read::read_to_string(stderr, &mut said)?;
            }
            bail!("it ended before it watched: {}", said.trim());
        }
        if Instant::now() >= until {
            bail!("it was not ready within {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
