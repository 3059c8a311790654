//! One file per subcommand: from what was typed to what is done.

mod attach;
mod diff;
mod follow;
mod followed;
mod generate;
mod input;
mod output;
mod ps;
mod report;
mod run;
mod spared;
mod startup;
mod verdict;
mod watches;

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::cli::config::Config;
use crate::cli::{Cli, Command, Format, OutputArgs};
use crate::escape::escape_untrusted;
use crate::exit::{Code, Failure};
use crate::gc::facts::{Exit, Lost};
use crate::gc::summary::Summary;
use crate::report::{End, Facts, Report};
use crate::sys::Signal;
use crate::watch::pump::Ended;
use crate::watch::session::Session;

/// Does what was typed.
pub(crate) fn dispatch(cli: &Cli, config: Option<&Config>) -> Result<Code, Failure> {
    match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Attach(args) => attach::run(args),
        Command::Ps(args) => ps::run(args),
        Command::Report(args) => report::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Config { of } => generate::config(config, of),
        Command::Metrics => generate::metrics(),
        Command::Schema => generate::schema(),
        Command::Completions { shell } => generate::completions(*shell),
        Command::Man => generate::man(),
    }
}

/// How talkative the log is: 0 warnings, 1 steps, 2 everything.
pub(crate) fn verbosity(cli: &Cli) -> u8 {
    match &cli.command {
        Command::Run(args) => args.output.verbose,
        Command::Attach(args) => args.output.verbose,
        Command::Report(args) => args.output.verbose,
        _ => 0,
    }
}

/// The code and the word for how a watch ended, before anything is judged.
fn ending(ended: &Ended) -> (Code, &'static str) {
    match ended {
        Ended::Target { whole: true } => (Code::OK, "target-ended"),
        Ended::Target { whole: false } => (Code::OK, "target-killed"),
        Ended::Duration => (Code::OK, "duration"),
        Ended::Gcs => (Code::OK, "gcs"),
        Ended::Command => (Code::OK, "command-ended"),
        Ended::Signal(Signal::Interrupt { .. }) => (Code::OK, "interrupted"),
        Ended::Signal(Signal::Terminate) => (Code::OK, "terminated"),
        Ended::Signal(Signal::HangUp) => (Code::OK, "hung-up"),
        Ended::Again(Signal::Interrupt { .. }) => (Code::INTERRUPTED, "interrupted"),
        Ended::Again(Signal::Terminate) => (Code::TERMINATED, "terminated"),
        Ended::Again(Signal::HangUp) => (Code::HUNG_UP, "hung-up"),
        Ended::Report(_) => (Code::OK, "report-closed"),
    }
}

/// Ends the report with its summary.
fn finish(session: Session<'_>, exit: Exit, output: Option<&Path>) -> Result<Code, Failure> {
    let recording = session.recording_failed();
    let code = match Code(exit.gcwatch) {
        Code::OK if recording.is_some() => Code::FAILED,
        code => code,
    };
    match session.end(&Exit { gcwatch: code.0, ..exit }) {
        Ok(()) => {}
        Err(e) => return report_failed(&e, output).map(|_| code),
    }
    match recording {
        // Said in any case; what counts more keeps its code.
        Some(failure) => Err(Failure { code, ..failure }),
        None => Ok(code),
    }
}

/// Where nothing could be watched or read a script still gets its document, with the code.
fn document_of_failure(
    report: &mut dyn Report,
    facts: &Facts,
    exit: &Exit,
    args: &OutputArgs,
) -> Result<(), Failure> {
    if args.format == Format::Text {
        return Ok(());
    }
    let end = End { summary: &Summary::default(), lost: &Lost::default(), verdicts: &[], exit };
    match report.start(facts).and_then(|()| report.end(facts, &end)) {
        Ok(()) => Ok(()),
        Err(e) => report_failed(&e, args.output.as_deref()).map(drop),
    }
}

/// Says something on stderr, a line or more.
fn say(message: &str) {
    for line in message.lines() {
        // Nobody is left to tell of a failure.
        let _ = writeln!(io::stderr(), "{}", escape_untrusted(line));
    }
}

/// A reader that has gone away is no failure; anything else is.
fn report_failed(error: &io::Error, output: Option<&Path>) -> Result<Code, Failure> {
    if error.kind() == ErrorKind::BrokenPipe {
        return Ok(Code::OK);
    }
    let place = output.map_or_else(|| "the report".to_owned(), |p| p.display().to_string());
    Err(Failure::new(Code::FAILED, format!("cannot write {place}: {error}"))
        .remedy("what was written before is whole; is the disk full?"))
}
