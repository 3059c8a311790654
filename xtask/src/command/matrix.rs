//! `cargo xtask matrix`: builds gcwatch for every platform, runs the tests that fit, and makes the table of README.md
//! from what happened.

mod outcome;
mod platforms;
mod table;

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use xtask::workspace;

use outcome::Outcome;
use platforms::{PLATFORMS, Platform};

/// What `cargo xtask matrix` can be told.
#[derive(Debug, Args)]
pub(crate) struct Matrix {
    /// Write the rows to README.md; those of platforms that this machine could not try stay as they are.
    #[arg(long)]
    write: bool,
    /// The platforms: linux-x64, linux-x64-musl, linux-arm64, win-x64, osx-x64, osx-arm64. Default: all.
    #[arg(value_name = "PLATFORM")]
    only: Vec<String>,
}

impl Matrix {
    pub(crate) fn run(self) -> Result<ExitCode> {
        if let Some(unknown) = self.only.iter().find(|name| PLATFORMS.iter().all(|p| p.name != **name)) {
            bail!("there is no platform {unknown}; see cargo xtask matrix --help");
        }
        let chosen =
            |platform: &&Platform| self.only.is_empty() || self.only.iter().any(|name| name == platform.name);
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        let mut has_failed = false;
        for platform in PLATFORMS.iter().filter(chosen) {
            match platforms::try_out(platform)? {
                Outcome::Tried(results) => {
                    has_failed |= results.has_failed();
                    lines.push(format!("{}: {results}", platform.name));
                    rows.push(table::Row::new(platform, &results));
                }
                Outcome::Skipped(reason) => lines.push(format!("{}: skipped, {reason}", platform.name)),
            }
        }
        let mut out = io::stdout();
        for line in lines {
            writeln!(out, "{line}")?;
        }
        write!(out, "\n{}", table::markdown(&rows))?;
        if self.write {
            let path = workspace::root().join("README.md");
            let text = fs::read_to_string(&path).context("README.md")?;
            fs::write(&path, table::replaced(&text, &rows)?)?;
        }
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
