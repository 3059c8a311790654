//! What is wished, what is possible, and what watching will do to the target.

use crate::exit::{Code, Failure};
use crate::gc::facts::{Arming, BackgroundGc, Sample, Watch, WindowCounts};
use crate::gc::record::Level;

use super::profiler::Refusal;

/// The level that was asked for. Without a demand: roots, or what works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) demanded: Option<Level>,
    /// What the bounds to judge need: a verdict should not judge the observer.
    pub(crate) enough: Option<Level>,
    /// Roots in windows.
    pub(crate) sampling: Option<Sample>,
}

impl Wish {
    /// Nobody asked for anything: what is watched must not hurt.
    pub(crate) fn nothing_said(self) -> bool {
        self.demanded.is_none() && self.enough.is_none() && self.sampling.is_none()
    }

    /// The level to try.
    pub(crate) fn level(self) -> Level {
        let windows = self.sampling.map(|_| Level::Roots);
        self.demanded.or(windows).or(self.enough).unwrap_or(Level::Roots)
    }

    /// Goes on at another level, with the reason; where roots were demanded it is a failure.
    pub(crate) fn fall_back(self, refusal: Refusal) -> Result<(Level, String), Failure> {
        match self.demanded {
            Some(Level::Roots) => Err(refusal.into_failure()),
            _ => {
                let between = self.sampling.map(|sample| sample.between);
                Ok((between.map_or(refusal.instead, |level| level.min(refusal.instead)), refusal.reason))
            }
        }
    }
}

/// What the reports say at the start; `at_startup`: the profiler comes before the first managed code.
pub(crate) fn watch_facts(
    level: Level,
    reason: Option<String>,
    concurrent: Option<bool>,
    at_startup: bool,
    blocks: bool,
    sampling: Option<Sample>,
) -> Watch {
    let sample = sampling.filter(|_| level == Level::Roots);
    Watch {
        level,
        level_reason: reason,
        started_at: None,
        duration_ns: None,
        background_gc: match (level, at_startup) {
            _ if concurrent == Some(false) => BackgroundGc::None,
            (Level::Basic, _) => BackgroundGc::Untouched,
            (Level::Moves, _) => BackgroundGc::Walked,
            (Level::Roots, _) if sample.is_some() => BackgroundGc::OffInWindows,
            (Level::Roots, true) => BackgroundGc::OffUntilExit,
            (Level::Roots, false) => BackgroundGc::OffWhileWatched,
        },
        arming: (level == Level::Roots).then_some(Arming::Late),
        sample,
        windows: WindowCounts::default(),
        blocks,
        estimate: None,
        max_blocking_ns: None,
        step_back: None,
        windows_after_gen2: false,
        stepped_back: None,
    }
}

/// The operator said no to profilers, even where the runtime would take an attach.
pub(crate) fn forbidden_by(variable: &str) -> Refusal {
    Refusal::new(
        Code::UNSUPPORTED,
        format!("its environment forbids profilers ({variable}=0)"),
        "start it without that variable, or use --level moves",
    )
}

/// A library of another architecture cannot be loaded.
pub(crate) fn other_arch(theirs: &str, ours: &str) -> Refusal {
    Refusal::new(
        Code::UNSUPPORTED,
        format!("the process is {theirs}, this gcwatch and its profiler are {ours}"),
        format!("use the {theirs} build of gcwatch, or give its library with --profiler-path"),
    )
}
