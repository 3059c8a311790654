//! `gcwatch attach`: watch a process that is already running, and leave it as it was.

use std::path::Path;
use std::time::Duration;

use dotnet_diagnostics_client::{Client, Dial, EventSession, Transport, process};
use tokio::time::sleep;

use super::run::again;
use super::verdict;
use super::{ending, finish, output, report_failed};
use crate::assertion::Assertions;
use crate::cli::{AttachArgs, Format, OutputArgs, WatchArgs};
use crate::exit::{Code, Failure};
use crate::gc::facts::{Estimate, Exit, Gap, Sample, StepBackLimits, Watch, WindowLength};
use crate::gc::record::Level;
use crate::gc::stream_info::StepBackPlan;
use crate::report::Facts;
use crate::sys::{Lease, Signals, is_root};
use crate::target::{self, Found, Wanted};
use crate::watch::estimate::{self, Beginning};
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
    let wanted = wanted(args)?;
    let named = if let Wanted::Pid(pid) = wanted { Some(pid) } else { None };
    let found = before_the_watch(&mut signals, named, target::find(&wanted)).await?;
    let recording = recording(&args.watch, &args.output, false)?;
    let mut output = output::open(&args.output, false, true, !checks.is_empty())?;
    let pid = found.facts.as_ref().map(|facts| facts.pid);
    let target = found.describe();
    let concurrent = target.gc.concurrent;
    let entered = before_the_watch(&mut signals, pid, enter(&found, concurrent, args, wish)).await?;
    let watch = facts_of(&entered, concurrent, args, wish);
    let In { stream, beginning, lease, windows, way, .. } = entered;
    let facts = Facts { target, watch };
    let mut session = Session::new(facts, output.report.as_mut()).judging(&checks);
    let windows = way.sampling.and_then(|sample| {
        let windows = sampled(sample, windows, &found.client, &args.watch, &args.output)?;
        Some(match way.stays {
            _ if wish.sampling.is_some() => windows,
            Some(_) => windows.staying(),
            None => windows.after_gen2(),
        })
    });
    let mut pump = Pump {
        stream,
        beginning,
        control: &found.client,
        lease,
        windows,
        limits: Limits { duration: args.watch.duration, gcs: args.watch.gcs },
        pid,
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
    if cut {
        session.has_gap(Gap::Killed);
    }
    if let Err(e) = session.finish() {
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

/// What is said to a target before it is watched. A signal ends it at once, and so does a target that turns out to be
/// stopped: it would take every connection and answer none.
async fn before_the_watch<T>(
    signals: &mut Signals,
    pid: Option<u32>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = work => done,
        signal = signals.next() => {
            Err(Failure::new(again(signal), "a signal came before the watch began: nothing was watched"))
        }
        pid = stopped(pid) => Err(target::stopped(pid)),
    }
}

/// Waits until the process has been stopped for some time: one that is only being looked at goes on soon.
async fn stopped(pid: Option<u32>) -> u32 {
    const LOOK: Duration = Duration::from_millis(250);
    const LOOKS: u32 = 6;
    let Some(pid) = pid else { return std::future::pending().await };
    let mut looks = 0;
    while looks < LOOKS {
        sleep(LOOK).await;
        looks = if process::is_stopped(pid) { looks + 1 } else { 0 };
    }
    pid
}

fn wanted(args: &AttachArgs) -> Result<Wanted, Failure> {
    match (&args.pid, args.process_id, &args.name, &args.diagnostic_port) {
        (Some(text), ..) => Ok(text.parse().map_or_else(|_| Wanted::Name(text.clone()), Wanted::Pid)),
        (_, Some(pid), ..) => Ok(Wanted::Pid(pid)),
        (_, _, Some(name), _) => Ok(Wanted::Name(name.clone())),
        (.., Some(port)) => Ok(Wanted::Port(port.clone())),
        _ => Err(Failure::new(Code::USAGE, "no process was named")
            .remedy("give a process id; gcwatch ps lists them")),
    }
}

/// What is known to fail about the recording is said before anything touches the target.
pub(super) fn recording(
    args: &WatchArgs,
    output: &OutputArgs,
    several: bool,
) -> Result<Option<recording::Plan>, Failure> {
    let Some(path) = &args.record else { return Ok(None) };
    let report = output.output.as_deref().filter(|path| *path != Path::new("-"));
    recording::Plan::new(path, args.rotate, several, report).map(Some)
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
pub(super) fn wish(watch: &WatchArgs, checks: &Assertions) -> Result<Wish, Failure> {
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

/// What the reports say at the start.
fn facts_of(entered: &In, concurrent: Option<bool>, args: &AttachArgs, wish: Wish) -> Watch {
    let In { level, reason, way, estimate, .. } = entered;
    let blocks = args.output.blocks;
    let sampling = way.sampling.filter(|_| way.stays.is_none());
    let watch = watch_facts(*level, reason.clone(), concurrent, false, blocks, sampling);
    let roots = *level == Level::Roots;
    let most = args.careful.max_blocking_gc;
    Watch {
        estimate: estimate.filter(|_| roots),
        max_blocking_ns: way.chosen.then(|| u64::try_from(most.as_nanos()).unwrap_or(u64::MAX)),
        step_back: way.stays,
        windows_after_gen2: roots && sampling.is_some() && wish.sampling.is_none(),
        ..watch
    }
}

/// The windows of a watch that has some.
pub(super) fn sampled<'a, T: Transport>(
    sample: Sample,
    ready: Option<Ready>,
    control: &'a Client<T>,
    watch: &WatchArgs,
    output: &OutputArgs,
) -> Option<Windows<'a, T>> {
    // Scripts' formats have no place for a warning.
    let aside = (output.format != Format::Text).then_some(super::say as fn(&str));
    Some(Windows::new(sample, detail(watch, output), ready?, control, aside))
}

/// We are in: a session, and at level `roots` the profiler with its lease.
struct In {
    stream: EventSession,
    /// What was read of it.
    beginning: Beginning,
    lease: Option<Lease>,
    /// What windows need.
    windows: Option<Ready>,
    level: Level,
    reason: Option<String>,
    way: Way,
    estimate: Option<Estimate>,
}

/// How roots are watched.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    /// In windows; where it [stays](Way::stays), after it has stepped back.
    sampling: Option<Sample>,
    /// All the time, until these limits are broken.
    stays: Option<StepBackLimits>,
    /// The estimate decided.
    chosen: bool,
}

/// Windows where nothing else was said.
const WINDOWS: Sample =
    Sample { each: WindowLength::Gcs(1), every: Duration::from_secs(30), between: Level::Basic };

async fn enter(
    found: &Found,
    concurrent: Option<bool>,
    args: &AttachArgs,
    wish: Wish,
) -> Result<In, Failure> {
    let failed = |e| target::command_failed(&e, found.facts.as_ref());
    let detail = detail(&args.watch, &args.output);
    let mut level = wish.level();
    let mut reason = None;
    // Where the program has no background collections, none is kept from it.
    let memory =
        Estimate::by_memory(found.facts.as_ref().map(|f| f.pid)).filter(|_| concurrent != Some(false));
    let careful = wish.nothing_said() && concurrent != Some(false);
    let short = |estimate: Option<Estimate>| {
        estimate.is_some_and(|e| u128::from(e.blocking_gc_ns) <= args.careful.max_blocking_gc.as_nanos())
    };
    if level == Level::Roots {
        match bring_in(found, args, wish, careful, memory, short).await {
            Ok(entered) => return Ok(entered),
            Err(refusal) => {
                // At `moves` the runtime stops the program to walk the survivors of each background collection.
                let instead = if careful && !short(memory) { Level::Basic } else { refusal.instead };
                let refusal = Refusal { instead: instead.min(refusal.instead), ..refusal };
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
    let (beginning, way) = (Beginning::now(), Way::default());
    Ok(In { stream, beginning, lease: None, windows: None, level, reason, way, estimate: None })
}

/// The session first, so that the profiler's first event has a listener; then the profiler, unless it comes later.
async fn bring_in(
    found: &Found,
    args: &AttachArgs,
    wish: Wish,
    careful: bool,
    memory: Option<Estimate>,
    short: impl Fn(Option<Estimate>) -> bool,
) -> Result<In, Refusal> {
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
    if wish.sampling.is_some() || careful {
        profiler::takes_profilers(&found.client).await?;
    }
    let client: &Client<Dial> = &found.client;
    let process = client.transport().process();
    if process.is_none() && is_root() {
        return Err(Refusal::new(
            Code::NOT_PERMITTED,
            "the process behind this socket cannot be seen, and root works with its rights only",
            "run gcwatch as the process's user, or in its container",
        ));
    }
    let mut ready =
        profiler::prepare(args.watch.profiler_path.as_deref(), process, &found.temp_dir()).await?;
    let broken = |e: dotnet_diagnostics_client::Error| {
        Refusal::new(
            Code::FAILED,
            format!("the runtime gave no session: {e}"),
            "look whether the process is still running",
        )
    };
    let detail = detail(&args.watch, &args.output);
    let mut stream = stream::open(client, Level::Roots, detail).await.map_err(broken)?;
    let mut beginning = Beginning::now();
    let mut estimate = memory.filter(|_| wish.sampling.is_none());
    if careful && !short(estimate) {
        // The heap may be much smaller than the memory.
        estimate = estimate::by_statistics(&mut stream, &mut beginning).await.or(estimate);
    }
    let mut way = Way { sampling: wish.sampling, stays: None, chosen: careful };
    let mut window = None;
    if careful {
        way.sampling = Some(WINDOWS);
        way.stays = Some(args.careful.step_back).filter(|_| short(estimate));
        let every_ms = u32::try_from(WINDOWS.every.as_millis()).unwrap_or(u32::MAX);
        window = way.stays.map(|limits| StepBackPlan::window(limits, every_ms));
    }
    if (way.sampling.is_none() || way.stays.is_some())
        && let Err(refusal) = ready.attach(client, detail, window).await
    {
        // Another session follows at another level.
        stream::close(client, stream).await;
        return Err(refusal);
    }
    let (lease, windows) = match way.sampling {
        None => (Some(ready.into_lease()), None),
        Some(_) => (None, Some(ready)),
    };
    Ok(In { stream, beginning, lease, windows, level: Level::Roots, reason: None, way, estimate })
}
