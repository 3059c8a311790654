//! `cargo xtask`: developer commands.

#[cfg(target_os = "linux")]
mod bench;
mod command;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    command::Cli::parse().run().unwrap_or_else(|error| {
        // If stderr is closed, there is nothing left to do.
        let _ = writeln!(io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}
