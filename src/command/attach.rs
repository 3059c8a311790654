//! `gcwatch attach`: watch a process that is already running, and leave it as it was.

use dotnet_diagnostics_client::{Client, Endpoint, EventSession, Transport};

use super::verdict;
use super::{ending, finish, output, report_failed};
use crate::check::Checks;
use crate::cli::{AttachArgs, Format, OutputArgs, WatchArgs};
use crate::exit::{Code, Failure};
use crate::gc::facts::{Exit, Sample};
use crate::gc::record::Level;
use crate::report::Facts;
use crate::sys::{Lease, Signals};
use crate::target::{self, Found, Wanted};
use crate::watch::plan::{Wish, forbidden_by, other_arch, watch_facts};
use crate::watch::profiler::{self, Ready, Refusal};
use crate::watch::pump::{Ended, Limits, OnSignal, Pump};
use crate::watch::recording;
use crate::watch::session::{ReportError, Session};
use crate::watch::stream::{self, Detail};
use crate::watch::windows::Windows;

/// Finds, attaches, watches, leaves.
pub(crate) fn run(args: &AttachArgs) -> Result<Code, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(attach(args))
}

async fn attach(args: &AttachArgs) -> Result<Code, Failure> {
    let checks = verdict::checks(&args.check)?;
    let wish = wish(&args.watch, &checks)?;
    let mut signals = Signals::listen()?;
    let found = target::find(&wanted(args)?).await?;
    let recording = recording(&args.watch, false)?;
    let mut output = output::open(&args.output, false, true, !checks.is_empty())?;
    let In { stream, lease, windows, level, reason } = enter(&found, args, wish).await?;
    let target = found.describe();
    let watch = watch_facts(level, reason, target.gc.concurrent, false, args.output.blocks, wish.sampling);
    let facts = Facts { target, watch };
    let mut session = Session::new(facts, output.report.as_mut()).judging(&checks);
    let mut pump = Pump {
        stream,
        control: &found.client,
        lease,
        windows: sampled(wish, windows, &found.client, &args.watch, &args.output),
        limits: Limits { duration: args.watch.duration, gcs: args.watch.gcs },
    };
    // A report that cannot even begin is left by the same door.
    let begun = begin(recording.as_ref(), &mut session, &args.output);
    let ended = match begun {
        Ok(()) => pump.run(&mut session, &mut signals, |_| OnSignal::Stop).await,
        Err(e) => Ended::Report(e),
    };
    let file = args.output.output.as_deref();
    if let Ended::Report(e) = &ended {
        return report_failed(e, file);
    }
    let cut = matches!(ended, Ended::Target { whole: false });
    let finished = if cut { session.finish_cut() } else { session.finish() };
    if let Err(e) = finished {
        return report_failed(&e, file);
    }
    let (code, reason) = ending(&ended);
    let verdicts = session.verdicts();
    verdict::say(&verdicts, &args.output, None);
    let code = match code {
        Code::OK if verdict::code(&verdicts) == Code::BROKEN => Code::BROKEN,
        Code::OK if args.output.strict && (cut || session.incomplete()) => Code::INCOMPLETE,
        Code::OK => verdict::code(&verdicts),
        code => code,
    };
    finish(session, Exit { gcwatch: code.0, child: None, reason }, file)
}

fn wanted(args: &AttachArgs) -> Result<Wanted, Failure> {
    match (args.pid.or(args.process_id), &args.name, &args.diagnostic_port) {
        (Some(pid), _, _) => Ok(Wanted::Pid(pid)),
        (_, Some(name), _) => Ok(Wanted::Name(name.clone())),
        (_, _, Some(port)) => Ok(Wanted::Port(port.clone())),
        _ => Err(Failure::new(Code::USAGE, "no process was named")
            .remedy("give a process id; gcwatch ps lists them")),
    }
}

/// What is known to fail about the recording is said before anything touches the target.
pub(super) fn recording(args: &WatchArgs, several: bool) -> Result<Option<recording::Plan>, Failure> {
    let Some(path) = &args.record else { return Ok(None) };
    recording::Plan::new(path, args.rotate, several).map(Some)
}

/// Begins the report, and before it the recording: the target is known now.
pub(super) fn begin(
    plan: Option<&recording::Plan>,
    session: &mut Session<'_>,
    output: &OutputArgs,
) -> Result<(), ReportError> {
    let Some(plan) = plan else { return session.begin() };
    let target = &session.facts.target;
    let (warning, opened) = (plan.warning(), plan.open(target.pid, target.title.as_deref()));
    session.begin()?;
    match warning {
        Some(warning) if output.format == Format::Text => session.warn(&warning)?,
        // Scripts' formats have no place for it.
        Some(warning) => super::say(&format!("gcwatch: {warning}")),
        None => {}
    }
    match opened {
        Ok(recorder) => session.recorded(recorder),
        Err((path, e)) => session.not_recorded(path, e)?,
    }
    Ok(())
}

/// What is asked of the profiler.
pub(super) fn detail(watch: &WatchArgs, output: &OutputArgs) -> Detail {
    let between = watch.sample.map(|_| watch.between.into());
    Detail { blocks: output.blocks, names: !watch.no_names, between }
}

/// The level that was asked for.
///
/// # Errors
/// What contradicts itself.
pub(super) fn wish(watch: &WatchArgs, checks: &Checks) -> Result<Wish, Failure> {
    let demanded = watch.level.map(Level::from);
    let between = watch.between.into();
    let sampling = watch.sample.map(|sample| Sample { between, ..sample });
    if let (Some(level), Some(_)) = (demanded.filter(|level| *level != Level::Roots), sampling) {
        let name = level.name();
        return Err(Failure::new(
            Code::USAGE,
            format!("--sample looks at roots, and --level {name} has none"),
        )
        .remedy(format!("leave --level out; --between {name} is the level between the windows")));
    }
    if sampling.is_none() && between != Level::Basic {
        return Err(Failure::new(Code::USAGE, "--between is for --sample, which is not given")
            .remedy(format!("give --sample 1/30s as well, or --level {} alone", between.name())));
    }
    Ok(Wish { demanded, enough: checks.level(), sampling })
}

/// The windows of a watch that has some.
pub(super) fn sampled<'a, T: Transport>(
    wish: Wish,
    ready: Option<Ready>,
    control: &'a Client<T>,
    watch: &WatchArgs,
    output: &OutputArgs,
) -> Option<Windows<'a, T>> {
    // Scripts' formats have no place for a warning.
    let aside = (output.format != Format::Text).then_some(super::say as fn(&str));
    Some(Windows::new(wish.sampling?, detail(watch, output), ready?, control, aside))
}

/// We are in: a session, and at level `roots` the profiler with its lease.
struct In {
    stream: EventSession,
    lease: Option<Lease>,
    /// What the windows of a sampling watch need.
    windows: Option<Ready>,
    level: Level,
    reason: Option<String>,
}

async fn enter(found: &Found, args: &AttachArgs, wish: Wish) -> Result<In, Failure> {
    let failed = |e| target::command_failed(&e, found.facts.as_ref());
    let detail = detail(&args.watch, &args.output);
    let mut level = wish.level();
    let mut reason = None;
    if level == Level::Roots {
        match bring_in(found, args).await {
            Ok((stream, ready)) if wish.sampling.is_some() => {
                return Ok(In { stream, lease: None, windows: Some(ready), level, reason });
            }
            Ok((stream, ready)) => {
                let lease = Some(ready.into_lease());
                return Ok(In { stream, lease, windows: None, level, reason });
            }
            Err(refusal) => {
                let (instead, why) = wish.fall_back(refusal)?;
                (level, reason) = (instead, Some(why));
            }
        }
    }
    if level == Level::Moves
        && let Some(why) = profiler::no_moves(&found.client).await
    {
        (level, reason) = (Level::Basic, Some(why));
    }
    let stream = stream::open(&found.client, level, detail).await.map_err(failed)?;
    Ok(In { stream, lease: None, windows: None, level, reason })
}

/// The session first, so that the profiler's first event has a listener; then the profiler, unless it comes later.
async fn bring_in(found: &Found, args: &AttachArgs) -> Result<(EventSession, Ready), Refusal> {
    let facts = found.facts.as_ref();
    if let Some(variable) = facts.and_then(|f| f.profiler_disabled_by()) {
        return Err(forbidden_by(&variable));
    }
    let Some(info) = &found.info else {
        return Err(Refusal::new(
            Code::UNSUPPORTED,
            "the runtime is too old for it (.NET 5 is the first)",
            "use --level moves",
        ));
    };
    if info.arch != target::own_arch() && args.watch.profiler_path.is_none() {
        return Err(other_arch(&info.arch, target::own_arch()));
    }
    if args.watch.sample.is_some() {
        profiler::takes_profilers(&found.client).await?;
    }
    let (pid, uid) = (facts.map(|f| f.pid), facts.and_then(|f| f.uid));
    let mut ready = profiler::prepare(args.watch.profiler_path.as_deref(), pid, uid, &found.temp_dir())?;
    let client: &Client<Endpoint> = &found.client;
    let broken = |e: dotnet_diagnostics_client::Error| {
        Refusal::new(
            Code::FAILED,
            format!("the runtime gave no session: {e}"),
            "look whether the process is still running",
        )
    };
    let detail = detail(&args.watch, &args.output);
    let stream = stream::open(client, Level::Roots, detail).await.map_err(broken)?;
    if args.watch.sample.is_none() {
        ready.attach(client, detail).await?;
    }
    Ok((stream, ready))
}
