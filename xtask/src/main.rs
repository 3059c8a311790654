//! `cargo xtask`: developer commands.

mod command;

use clap::Parser;

fn main() -> anyhow::Result<std::process::ExitCode> {
    command::Cli::parse().run()
}
