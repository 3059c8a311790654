//! `gcwatch run`: start a program, watch it from its first collection, and end as it ends.

use std::path::Path;
use std::process::ExitStatus;

use tokio::process::Child;

use super::attach::{begin, recording, sampled, wish};
use super::output::Sink;
use super::startup::{describe, profiler_is_there, start};
use super::{document_of_failure, ending, finish, follow, output, report_failed, verdict};
use crate::cli::RunArgs;
use crate::exit::{Code, Failure};
use crate::gc::facts::{Exit, Gap};
use crate::gc::record::Level;
use crate::report::{Facts, NOT_WATCHED, Report};
use crate::sys::{self, Signal, Signals};
use crate::watch::estimate::Beginning;
use crate::watch::launch::{self, Launched, NextOrExit, Others, Suspended};
use crate::watch::plan::watch_facts;
use crate::watch::port_guard::PortDir;
use crate::watch::pump::{Ended, Limits, OnSignal, Pump};
use crate::watch::session::Session;

/// Starts, watches, ends.
pub(crate) fn run(args: &RunArgs) -> Result<Code, Failure> {
    // It goes last: the port is closed with the runtime.
    let mut dir = None;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match args.follow {
            true => follow::watch(args, &mut dir).await,
            false => watch(args, &mut dir).await,
        }
    })
}

async fn watch(args: &RunArgs, dir: &mut Option<PortDir>) -> Result<Code, Failure> {
    let checks = verdict::checks(&args.check)?;
    let wish = wish(&args.watch, &checks)?;
    // What is known to fail is said before anything is started.
    let refusal = launch::refusal_from_environment(|name| std::env::var_os(name))
        .filter(|_| wish.level() == Level::Roots);
    let fallen = refusal.map(|r| wish.fall_back(r)).transpose()?;
    let mut signals = Signals::listen()?;
    let recording = recording(&args.watch, &args.output, false)?;
    let to_stderr = output::sink(&args.output, true) == Sink::Stdout;
    let mut output = output::open(&args.output, true, true, !checks.is_empty())?;
    let dir = dir.insert(PortDir::make()?);
    let mut launched = match launch::launch(&args.command, to_stderr, dir) {
        Ok(launched) => launched,
        Err(failure) => return unwatched(args, output.report.as_mut(), None, failure),
    };
    let pid = launched.pid;
    let suspended = match first_runtime(&mut launched, &mut signals).await? {
        First::Runtime(s) => *s,
        First::Exited(status) => {
            return unwatched(
                args,
                output.report.as_mut(),
                Some(status),
                no_runtime(args, launched.through_sdk),
            );
        }
        First::Again(code) => return Ok(code),
    };
    let mut go = match heeding(&mut signals, pid, start(&suspended, args, wish, fallen)).await {
        Err(code) => return Ok(code),
        Ok(Ok(go)) => go,
        Ok(Err(failure)) => {
            let status = abandon(launched, &suspended, &mut signals).await?;
            return unwatched(args, output.report.as_mut(), status, failure);
        }
    };
    let (mut child, others) = launched.release_all_others();
    let there = async {
        let there = profiler_is_there(&mut go, &suspended, args, wish).await?;
        Ok::<_, Failure>((there, describe(&suspended).await))
    };
    let ((level, reason, lease), target) = match heeding(&mut signals, pid, there).await {
        Err(code) => return Ok(code),
        Ok(there) => there?,
    };
    let watch = watch_facts(level, reason, target.gc.concurrent, true, args.output.blocks, wish.sampling);
    let mut session = Session::new(Facts { target, watch }, output.report.as_mut()).judging(&checks);
    let mut pump = Pump {
        stream: go.stream,
        control: &suspended.client,
        lease,
        windows: wish
            .sampling
            .and_then(|sample| sampled(sample, go.windows, &suspended.client, &args.watch, &args.output)),
        beginning: Beginning::now(),
        limits: Limits { duration: args.watch.duration, gcs: args.watch.gcs },
        pid: suspended.pid(),
    };
    let ended = match begin(recording.as_ref(), &mut session, &args.output) {
        Ok(()) => pump.run(&mut session, &mut signals, |s| pass_on(pid, s)).await,
        Err(e) => Ended::Report(e),
    };
    // A stream that nobody reads would hold the child up at its exit.
    drop(pump);
    let file = args.output.output.as_deref();
    if matches!(ended, Ended::Target { whole: false }) {
        session.has_gap(Gap::Killed);
    }
    let report_error = match (session.finish(), &ended) {
        (Err(e), _) => Some(e),
        (Ok(_), Ended::Report(e)) => Some(std::io::Error::new(e.kind(), e.to_string())),
        (Ok(_), _) => None,
    };
    let status = match &ended {
        Ended::Again(_) => None,
        _ => wait(&mut child, others, pid, &mut signals).await?,
    };
    conclude(args, session, &ended, status, report_error, file)
}

/// From how it ended to the code, the report's end included.
fn conclude(
    args: &RunArgs,
    session: Session<'_>,
    ended: &Ended,
    status: Option<ExitStatus>,
    report_error: Option<std::io::Error>,
    file: Option<&Path>,
) -> Result<Code, Failure> {
    let child = status.map(sys::exit_code);
    let (code, reason) = ending(ended);
    let cut = matches!(ended, Ended::Target { whole: false });
    let verdicts = session.verdicts();
    verdict::say(&verdicts, &args.output, None);
    let code = match (code, child) {
        (Code::OK, Some(n)) if n != 0 => Code(u8::try_from(n & 0xFF).unwrap_or(1)),
        (Code::OK, None) => Code::INTERRUPTED,
        (Code::OK, _) if verdict::code(&verdicts) == Code::BROKEN => Code::BROKEN,
        (Code::OK, _) if args.output.strict && (cut || session.incomplete()) => Code::INCOMPLETE,
        (Code::OK, _) => verdict::code(&verdicts),
        (code, _) => code,
    };
    if let Some(e) = report_error {
        return report_failed(&e, file).map(|_| code);
    }
    finish(session, Exit { gcwatch: code.0, child, reason }, file)
}

enum First {
    Runtime(Box<Suspended>),
    Exited(ExitStatus),
    Again(Code),
}

/// The runtime to watch, or the child's end.
async fn first_runtime(launched: &mut Launched, signals: &mut Signals) -> Result<First, Failure> {
    let pid = launched.pid;
    Ok(match heeding(signals, pid, launched.next_or_exit()).await {
        Err(code) => First::Again(code),
        Ok(next) => match next? {
            NextOrExit::Runtime(s) => First::Runtime(s),
            NextOrExit::Exited(status) => First::Exited(status),
        },
    })
}

/// What happens before the watch: the first signal is passed on to the child, the second ends it with this code.
async fn heeding<T>(signals: &mut Signals, pid: u32, work: impl Future<Output = T>) -> Result<T, Code> {
    let mut signalled = false;
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(done),
            signal = signals.next() => {
                if signalled {
                    return Err(again(signal));
                }
                signalled = true;
                pass_on(pid, signal);
            }
        }
    }
}

pub(super) fn again(signal: Signal) -> Code {
    match signal {
        Signal::Interrupt { .. } => Code::INTERRUPTED,
        Signal::Terminate => Code::TERMINATED,
        Signal::HangUp => Code::HUNG_UP,
    }
}

/// Ctrl-C of a terminal has reached the child already.
pub(super) fn pass_on(pid: u32, signal: Signal) -> OnSignal {
    if signal != (Signal::Interrupt { to_group: true })
        && let Err(e) = sys::forward(pid, signal)
    {
        tracing::debug!("forwarding {signal:?}: {e}");
    }
    OnSignal::GoOn
}

/// No runtime has reported from the child.
pub(super) fn no_runtime(args: &RunArgs, through_sdk: bool) -> Failure {
    let name = args.command[0].to_string_lossy();
    match launch::diagnostics_disabled_by() {
        Some(variable) => {
            Failure::new(Code::UNSUPPORTED, format!("{name} ran unwatched: its diagnostics are switched off"))
                .seen(format!("{variable}=0 in the environment"))
                .remedy("run it without that variable")
        }
        None if through_sdk => {
            Failure::new(Code::NO_TARGET, format!("{name} ran unwatched: it started no program of its own"))
                .seen("only the SDK's own commands ran (the build, perhaps)")
                .remedy("did it fail? to watch such a command itself use gcwatch attach")
        }
        None => {
            let what = format!("{name} ran unwatched: no .NET runtime (5 or later) reported from it");
            Failure::new(Code::NO_TARGET, what)
                .remedy("is it a .NET program? for .NET Core 3 start it by itself and use gcwatch attach")
        }
    }
}

/// A child that could not be watched has run to its end all the same. Its own failure goes first, and
/// a script still gets its document.
fn unwatched(
    args: &RunArgs,
    report: &mut dyn Report,
    status: Option<ExitStatus>,
    failure: Failure,
) -> Result<Code, Failure> {
    let child = status.map(sys::exit_code);
    let failure = match child.map(|n| u8::try_from(n & 0xFF).unwrap_or(1)) {
        Some(n) if n != 0 => Failure { code: Code(n), ..failure },
        _ => failure,
    };
    let exit = Exit { gcwatch: failure.code.0, child, reason: NOT_WATCHED };
    document_of_failure(report, &Facts::default(), &exit, &args.output)?;
    Err(failure)
}

/// Waits for the child's own end.
async fn wait(
    child: &mut Child,
    others: Others,
    pid: u32,
    signals: &mut Signals,
) -> Result<Option<ExitStatus>, Failure> {
    let mut signalled = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break Some(status?),
            signal = signals.next() => {
                if signalled {
                    break None;
                }
                signalled = true;
                pass_on(pid, signal);
            }
        }
    };
    drop(others);
    Ok(status)
}

/// What was demanded cannot be had: the child runs to its end.
async fn abandon(
    launched: Launched,
    suspended: &Suspended,
    signals: &mut Signals,
) -> Result<Option<ExitStatus>, Failure> {
    if let Err(e) = suspended.client.resume_runtime().await {
        tracing::debug!("resume: {e}");
    }
    let pid = launched.pid;
    let (mut child, others) = launched.release_all_others();
    wait(&mut child, others, pid, signals).await
}
