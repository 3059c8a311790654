//! `cargo xtask bench`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

/// Measure what gcwatch costs, beside no tool, the least possible, and other tools.
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// Fewer cases, rounds and seconds: minutes instead of hours, for a look
    #[arg(long)]
    quick: bool,

    /// How often each variant is measured [default: 9; with --quick 3]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,

    /// Only groups whose names contain this: size, callbacks, replay, attaching, toggle, target, mixes, kestrel, watching, loss
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// On all runtimes that are found, not only on the newest
    #[arg(long)]
    all: bool,

    /// Write all values
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the tables here instead of to stdout
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl Bench {
    #[cfg(target_os = "linux")]
    pub(crate) fn run(self) -> Result<ExitCode> {
        use std::fs;
        use std::io::{self, Write};

        use crate::bench::{self, Wish};

        let wish = Wish {
            quick: self.quick,
            rounds: self.rounds.filter(|rounds| *rounds > 0),
            only: self.only,
            all_runtimes: self.all,
        };
        let (json, markdown) = bench::run(&wish)?;
        if let Some(file) = self.json {
            fs::write(file, format!("{json:#}\n"))?;
        }
        match self.markdown {
            Some(file) => fs::write(file, markdown)?,
            None => io::stdout().write_all(markdown.as_bytes())?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// CPU time and memory of others come from `/proc`.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn run(self) -> Result<ExitCode> {
        anyhow::bail!("{self:?}: benchmarks run on Linux only")
    }
}
