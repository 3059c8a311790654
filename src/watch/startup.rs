//! Starts the watch of a process that waits for gcwatch at its start.

use std::path::PathBuf;
use std::time::Duration;

use dotnet_diagnostics_client::{EventSession, Pinned, ProcessStatus};
use netcore_profiler::config::VARIABLE as CONFIG_VARIABLE;
use tokio::time::timeout;

use super::launch::{self, Suspended};
use super::port::PORTS;
use super::profiler::{self, Ready};
use super::refusal::Refusal;
use super::request::WatchRequest;
use super::started::{RootsPlan, StartedWatch};
use super::stream;
use crate::exit::{Code, Failure};
use crate::gc::facts::Target;
use crate::gc::record::Level;
use crate::sys;
use crate::target;

/// The profiler connects within a millisecond of the runtime's start, unless the machine is busy.
const PROFILER_TIMEOUT: Duration = Duration::from_secs(3);
/// A runtime that has not come to managed code by then may never load it.
const MAX_PROFILER_TIMEOUTS: u32 = 20;
/// A runtime answers at once, unless its process is stopped.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(2);

/// A process that was resumed. Its profiler has yet to connect.
pub(crate) struct Resumed {
    stream: EventSession,
    ready: Option<Ready>,
    graph: Option<Result<Ready, Refusal>>,
    level: Level,
    level_reason: Option<String>,
}

/// Sets a runtime up before its first managed instruction, and resumes it.
///
/// # Errors
/// The process has ended, or the user demanded roots and they are not possible.
pub(crate) async fn resume(suspended: &Suspended, request: &WatchRequest) -> Result<Resumed, Failure> {
    let client = suspended.client.client();
    let failed = |e| target::command_failed(&e, None);
    if !request.children_dial {
        launch::hide_port(client).await.map_err(failed)?;
    }
    let (mut level, mut level_reason, mut ready) = (request.level(), None, None);
    let mut graph = None;
    if level == Level::Roots {
        match name_profiler(suspended, request).await {
            Ok(r) => ready = Some(r),
            Err(refusal) => {
                graph = request.graph.as_ref().map(|_| Err(refusal.clone()));
                let (instead, reason) = request.fall_back(refusal)?;
                (level, level_reason) = (instead, Some(reason));
            }
        }
    }
    if level == Level::Moves
        && let Some(why) = profiler::no_moves(client).await
    {
        (level, level_reason) = (Level::Basic, Some(why));
    }
    if level != Level::Roots && graph.is_none() && request.graph.is_some() {
        graph = Some(prepare_profiler(suspended, request, true).await);
    }
    let stream = stream::open(client, level, request.detail).await.map_err(failed)?;
    client.resume_runtime().await.map_err(failed)?;
    Ok(Resumed { stream, ready, graph, level, level_reason })
}

/// Names the profiler to the runtime, unless it is loaded in windows. The runtime's OK does not mean that it loads it.
async fn name_profiler(suspended: &Suspended, request: &WatchRequest) -> Result<Ready, Refusal> {
    let client = suspended.client.client();
    let ready = prepare_profiler(suspended, request, request.sampling.is_some()).await?;
    if request.sampling.is_some() {
        return Ok(ready);
    }
    let unset = (!request.children_dial).then_some(PORTS);
    let config = ready.config(request.detail, unset, None);
    let refused = |e| Refusal::of(&e);
    client.set_environment_variable(CONFIG_VARIABLE, &config).await.map_err(refused)?;
    client.set_startup_profiler(profiler::clsid(), &ready.library()).await.map_err(refused)?;
    Ok(ready)
}

/// Prepares the profiler. `later`: it is loaded by an attach, so the runtime is asked whether it takes one.
async fn prepare_profiler(
    suspended: &Suspended,
    request: &WatchRequest,
    later: bool,
) -> Result<Ready, Refusal> {
    let (client, info) = (suspended.client.client(), &suspended.info);
    let environment = suspended.pid().map(ProcessStatus::read).filter(|facts| facts.environ.is_some());
    let refusal = launch::refusal_from_environment(|name| match &environment {
        Some(facts) => facts.variable(name).map(ToOwned::to_owned),
        None => std::env::var_os(name),
    });
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    if info.arch != target::own_arch() && request.profiler_path.is_none() {
        return Err(Refusal::other_arch(&info.arch, target::own_arch()));
    }
    // If the program has become another user, use that user's rights, as in an attach.
    let stranger = suspended.client.connections().peer().filter(|peer| peer.uid != sys::own_uid());
    let process = match stranger.and_then(|peer| peer.pid) {
        Some(pid) => Some(Pinned::new(pid).map_err(|e| Refusal::gone(&e))?),
        None => None,
    };
    let temp_dir = match &process {
        Some(process) => {
            let facts = ProcessStatus::read(process.pid());
            facts.variable("TMPDIR").filter(|dir| !dir.is_empty()).map_or("/tmp".into(), PathBuf::from)
        }
        None => std::env::temp_dir(),
    };
    let path = request.profiler_path.as_deref();
    let ready = profiler::prepare(path, process.as_ref(), &temp_dir).await?;
    if later {
        profiler::takes_profilers(client).await?;
    }
    Ok(ready)
}

impl Resumed {
    /// Waits for the profiler. A runtime may say OK and then not load it, so only the profiler's own connection counts.
    ///
    /// # Errors
    /// The profiler does not connect, and the user demanded roots.
    pub(crate) async fn started(
        self,
        suspended: &Suspended,
        request: &WatchRequest,
    ) -> Result<StartedWatch, Failure> {
        let Resumed { stream, ready, graph, level, level_reason } = self;
        let roots = RootsPlan { sampling: request.sampling, ..RootsPlan::default() };
        let without = StartedWatch::without_profiler(stream, level, level_reason).with_graph(graph);
        match ready {
            None => Ok(without),
            Some(ready) if roots.sampling.is_some() => {
                Ok(StartedWatch { ready: Some(ready), roots, ..without })
            }
            Some(mut ready) => match profiler_came(&mut ready, suspended).await {
                true => Ok(without.with_lease(Some(ready.into_lease()), request)),
                false => without_silent_profiler(without, suspended, request).await,
            },
        }
    }
}

/// Waits for the profiler for as long as the runtime can still load it. Before it has loaded it, it has no entry assembly.
async fn profiler_came(ready: &mut Ready, suspended: &Suspended) -> bool {
    for _ in 0..MAX_PROFILER_TIMEOUTS {
        if ready.came(PROFILER_TIMEOUT).await {
            return true;
        }
        let answer = launch::unless_gone(suspended.info.pid, suspended.client.client().process_info());
        match timeout(DESCRIBE_TIMEOUT, answer).await {
            Ok(Some(Ok(info))) if info.entry_assembly.as_deref().is_none_or(str::is_empty) => {}
            // It is too busy to answer.
            Err(_) => {}
            Ok(_) => break,
        }
    }
    // It may have come after the last look at the lease.
    ready.came(Duration::ZERO).await
}

async fn without_silent_profiler(
    started: StartedWatch,
    suspended: &Suspended,
    request: &WatchRequest,
) -> Result<StartedWatch, Failure> {
    // The profiler would have removed this variable by itself.
    let removed = suspended.client.client().remove_environment_variable(CONFIG_VARIABLE);
    let removed = launch::unless_gone(suspended.info.pid, removed).await;
    tracing::debug!("{CONFIG_VARIABLE} removed from the program's environment: {removed:?}");
    let (_, reason) = request.fall_back(Refusal::new(
        Code::UNSUPPORTED,
        "the runtime did not load the profiler, and did not say why",
        "can the program's user read and execute files in the temporary directory?",
    ))?;
    // If this fails, the process has ended meanwhile, and the first session has all that there is.
    let moves = stream::open(suspended.client.client(), Level::Moves, request.detail).await.ok();
    let level = if moves.is_some() { Level::Moves } else { Level::Basic };
    let stream = moves.unwrap_or(started.stream);
    let refused = request
        .graph
        .is_some()
        .then(|| Err(Refusal::new(Code::UNSUPPORTED, reason.clone(), "use another level")));
    Ok(StartedWatch::without_profiler(stream, level, Some(reason)).with_graph(refused))
}

/// Describes a process that was resumed. Only now does its runtime know the whole command line.
pub(crate) async fn describe(suspended: &Suspended) -> Target {
    let answer = launch::unless_gone(suspended.info.pid, suspended.client.client().process_info());
    let answer = timeout(DESCRIBE_TIMEOUT, answer).await.ok().flatten().and_then(Result::ok);
    let info = answer.unwrap_or_else(|| suspended.info.clone());
    let facts = u32::try_from(info.pid).ok().map(ProcessStatus::read).filter(|facts| facts.exists);
    target::describe(Some(&info), facts.as_ref())
}
