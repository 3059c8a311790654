//! Concludes a command: judges the assertions, ends the report, and finds the exit code.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::observer::ReportObserver;
use super::verdict;
use crate::assertion::Verdict;
use crate::cli::OutputArgs;
use crate::exit::{Code, Failure};
use crate::gc::facts::{Exit, Facts, Lost};
use crate::gc::summary::Summary;
use crate::report::End;
use crate::watch::aggregator::Results;
use crate::watch::control::Ended;
use crate::watch::run::Outcome;

/// How the child that gcwatch started ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    /// There is no child, or it does not count here (`--follow`). The exit code is for the report only.
    NotCounted(Option<i32>),
    /// Its exit code; 128 + n after signal n.
    Ended(i32),
    /// gcwatch did not wait until it ended.
    Abandoned,
}

/// A watch that is over: its exit code, and what could not be written.
pub(crate) struct Concluded {
    pub(crate) code: Code,
    /// The report could not be written.
    pub(crate) report_error: Option<io::Error>,
    /// The recording ended early.
    pub(crate) recording: Option<Failure>,
}

/// Judges a live watch and ends its report. `name` names the process if there are several.
pub(crate) fn live(
    outcome: Outcome,
    observer: &mut ReportObserver,
    child: Child,
    args: &OutputArgs,
    name: Option<&str>,
) -> Concluded {
    let (reason, code) = outcome.ended.reason_and_code();
    let truncated = outcome.is_truncated();
    // `--strict` does not apply to a watch that ended because its report was closed.
    let strict = args.strict && !matches!(outcome.ended, Ended::Observer(_));
    let Outcome { results, observer_error, .. } = outcome;
    let verdicts = observer.verdicts(&results);
    verdict::say(&verdicts, args, name);
    let code = match (code, child) {
        (Code::OK, Child::Ended(n)) if n != 0 => Code(n),
        (Code::OK, Child::Abandoned) => Code::INTERRUPTED,
        (Code::OK, _) => judged(&verdicts, strict && (truncated || results.incomplete)),
        (code, _) => code,
    };
    let child = match child {
        Child::NotCounted(code) => code,
        Child::Ended(code) => Some(code),
        Child::Abandoned => None,
    };
    end(results, observer, &verdicts, Exit { gcwatch: code.0, child, reason }, observer_error)
}

/// The exit code from the verdicts. `missing`: data is missing, and `--strict` was given.
pub(crate) fn judged(verdicts: &[Verdict], missing: bool) -> Code {
    match verdict::code(verdicts) {
        Code::BROKEN => Code::BROKEN,
        _ if missing => Code::INCOMPLETE,
        code => code,
    }
}

/// Ends the report, unless an earlier write failed (`report_error`).
pub(crate) fn end(
    results: Results,
    observer: &mut ReportObserver,
    verdicts: &[Verdict],
    exit: Exit,
    mut report_error: Option<io::Error>,
) -> Concluded {
    let Results { facts, summary, lost, record_error, .. } = results;
    let recording = record_error.map(|(path, error)| {
        Failure::new(Code::FAILED, format!("the recording {} ends early: {error}", path.display()))
            .remedy("the part that was written can be read; give --record a path with enough space")
    });
    let code = match Code(exit.gcwatch) {
        Code::OK if recording.is_some() => Code::FAILED,
        code => code,
    };
    if report_error.is_none() {
        let exit = Exit { gcwatch: code.0, ..exit };
        let findings = observer.findings(&facts, &summary);
        let end = End { summary: &summary, lost: &lost, verdicts, findings: &findings, exit: &exit };
        report_error = observer.write(|report| report.end(&facts, &end)).err();
    }
    Concluded { code, report_error, recording }
}

impl Concluded {
    /// The exit code, or the failure to report.
    pub(crate) fn into_result(self, output: Option<&Path>) -> Result<Code, Failure> {
        let Concluded { code, report_error, recording } = self;
        if let Some(e) = report_error {
            return report_failed(&e, output).map(|_| code);
        }
        match recording {
            // Report the failure in any case, but with the exit code found above.
            Some(failure) => Err(Failure { code, ..failure }),
            None => Ok(code),
        }
    }
}

/// Writes a document without collections for scripts, if gcwatch could not watch or read anything. `why` says in a few
/// words why no assertion could be judged, the failure why nothing was watched.
pub(crate) fn document_of_failure(
    observer: &mut ReportObserver,
    facts: &Facts,
    exit: &Exit,
    (failure, why): (&Failure, &'static str),
    args: &OutputArgs,
) -> Result<(), Failure> {
    let mut facts = facts.clone();
    facts.watch.level_reason = Some(failure.what.clone());
    let (summary, lost, verdicts) = (Summary::default(), Lost::default(), observer.unjudged(why));
    let end = End { summary: &summary, lost: &lost, verdicts: &verdicts, findings: &[], exit };
    let written = observer.write(|report| report.nothing_watched(&facts, &end));
    written.or_else(|e| report_failed(&e, args.output.as_deref()).map(drop))
}

/// Turns an error in writing the report into a failure; a closed pipe is no failure.
pub(crate) fn report_failed(error: &io::Error, output: Option<&Path>) -> Result<Code, Failure> {
    if error.kind() == ErrorKind::BrokenPipe {
        return Ok(Code::OK);
    }
    let place = output.map_or_else(|| "the report".to_owned(), |p| p.display().to_string());
    Err(Failure::new(Code::FAILED, format!("cannot write {place}: {error}"))
        .remedy("what was written so far is complete; is the disk full?"))
}
