//! What is wished, what is possible, and what watching will do to the target.

use crate::exit::{Code, Failure};
use crate::gc::facts::{Arming, BackgroundGc, Watch};
use crate::gc::record::Level;

use super::profiler::Refusal;

/// The level that was asked for. Without a demand: roots, or what works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) demanded: Option<Level>,
    /// What the bounds to judge need: a verdict should not judge the observer.
    pub(crate) enough: Option<Level>,
}

impl Wish {
    /// The level to try.
    pub(crate) fn level(self) -> Level {
        self.demanded.or(self.enough).unwrap_or(Level::Roots)
    }

    /// Goes on at another level, with the reason; where roots were demanded it is a failure.
    pub(crate) fn fall_back(self, refusal: Refusal) -> Result<(Level, String), Failure> {
        match self.demanded {
            Some(Level::Roots) => Err(refusal.into_failure()),
            _ => Ok((refusal.instead, refusal.reason)),
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
) -> Watch {
    Watch {
        level,
        level_reason: reason,
        started_at: None,
        duration_ns: None,
        background_gc: match (level, at_startup) {
            _ if concurrent == Some(false) => BackgroundGc::None,
            (Level::Basic, _) => BackgroundGc::Untouched,
            (Level::Moves, _) => BackgroundGc::Walked,
            (Level::Roots, true) => BackgroundGc::OffUntilExit,
            (Level::Roots, false) => BackgroundGc::OffWhileWatched,
        },
        arming: (level == Level::Roots).then_some(Arming::Late),
        windows: (0, 0),
        blocks,
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
