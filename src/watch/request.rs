//! The request for a watch, made from the command line and the settings.

use std::path::PathBuf;
use std::time::Duration;

use super::refusal::Refusal;
use super::stream::Detail;
use super::{graph, recording};
use crate::exit::Failure;
use crate::gc::facts::{Sample, StepBackLimits};
use crate::gc::record::Level;

/// The request for a watch.
#[derive(Debug)]
pub(crate) struct WatchRequest {
    /// The level that the user demanded. `None`: roots, or else what is possible.
    pub(crate) demanded: Option<Level>,
    /// The lowest level that sees the metrics of all assertions: a verdict should not judge what watching costs.
    pub(crate) needed: Option<Level>,
    /// `--sample`: roots in sampling windows.
    pub(crate) sampling: Option<Sample>,
    pub(crate) detail: Detail,
    /// Another build of the profiler library (`--profiler-path`).
    pub(crate) profiler_path: Option<PathBuf>,
    pub(crate) limits: Limits,
    /// What roots may cost a running process if the user [asked for nothing](Self::asks_for_nothing).
    pub(crate) careful: Careful,
    pub(crate) recording: Option<recording::Plan>,
    /// `--graph-at`.
    pub(crate) graph: Option<graph::during::Plan>,
    /// The target's own children connect to our port, too (`--follow`).
    pub(crate) children_dial: bool,
}

/// When a watch ends by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    pub(crate) duration: Option<Duration>,
    /// The number of complete collections, at the level of the watch.
    pub(crate) gcs: Option<u64>,
}

/// How much the profiler may cost a running process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Careful {
    /// The longest estimate of a blocking gen2 collection with which roots are watched all the time.
    pub(crate) max_blocking_gc: Duration,
    pub(crate) step_back: StepBackLimits,
}

impl WatchRequest {
    /// Whether the user chose neither level, assertions nor windows. Then watching must not hurt the target.
    pub(crate) fn asks_for_nothing(&self) -> bool {
        self.demanded.is_none() && self.needed.is_none() && self.sampling.is_none()
    }

    /// The level to try first.
    pub(crate) fn level(&self) -> Level {
        let windows = self.sampling.map(|_| Level::Roots);
        self.demanded.or(windows).or(self.needed).unwrap_or(Level::Roots)
    }

    /// Falls back to another level. Returns it with the reason.
    ///
    /// # Errors
    /// The user demanded roots.
    pub(crate) fn fall_back(&self, refusal: Refusal) -> Result<(Level, String), Failure> {
        if self.demanded == Some(Level::Roots) {
            return Err(refusal.into_failure());
        }
        let between = self.sampling.map(|sample| sample.between);
        Ok((between.map_or(refusal.instead, |level| level.min(refusal.instead)), refusal.reason))
    }
}
