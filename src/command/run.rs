//! `gcwatch run`: starts a program, watches it from its first collection, and ends with its exit code.

use std::process::ExitStatus;

use tokio::process::Child;

use super::child::{PassedToChild, no_runtime};
use super::conclude::{self, document_of_failure};
use super::observer::ReportObserver;
use super::output::Sink;
use super::request::{recording, watch_request, with_live_line};
use super::{output, verdict};
use crate::cli::RunArgs;
use crate::exit::{Code, Failure};
use crate::gc::facts::{Exit, Facts, Target};
use crate::gc::record::Level;
use crate::report::NOT_WATCHED;
use crate::sys::{self, Signals};
use crate::target;
use crate::watch::control::{Ended, NotWatched, unless_ended};
use crate::watch::launch::{self, NextOrExit, Program, Streams};
use crate::watch::port::Unwatched;
use crate::watch::port_guard::GuardedPort;
use crate::watch::request::WatchRequest;
use crate::watch::run::{self, WatchSource};

pub(crate) fn run(args: &RunArgs) -> Result<Code, Failure> {
    // Declared first, so that it is dropped after the runtime, which closes the port.
    let mut port = None;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(watch(args, &mut port)).or_else(|not_watched| match not_watched {
        NotWatched::Failed(failure) => Err(failure),
        NotWatched::Interrupted(code) => Ok(code),
    })
}

async fn watch(args: &RunArgs, port: &mut Option<GuardedPort>) -> Result<Code, NotWatched> {
    let assertions = verdict::assertions(&args.assertions)?
        .and_stop_on(&args.watch.stop_on, args.watch.keep_recording.is_some());
    let request = watch_request(&args.watch, &args.output, &assertions)?;
    // Report what is known to fail before starting anything.
    let refusal = launch::refusal_from_environment(|name| std::env::var_os(name));
    if let Some(refusal) = refusal.filter(|_| request.level() == Level::Roots) {
        request.fall_back(refusal)?;
    }
    let mut signals = Signals::listen().map_err(Failure::from)?;
    let request = WatchRequest { recording: recording(&args.watch, &args.output, false)?, ..request };
    let request = with_live_line(request, output::shows_live_line(&args.output, true));
    let to_stderr = output::sink(&args.output, true) == Sink::Stdout;
    let (report, warnings) = output::open(&args.output, true, true)?;
    let observer = ReportObserver::new(report, &assertions, warnings);
    let mut observer = observer.with_graph_at(&args.watch.graph_at);
    let guarded = port.insert(GuardedPort::make().map_err(Failure::from)?);
    let streams = if to_stderr { Streams::OnStderr } else { Streams::Ours };
    let program = Program { command: &args.command, variables: &[], streams };
    let mut launched = match launch::launch(program, guarded.place().clone()) {
        Ok(launched) => launched,
        Err(failure) => return Ok(unwatched(args, &mut observer, None, failure)?),
    };
    let pid = launched.pid;
    let mut control = PassedToChild { signals: &mut signals, pid };
    let first = unless_ended(&mut control, None, launched.next_or_exit()).await?;
    let suspended = match first.map_err(Failure::from)? {
        NextOrExit::Runtime(suspended) => suspended,
        NextOrExit::Exited(status) => {
            let failure = no_runtime(&args.command, launched.through_sdk);
            return Ok(unwatched(args, &mut observer, Some(status), failure)?);
        }
    };
    let (mut child, others) = launched.release_all_others();
    let source = WatchSource::Suspended(&suspended);
    let outcome = match run::run(&request, source, &mut observer, &mut control).await {
        Ok(outcome) => outcome,
        Err(NotWatched::Interrupted(code)) => return Ok(code),
        // The demanded level is not possible: the child runs to its end unwatched.
        Err(NotWatched::Failed(failure)) => {
            let mut unwatched_runtime = Unwatched::default();
            unwatched_runtime.resume(suspended.client.clone());
            let status = wait(&mut child, &mut control).await?;
            return Ok(unwatched(args, &mut observer, status, failure)?);
        }
    };
    let status = match &outcome.ended {
        Ended::Again(_) => None,
        _ => wait(&mut child, &mut control).await?,
    };
    drop(others);
    let end = status.map_or(conclude::Child::Abandoned, |s| conclude::Child::Ended(sys::exit_code(s)));
    let concluded = conclude::live(outcome, &mut observer, end, &args.output, None);
    Ok(concluded.into_result(args.output.output.as_deref())?)
}

/// Waits until the child ends; `None` if a second signal comes first.
async fn wait(child: &mut Child, control: &mut PassedToChild<'_>) -> Result<Option<ExitStatus>, Failure> {
    match unless_ended(control, None, child.wait()).await {
        Ok(status) => Ok(Some(status?)),
        Err(NotWatched::Interrupted(_)) => Ok(None),
        Err(NotWatched::Failed(failure)) => Err(failure),
    }
}

/// The result if the child could not be watched. If the child failed, its own exit code takes precedence; scripts
/// still get their document.
fn unwatched(
    args: &RunArgs,
    observer: &mut ReportObserver,
    status: Option<ExitStatus>,
    failure: Failure,
) -> Result<Code, Failure> {
    let child = status.map(sys::exit_code);
    let failure = match child.map(Code) {
        Some(code) if code != Code::OK => Failure { code, ..failure },
        _ => failure,
    };
    let exit = Exit { gcwatch: failure.code.0, child, reason: NOT_WATCHED };
    let command: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let target = Target { title: Some(target::title_of(&command.join(" "))), ..Target::default() };
    let facts = Facts { target, ..Facts::default() };
    let why = (&failure, "the process was not watched");
    document_of_failure(observer, &facts, &exit, why, &args.output)?;
    Err(failure)
}
