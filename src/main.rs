//! gcwatch: every garbage collection of a .NET process, what moved, what survived, what held it.

mod check;
mod cli;
mod command;
mod exit;
mod gc;
mod report;
mod sys;
mod target;
mod watch;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use tracing::level_filters::LevelFilter;

/// Version of the program, and of the library it puts into processes.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // A closed pipe is no reason to fail here either.
            let _ = e.print();
            let asked = matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return ExitCode::from(if asked { exit::Code::OK } else { exit::Code::USAGE }.0);
        }
    };
    let level = match command::verbosity(&cli) {
        0 => LevelFilter::OFF,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false).init();
    match command::dispatch(&cli) {
        Ok(code) => ExitCode::from(code.0),
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "gcwatch: {failure}");
            ExitCode::from(failure.code.0)
        }
    }
}
