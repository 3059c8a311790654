//! `cargo xtask gate-study`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use xtask::study::{self, Options, Size};
use xtask::{clr, workspace};

/// Measure how often a gate raises a false alarm, how often it finds a real change, and how well each metric repeats.
#[derive(Debug, clap::Args)]
pub(crate) struct GateStudy {
    /// Pairs of the unchanged program with itself
    #[arg(long, value_name = "N", default_value_t = 100)]
    pairs: usize,

    /// Pairs of the unchanged program with each of five changes
    #[arg(long, value_name = "N", default_value_t = 30)]
    detect: usize,

    /// Only these changes
    #[arg(long, value_name = "CHANGE", value_delimiter = ',', value_parser = PossibleValuesParser::new(study::CHANGES))]
    only: Vec<String>,

    /// Runs of each side of a pair
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    runs: usize,

    /// Runs of each of three programs at each level, for how well metrics repeat
    #[arg(long, value_name = "N", default_value_t = 20)]
    repeats: usize,

    /// Where the runs are kept; a study that was stopped goes on from there [default: gate-study in Cargo's build directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Write the tables into docs/ci-study.md, and what repeats how well into src/assertion/repeats.csv
    #[arg(long)]
    write: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "it takes a number from 1".to_owned())
}

impl GateStudy {
    /// Prints the tables.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let wanted = |change: &&str| self.only.is_empty() || self.only.iter().any(|only| only == change);
        let dir = self.dir.unwrap_or_else(|| workspace::target_dir().join("gate-study"));
        let options = Options {
            gcwatch: workspace::release_gcwatch()?,
            clr: clr::find_all()?.pop().context("no runtime was found")?,
            dir: std::path::absolute(dir)?,
            size: Size { pairs: self.pairs, detect: self.detect, runs: self.runs, repeats: self.repeats },
            changes: study::CHANGES.into_iter().filter(wanted).collect(),
        };
        let results = study::run(&options)?;
        io::stdout().write_all(study::markdown(&results).as_bytes())?;
        if self.write {
            study::write(&results, workspace::root())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
