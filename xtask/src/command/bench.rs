//! `cargo xtask bench`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

/// Measure what gcwatch costs, compared with no tool, with the least that any profiler costs, and with other tools.
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// How often each variant is measured; fast cases are measured several times as often
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) rounds: usize,

    /// Only groups whose names contain this: size, callbacks, replay, huge, attaching, target, blocks, mixes, kestrel, watching, loss, graph
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Only cases whose names contain one of these
    #[arg(long = "case", value_name = "PART", value_delimiter = ',')]
    pub(crate) cases: Vec<String>,

    /// Measure on all runtimes, not only the newest
    #[arg(long)]
    pub(crate) all: bool,

    /// Write all figures and values to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Measure nothing; print the table for runs that --json wrote, with their rounds pooled
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["rounds", "only", "cases", "all", "json"])]
    goals: Vec<PathBuf>,
}

impl Bench {
    /// Prints the table of all figures that have goals.
    #[cfg(target_os = "linux")]
    pub(crate) fn run(self) -> Result<ExitCode> {
        use std::fs;
        use std::io::{self, Write};

        use anyhow::Context;

        use crate::bench::{self, Run};

        let mut runs = Vec::new();
        for file in &self.goals {
            let text = fs::read(file).with_context(|| file.display().to_string())?;
            runs.push(serde_json::from_slice::<Run>(&text).with_context(|| file.display().to_string())?);
        }
        if runs.is_empty() {
            bench::run(&self, |run| {
                if let Some(file) = &self.json {
                    let text = serde_json::to_string_pretty(run)?;
                    fs::write(file, text + "\n").with_context(|| file.display().to_string())?;
                }
                runs = vec![run.clone()];
                Ok(())
            })?;
        }
        io::stdout().write_all(bench::markdown::render(&runs).as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }

    /// Fails: benchmarks read the CPU time and memory of processes from `/proc`.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn run(self) -> Result<ExitCode> {
        anyhow::bail!("{self:?}: benchmarks run on Linux only")
    }
}
