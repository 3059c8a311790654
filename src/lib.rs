//! gcwatch: every garbage collection of a .NET process, what moved, what survived, what held it.
//!
//! This is a program. It is a library only so that `main.rs` and `fuzz/` can both call it, and has no stable API.

mod assertion;
mod cli;
mod command;
mod escape;
mod exit;
mod experiment;
mod finding;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod gc;
mod report;
mod settings;
mod sys;
mod target;
mod version;
mod watch;

use std::io::Write;

use clap::error::ErrorKind;
use exit::Code;
use tracing::level_filters::LevelFilter;

/// Runs the command line, and returns the exit code.
pub fn main() -> i32 {
    command_line().0
}

fn command_line() -> Code {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let [word, dir] = words.as_slice()
        && word == watch::port_guard::WORD
    {
        let served = watch::port_guard::run(dir.as_ref());
        return if served.is_ok() { Code::OK } else { Code::FAILED };
    }
    let mut passed_over = Vec::new();
    let dir = std::env::current_dir().ok();
    let config = dir.map(|dir| cli::config::Config::find(&dir, &mut passed_over)).transpose();
    let config = match config {
        Ok(config) => config.flatten(),
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "gcwatch: {failure}");
            return failure.code;
        }
    };
    let typed = cli::config::command(config.as_ref()).try_get_matches();
    let in_file = |command: &str, option: &str| config.as_ref().is_some_and(|c| c.sets(command, option));
    let cli = match typed.and_then(|matches| cli::Cli::with_sources(&matches, in_file)) {
        Ok(cli) => cli,
        Err(e) => {
            let e = cli::suggesting(e);
            // A closed pipe is no failure.
            let _ = e.print();
            if let Some(source) = cli::config::source_of(&e, &words, config.as_ref()) {
                let _ = writeln!(std::io::stderr(), "{source}");
            }
            let asked = matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if asked { Code::OK } else { Code::USAGE };
        }
    };
    if cli.command.takes_settings() {
        for failure in &passed_over {
            let _ = writeln!(std::io::stderr(), "gcwatch: {failure}");
        }
        for odd in cli::config::odd_variables() {
            let _ = writeln!(std::io::stderr(), "gcwatch: {}", escape::escape_untrusted(&odd));
        }
    }
    let level = match command::verbosity(&cli) {
        0 => LevelFilter::OFF,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let stderr = || escape::EscapedLines(std::io::stderr());
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(stderr)
        .with_ansi(false)
        .with_target(false)
        .init();
    match command::dispatch(&cli, config.as_ref()) {
        Ok(code) => code,
        Err(failure) => {
            command::stderr::say(&format!("gcwatch: {failure}"));
            failure.code
        }
    }
}
