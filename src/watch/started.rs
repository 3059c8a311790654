//! A watch that has started: its session is open. At level `roots` the profiler is loaded, or will be in windows.

use dotnet_diagnostics_client::EventSession;

use super::estimate::Beginning;
use super::profiler::{LeaseName, Ready};
use super::refusal::Refusal;
use super::request::WatchRequest;
use crate::gc::facts::{Arming, BackgroundGc, Estimate, Sample, StepBackLimits, Watch, WatchGraph};
use crate::gc::record::Level;
use crate::sys::Lease;

/// A watch that has started.
pub(crate) struct StartedWatch {
    pub(crate) stream: EventSession,
    /// What was already read of the stream.
    pub(crate) beginning: Beginning,
    /// Set if the profiler stays until the watch ends.
    pub(crate) lease: Option<Lease>,
    /// Set if the profiler may have to connect once more, for `--graph-at`.
    pub(crate) lease_name: Option<LeaseName>,
    /// Set if the profiler is loaded in windows.
    pub(crate) ready: Option<Ready>,
    /// Set if the profiler is not there, and is to be loaded for `--graph-at` when that is due.
    pub(crate) graph_ready: Option<Ready>,
    /// Why `--graph-at` is not possible.
    pub(crate) no_graph: Option<String>,
    pub(crate) level: Level,
    /// Why it is not the requested level.
    pub(crate) level_reason: Option<String>,
    pub(crate) roots: RootsPlan,
    pub(crate) estimate: Option<Estimate>,
}

/// When roots are watched.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RootsPlan {
    /// In sampling windows. If [`until`](Self::until) is set, only after the watch has stepped back.
    pub(crate) sampling: Option<Sample>,
    /// All the time, until these limits are exceeded.
    pub(crate) until: Option<StepBackLimits>,
    /// The estimate decided this, not the user.
    pub(crate) estimated: bool,
}

impl StartedWatch {
    /// A watch without the profiler.
    pub(crate) fn without_profiler(
        stream: EventSession,
        level: Level,
        level_reason: Option<String>,
    ) -> StartedWatch {
        StartedWatch {
            stream,
            beginning: Beginning::now(),
            lease: None,
            lease_name: None,
            ready: None,
            graph_ready: None,
            no_graph: None,
            level,
            level_reason,
            roots: RootsPlan::default(),
            estimate: None,
        }
    }

    /// With the lease of a profiler that stays.
    #[must_use]
    pub(crate) fn with_lease(
        mut self,
        lease: Option<(Lease, LeaseName)>,
        request: &WatchRequest,
    ) -> StartedWatch {
        if let Some((lease, name)) = lease {
            self.lease = Some(lease);
            self.lease_name = Some(name).filter(|_| request.graph.is_some());
        }
        self
    }

    /// With the profiler for `--graph-at`, or the reason why it cannot be loaded.
    #[must_use]
    pub(crate) fn with_graph(mut self, prepared: Option<Result<Ready, Refusal>>) -> StartedWatch {
        match prepared {
            Some(Ok(ready)) => self.graph_ready = Some(ready),
            Some(Err(refusal)) => self.no_graph = Some(refusal.reason),
            None => {}
        }
        self
    }

    /// The facts of the watch at its start. `concurrent`: whether the target has background collections. `at_startup`:
    /// whether the profiler was loaded before the first managed code.
    pub(crate) fn facts(&self, request: &WatchRequest, concurrent: Option<bool>, at_startup: bool) -> Watch {
        let roots = self.level == Level::Roots;
        let sample = self.roots.sampling.filter(|_| roots && self.roots.until.is_none());
        let max_blocking_ns = u64::try_from(request.careful.max_blocking_gc.as_nanos()).unwrap_or(u64::MAX);
        Watch {
            level: self.level,
            level_reason: self.level_reason.clone(),
            background_gc: match (self.level, at_startup) {
                _ if concurrent == Some(false) => BackgroundGc::None,
                (Level::Basic, _) => BackgroundGc::Untouched,
                (Level::Moves, _) => BackgroundGc::Walked,
                (Level::Roots, _) if sample.is_some() => BackgroundGc::OffInWindows,
                (Level::Roots, true) => BackgroundGc::OffUntilExit,
                (Level::Roots, false) => BackgroundGc::OffWhileWatched,
            },
            arming: roots.then_some(Arming::Late),
            sample,
            blocks: request.detail.blocks,
            estimate: self.estimate.filter(|_| roots),
            max_blocking_ns: self.roots.estimated.then_some(max_blocking_ns),
            step_back: self.roots.until,
            graph: request
                .graph
                .as_ref()
                .map(|_| WatchGraph { not_taken: self.no_graph.clone(), ..WatchGraph::default() }),
            windows_after_gen2: sample.is_some() && request.sampling.is_none(),
            ..Watch::default()
        }
    }
}
