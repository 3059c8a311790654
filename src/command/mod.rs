//! Runs the subcommands, in a file each.

mod attach;
mod child;
pub(crate) mod conclude;
mod diff;
mod follow;
mod followed;
mod generate;
mod graph;
mod input;
mod metrics;
pub(crate) mod observer;
mod output;
mod ps;
mod repeat;
mod report;
mod request;
mod run;
mod spared;
pub(crate) mod stderr;
mod try_gc;
mod verdict;
mod watches;

use crate::cli::config::Config;
use crate::cli::{Cli, Command, RunArgs};
use crate::exit::{Code, Failure};

/// Runs the subcommand.
pub(crate) fn dispatch(cli: &Cli, config: Option<&Config>) -> Result<Code, Failure> {
    match &cli.command {
        Command::Run(args) => match args.repeat {
            Some(times) => repeat::run(args, times, once),
            None => once(args),
        },
        Command::Attach(args) => attach::run(args),
        Command::Ps(args) => ps::run(args),
        Command::Report(args) => report::run(args),
        Command::Graph(args) => graph::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Try(args) => try_gc::run(args),
        Command::Config { of } => generate::config(config, of),
        Command::Metrics => metrics::run(),
        Command::Schema => generate::schema(),
        Command::Completions { shell } => generate::completions(*shell),
        Command::Man => generate::man(),
    }
}

/// One run of a command.
fn once(args: &RunArgs) -> Result<Code, Failure> {
    if args.follow { follow::run(args) } else { run::run(args) }
}

/// How much the log says: 0 nothing, 1 steps, 2 everything.
pub(crate) fn verbosity(cli: &Cli) -> u8 {
    match &cli.command {
        Command::Run(args) => args.output.verbose,
        Command::Attach(args) => args.output.verbose,
        Command::Report(args) => args.output.verbose,
        Command::Graph(args) => args.verbose,
        _ => 0,
    }
}
