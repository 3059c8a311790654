//! What is said to a runtime that waits at its start, until it runs and is watched.

use std::path::PathBuf;
use std::time::Duration;

use dotnet_diagnostics_client::{EventSession, Pinned, ProcessFacts};
use tokio::time::timeout;

use super::attach::detail;
use crate::cli::RunArgs;
use crate::exit::{Code, Failure};
use crate::gc::facts::Target;
use crate::gc::record::Level;
use crate::sys::{self, Lease};
use crate::target;
use crate::watch::launch::{self, Suspended};
use crate::watch::plan::Wish;
use crate::watch::profiler::{self, Ready, Refusal};
use crate::watch::stream;

/// The profiler connects within a millisecond of the runtime's start; a machine may be slow.
const PROFILER_COMES: Duration = Duration::from_secs(3);

/// A session that runs, and the profiler that should come.
pub(super) struct Go {
    pub(super) stream: EventSession,
    ready: Option<Ready>,
    /// What the windows of a sampling watch need.
    pub(super) windows: Option<Ready>,
    level: Level,
    reason: Option<String>,
}

/// Everything that has to be said to a runtime before its first instruction; then it runs.
pub(super) async fn start(
    suspended: &Suspended,
    args: &RunArgs,
    wish: Wish,
    mut fallen: Option<(Level, String)>,
) -> Result<Go, Failure> {
    let client = &suspended.client;
    let failed = |e| target::command_failed(&e, None);
    // Its children shall find our port where they are watched too.
    if !args.follow {
        launch::hide_port(client).await.map_err(failed)?;
    }
    let (mut ready, mut windows) = (None, None);
    if wish.level() == Level::Roots && fallen.is_none() {
        match arrange(suspended, args).await {
            Ok(r) if wish.sampling.is_some() => windows = Some(r),
            Ok(r) => ready = Some(r),
            Err(refusal) => fallen = Some(wish.fall_back(refusal)?),
        }
    }
    let instead = fallen.as_ref().map_or(wish.level(), |(level, _)| *level);
    if instead == Level::Moves
        && let Some(why) = profiler::no_moves(client).await
    {
        fallen = Some((Level::Basic, why));
    }
    let (level, reason) = match fallen {
        Some((level, reason)) => (level, Some(reason)),
        None => (wish.level(), None),
    };
    let stream = stream::open(client, level, detail(&args.watch, &args.output)).await.map_err(failed)?;
    client.resume_runtime().await.map_err(failed)?;
    Ok(Go { stream, ready, windows, level, reason })
}

/// Names the profiler to the runtime, unless it comes later. Its OK means only that it has heard.
async fn arrange(suspended: &Suspended, args: &RunArgs) -> Result<Ready, Refusal> {
    let info = &suspended.info;
    if info.arch != target::own_arch() && args.watch.profiler_path.is_none() {
        return Err(crate::watch::plan::other_arch(&info.arch, target::own_arch()));
    }
    // A program that has become another user is met with that user's rights, as in an attach.
    let stranger = suspended.client.transport().peer().filter(|peer| peer.uid != sys::own_uid());
    let process = match stranger.and_then(|peer| peer.pid) {
        Some(pid) => Some(Pinned::new(pid).map_err(|e| profiler::gone(&e))?),
        None => None,
    };
    let temp_dir = process.as_ref().and_then(|process| {
        let facts = ProcessFacts::read(process.pid());
        facts.variable("TMPDIR").filter(|dir| !dir.is_empty()).map(PathBuf::from)
    });
    let temp_dir = match (&process, temp_dir) {
        (Some(_), dir) => dir.unwrap_or_else(|| "/tmp".into()),
        (None, _) => std::env::temp_dir(),
    };
    let ready = profiler::prepare(args.watch.profiler_path.as_deref(), process.as_ref(), &temp_dir).await?;
    let refused = |e: dotnet_diagnostics_client::Error| profiler::refusal(&e);
    let unset = (!args.follow).then_some(launch::PORTS);
    if args.watch.sample.is_some() {
        profiler::takes_profilers(&suspended.client).await?;
        return Ok(ready);
    }
    let config = ready.config(detail(&args.watch, &args.output), unset, None);
    let client = &suspended.client;
    client
        .set_environment_variable(netcore_profiler::config::VARIABLE, Some(&config))
        .await
        .map_err(refused)?;
    client.set_startup_profiler(profiler::clsid(), &ready.library()).await.map_err(refused)?;
    Ok(ready)
}

/// A runtime says OK to a profiler and then does not load it; only the profiler's own word counts.
pub(super) async fn profiler_is_there(
    go: &mut Go,
    suspended: &Suspended,
    args: &RunArgs,
    wish: Wish,
) -> Result<(Level, Option<String>, Option<Lease>), Failure> {
    let Some(mut ready) = go.ready.take() else {
        return Ok((go.level, go.reason.take(), None));
    };
    if ready.came(PROFILER_COMES).await {
        return Ok((Level::Roots, None, Some(ready.into_lease())));
    }
    // It would have taken this out itself.
    let variable = netcore_profiler::config::VARIABLE;
    let removed = suspended.client.set_environment_variable(variable, None);
    let removed = launch::unless_gone(suspended.info.pid, removed).await;
    tracing::debug!("{variable} taken out of the program's environment: {removed:?}");
    let silent = Refusal::new(
        Code::UNSUPPORTED,
        "the runtime did not load the profiler, and did not say why",
        "can the program's user read and execute files in the temporary directory?",
    );
    let (_, reason) = wish.fall_back(silent)?;
    let moves = stream::open(&suspended.client, Level::Moves, detail(&args.watch, &args.output)).await;
    // Where that fails it has ended meanwhile: what the first session holds is all there is.
    let level = moves.map_or(Level::Basic, |stream| {
        go.stream = stream;
        Level::Moves
    });
    Ok((level, Some(reason), None))
}

/// Asked again now that it runs: only now it knows its whole command line.
pub(super) async fn describe(suspended: &Suspended) -> Target {
    /// It answers at once, unless it has been stopped meanwhile.
    const LIMIT: Duration = Duration::from_secs(2);
    let asked = launch::unless_gone(suspended.info.pid, suspended.client.process_info());
    let told = timeout(LIMIT, asked).await.ok().flatten().and_then(Result::ok);
    let info = told.unwrap_or_else(|| suspended.info.clone());
    let facts = u32::try_from(info.pid).ok().map(ProcessFacts::read).filter(|f| f.exists);
    target::describe(Some(&info), facts.as_ref())
}
