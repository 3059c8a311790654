//! The subcommands, in a file each.

mod apps;
pub(crate) mod bench;
mod check_targets;
mod clr;
mod clr_events;
mod demo;
mod dist;
mod fuzz;
mod gate_study;
mod matrix;
mod public_api;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Developer commands of gcwatch.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch a real application: the C# compiler at work.
    Demo(demo::Demo),
    /// List the .NET runtimes that tests run on; fetch one where there is none.
    Clr,
    /// Check or make the table of the CLR's own events.
    ClrEvents(clr_events::ClrEvents),
    /// Build all test applications.
    Apps,
    /// Measure what gcwatch costs, compared with no tool, with the least that any profiler costs, and with other tools.
    Bench(bench::Bench),
    /// Measure how often a gate raises a false alarm, how often it finds a real change, and how well each metric repeats.
    GateStudy(gate_study::GateStudy),
    /// Run the fuzz targets, or replay the inputs in fuzz/corpus.
    Fuzz(fuzz::Fuzz),
    /// Make the packages of a release, in target/dist.
    Dist(dist::Dist),
    /// Compare the public interface of dotnet-diagnostics-client with the list in the repository.
    PublicApi(public_api::PublicApi),
    /// Check that the workspace compiles for the other platforms.
    CheckTargets,
    /// Build gcwatch for every platform, run the tests that fit, and make the table of README.md from the results.
    Matrix(matrix::Matrix),
}

impl Cli {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.command {
            Command::Demo(demo) => demo.run(),
            Command::Clr => clr::run(),
            Command::ClrEvents(events) => events.run(),
            Command::Apps => apps::run(),
            Command::Bench(bench) => bench.run(),
            Command::GateStudy(study) => study.run(),
            Command::Fuzz(fuzz) => fuzz.run(),
            Command::Dist(dist) => dist.run(),
            Command::PublicApi(interface) => interface.run(),
            Command::CheckTargets => check_targets::run(),
            Command::Matrix(matrix) => matrix.run(),
        }
    }
}
