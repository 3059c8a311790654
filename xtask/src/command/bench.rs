//! `cargo xtask bench`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

/// Measure what gcwatch costs, beside no tool, the least possible, and other tools.
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// Fewer cases, rounds and seconds: minutes instead of an hour, for a look
    #[arg(long)]
    quick: bool,

    /// How often each variant is measured [default: 6; with --quick 3]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,

    /// Only groups whose names contain this: size, callbacks, replay, huge, attaching, target, blocks, mixes, kestrel, watching, loss
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Of the groups `target` and `mixes`, only cases with one of these in their names
    #[arg(long = "case", value_name = "PART", value_delimiter = ',')]
    cases: Vec<String>,

    /// On all runtimes that are found, not only on the newest
    #[arg(long)]
    all: bool,

    /// Write all values
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Measure nothing: show the goals of runs that were written with --json, side by side
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["quick", "rounds", "only", "cases", "all", "json"])]
    goals: Vec<PathBuf>,

    /// Write the tables here instead of to stdout
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl Bench {
    #[cfg(target_os = "linux")]
    pub(crate) fn run(self) -> Result<ExitCode> {
        use std::fs;

        use anyhow::Context;

        use crate::bench::{self, Wish};

        if !self.goals.is_empty() {
            let read = |file: &PathBuf| -> Result<serde_json::Value> {
                let text = fs::read(file).with_context(|| file.display().to_string())?;
                serde_json::from_slice(&text).with_context(|| file.display().to_string())
            };
            let runs = self.goals.iter().map(read).collect::<Result<Vec<_>>>()?;
            return Self::write(self.markdown, &bench::goals::render(&runs));
        }
        let wish = Wish {
            quick: self.quick,
            rounds: self.rounds.filter(|rounds| *rounds > 0),
            only: self.only,
            cases: self.cases,
            all_runtimes: self.all,
        };
        let mut text = String::new();
        bench::run(&wish, |json, markdown| {
            if let Some(file) = &self.json {
                fs::write(file, format!("{json:#}\n")).with_context(|| file.display().to_string())?;
            }
            if let Some(file) = &self.markdown {
                fs::write(file, markdown).with_context(|| file.display().to_string())?;
            }
            markdown.clone_into(&mut text);
            Ok(())
        })?;
        if self.markdown.is_some() { Ok(ExitCode::SUCCESS) } else { Self::write(None, &text) }
    }

    #[cfg(target_os = "linux")]
    fn write(file: Option<PathBuf>, text: &str) -> Result<ExitCode> {
        use std::io::{self, Write};

        match file {
            Some(file) => std::fs::write(file, text)?,
            None => io::stdout().write_all(text.as_bytes())?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// CPU time and memory of others come from `/proc`.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn run(self) -> Result<ExitCode> {
        anyhow::bail!("{self:?}: benchmarks run on Linux only")
    }
}
