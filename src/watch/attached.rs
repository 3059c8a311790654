//! Starts the watch of a running process.

use std::time::Duration;

use super::estimate::{self, Beginning};
use super::profiler;
use super::refusal::Refusal;
use super::request::WatchRequest;
use super::started::{RootsPlan, StartedWatch};
use super::stream;
use crate::exit::{Code, Failure};
use crate::gc::facts::{Estimate, Sample, WindowLength};
use crate::gc::record::Level;
use crate::gc::stream_info::StepBackPlan;
use crate::sys::is_root;
use crate::target::{self, Found};

/// The sampling windows if the user requested none, but roots cost too much to be watched all the time.
const DEFAULT_WINDOWS: Sample =
    Sample { each: WindowLength::Gcs(1), every: Duration::from_secs(30), between: Level::Basic };

/// What watching roots may cost this process.
struct Cost {
    /// The user did not request roots, so watching them must not hurt the process.
    careful: bool,
    /// How long a blocking gen2 collection would take, estimated from the process's memory.
    by_memory: Option<Estimate>,
    max_blocking_gc: Duration,
}

impl Cost {
    fn is_short(&self, estimate: Option<Estimate>) -> bool {
        estimate.is_some_and(|e| u128::from(e.blocking_gc_ns) <= self.max_blocking_gc.as_nanos())
    }
}

/// Opens the session and, at level `roots`, loads the profiler. `concurrent`: whether the target has background
/// collections, if that is known.
///
/// # Errors
/// The runtime opens no session, or the user demanded roots and they are not possible.
pub(crate) async fn start(
    found: &Found,
    concurrent: Option<bool>,
    request: &WatchRequest,
) -> Result<StartedWatch, Failure> {
    let mut level = request.level();
    let mut reason = None;
    let mut graph = None;
    if level == Level::Roots {
        // The profiler prevents background collections. A program without them loses nothing.
        let background = concurrent != Some(false);
        let pid = found.facts.as_ref().map(|facts| facts.pid);
        let cost = Cost {
            careful: request.asks_for_nothing() && background,
            by_memory: Estimate::by_memory(pid).filter(|_| background),
            max_blocking_gc: request.careful.max_blocking_gc,
        };
        match roots(found, request, &cost).await {
            Ok(started) => return Ok(started),
            Err(refusal) => {
                graph = request.graph.as_ref().map(|_| Err(refusal.clone()));
                // At `moves` the runtime stops the program to walk the survivors of each background collection.
                let short = cost.is_short(cost.by_memory);
                let most = if cost.careful && !short { Level::Basic } else { Level::Roots };
                let refusal = Refusal { instead: most.min(refusal.instead), ..refusal };
                let (instead, why) = request.fall_back(refusal)?;
                (level, reason) = (instead, Some(why));
            }
        }
    }
    if level == Level::Moves
        && let Some(why) = profiler::no_moves(&found.client).await
    {
        (level, reason) = (Level::Basic, Some(why));
    }
    if graph.is_none() && request.graph.is_some() {
        graph = Some(prepare(found, request, true).await);
    }
    let failed = |e| target::command_failed(&e, found.facts.as_ref());
    let stream = stream::open(&found.client, level, request.detail).await.map_err(failed)?;
    Ok(StartedWatch::without_profiler(stream, level, reason).with_graph(graph))
}

/// Prepares the profiler, if it can be loaded. `ask`: the runtime is asked whether it takes any.
async fn prepare(found: &Found, request: &WatchRequest, ask: bool) -> Result<profiler::Ready, Refusal> {
    refused(found, request, ask).await?;
    let (path, process) = (request.profiler_path.as_deref(), found.client.transport().process());
    profiler::prepare(path, process, &found.temp_dir()).await
}

/// Refuses a process that cannot load the profiler, as far as this is known before the attach.
async fn refused(found: &Found, request: &WatchRequest, ask: bool) -> Result<(), Refusal> {
    if let Some(variable) = found.facts.as_ref().and_then(|facts| facts.profiler_disabled_by()) {
        return Err(Refusal::forbidden_by(&variable));
    }
    let Some(info) = &found.info else {
        return Err(Refusal::new(
            Code::UNSUPPORTED,
            "the runtime is too old for it (.NET 5 is the first)",
            "use --level moves",
        ));
    };
    if info.arch != target::own_arch() && request.profiler_path.is_none() {
        return Err(Refusal::other_arch(&info.arch, target::own_arch()));
    }
    if ask {
        profiler::takes_profilers(&found.client).await?;
    }
    if found.client.transport().process().is_none() && is_root() {
        return Err(Refusal::new(
            Code::NOT_PERMITTED,
            "the process behind this socket cannot be seen, and root works with its rights only",
            "run gcwatch as the process's user, or in its container",
        ));
    }
    Ok(())
}

/// Opens the session before it attaches the profiler, whose hello needs a session. In windows the profiler comes later.
async fn roots(found: &Found, request: &WatchRequest, cost: &Cost) -> Result<StartedWatch, Refusal> {
    let mut ready = prepare(found, request, request.sampling.is_some() || cost.careful).await?;
    let client = &found.client;
    let mut stream = stream::open(client, Level::Roots, request.detail).await.map_err(|e| {
        Refusal::new(
            Code::FAILED,
            format!("the runtime gave no session: {e}"),
            "check whether the process is still running",
        )
    })?;
    let mut beginning = Beginning::now();
    let mut estimate = cost.by_memory.filter(|_| request.sampling.is_none());
    if cost.careful && !cost.is_short(estimate) {
        // The heap may be much smaller than the process's memory.
        estimate = estimate::by_statistics(&mut stream, &mut beginning).await.or(estimate);
    }
    let mut roots = RootsPlan { sampling: request.sampling, until: None, estimated: cost.careful };
    if cost.careful {
        roots.sampling = Some(DEFAULT_WINDOWS);
        roots.until = Some(request.careful.step_back).filter(|_| cost.is_short(estimate));
    }
    if roots.sampling.is_none() || roots.until.is_some() {
        let every_ms = u32::try_from(DEFAULT_WINDOWS.every.as_millis()).unwrap_or(u32::MAX);
        let window = roots.until.map(|limits| StepBackPlan::window(limits, every_ms));
        if let Err(refusal) = ready.attach(client, request.detail, window).await {
            // The caller opens another session, at another level.
            stream::close(client, stream).await;
            return Err(refusal);
        }
    }
    let (lease, ready) = match roots.sampling {
        None => (Some(ready.into_lease()), None),
        Some(_) => (None, Some(ready)),
    };
    let without = StartedWatch::without_profiler(stream, Level::Roots, None);
    Ok(StartedWatch { beginning, ready, roots, estimate, ..without }.with_lease(lease, request))
}
