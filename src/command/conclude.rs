//! The end of a command: verdicts, the report's end, the exit code.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::observer::ReportObserver;
use super::verdict;
use crate::assertion::Verdict;
use crate::cli::{Format, OutputArgs};
use crate::exit::{Code, Failure};
use crate::gc::facts::{Exit, Facts, Lost};
use crate::gc::summary::Summary;
use crate::report::End;
use crate::watch::aggregator::Results;
use crate::watch::control::Ended;
use crate::watch::run::Outcome;

/// What became of the child that gcwatch started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    /// There is none, or its end counts elsewhere (`--follow`); its exit code, if the report is to have it.
    NotCounted(Option<i32>),
    /// Its exit code, 128 + n by signal n.
    Ended(i32),
    /// gcwatch did not wait for its end.
    Abandoned,
}

/// A watch that is over, with everything that scripts are told of it.
pub(crate) struct Concluded {
    pub(crate) code: Code,
    /// The report could not be written.
    pub(crate) report_error: Option<io::Error>,
    /// The recording ended early.
    pub(crate) recording: Option<Failure>,
}

/// Judges a live watch and ends its report. `name`: of the process, where there are several.
pub(crate) fn live(
    outcome: Outcome,
    observer: &mut ReportObserver,
    child: Child,
    args: &OutputArgs,
    name: Option<&str>,
) -> Concluded {
    let (reason, code) = outcome.ended.reason_and_code();
    let cut = outcome.is_cut();
    // A reader that has gone away misses nothing.
    let strict = args.strict && !matches!(outcome.ended, Ended::Observer(_));
    let Outcome { results, observer_error, .. } = outcome;
    let verdicts = observer.verdicts(&results);
    verdict::say(&verdicts, args, name);
    let code = match (code, child) {
        (Code::OK, Child::Ended(n)) if n != 0 => of_child(n),
        (Code::OK, Child::Abandoned) => Code::INTERRUPTED,
        (Code::OK, _) => judged(&verdicts, strict && (cut || results.incomplete)),
        (code, _) => code,
    };
    let child = match child {
        Child::NotCounted(code) => code,
        Child::Ended(code) => Some(code),
        Child::Abandoned => None,
    };
    end(results, observer, &verdicts, Exit { gcwatch: code.0, child, reason }, observer_error)
}

/// The exit code of a child that failed, as ours.
pub(crate) fn of_child(code: i32) -> Code {
    Code(u8::try_from(code & 0xFF).unwrap_or(1))
}

/// The exit code after the verdicts. `missing`: something is missing under `--strict`.
pub(crate) fn judged(verdicts: &[Verdict], missing: bool) -> Code {
    match verdict::code(verdicts) {
        Code::BROKEN => Code::BROKEN,
        _ if missing => Code::INCOMPLETE,
        code => code,
    }
}

/// Ends the report. `report_error`: it could not be written before.
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
            .remedy("what is in it can be read; give --record a place with room")
    });
    let code = match Code(exit.gcwatch) {
        Code::OK if recording.is_some() => Code::FAILED,
        code => code,
    };
    if report_error.is_none() {
        let exit = Exit { gcwatch: code.0, ..exit };
        let end = End { summary: &summary, lost: &lost, verdicts, exit: &exit };
        report_error = observer.write(|report| report.end(&facts, &end)).err();
    }
    Concluded { code, report_error, recording }
}

impl Concluded {
    /// The code, unless something failed that has to be said.
    pub(crate) fn into_result(self, output: Option<&Path>) -> Result<Code, Failure> {
        let Concluded { code, report_error, recording } = self;
        if let Some(e) = report_error {
            return report_failed(&e, output).map(|_| code);
        }
        match recording {
            // It is said in any case; a code that counts more stays.
            Some(failure) => Err(Failure { code, ..failure }),
            None => Ok(code),
        }
    }
}

/// Where nothing could be watched or read a script still gets its document, with the code.
pub(crate) fn document_of_failure(
    observer: &mut ReportObserver,
    facts: &Facts,
    exit: &Exit,
    args: &OutputArgs,
) -> Result<(), Failure> {
    if args.format == Format::Text {
        return Ok(());
    }
    let end = End { summary: &Summary::default(), lost: &Lost::default(), verdicts: &[], exit };
    let written = observer.write(|report| report.start(facts).and_then(|()| report.end(facts, &end)));
    written.or_else(|e| report_failed(&e, args.output.as_deref()).map(drop))
}

/// A reader that has gone away is no failure; anything else is.
pub(crate) fn report_failed(error: &io::Error, output: Option<&Path>) -> Result<Code, Failure> {
    if error.kind() == ErrorKind::BrokenPipe {
        return Ok(Code::OK);
    }
    let place = output.map_or_else(|| "the report".to_owned(), |p| p.display().to_string());
    Err(Failure::new(Code::FAILED, format!("cannot write {place}: {error}"))
        .remedy("what was written before is whole; is the disk full?"))
}
