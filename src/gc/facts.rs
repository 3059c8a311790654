//! What is known of a watch as a whole: the target, the way it was watched, how it ended.

use std::time::Duration;

use super::record::Level;

/// The process that is watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) pid: Option<u32>,
    pub(crate) parent_pid: Option<u32>,
    /// As the runtime gives it: one joined line.
    pub(crate) command_line: Option<String>,
    /// `None` where only the joined line is known (replay).
    pub(crate) args: Option<Vec<String>>,
    pub(crate) executable: Option<String>,
    /// What people call it: the managed entry assembly, or the command's last path part.
    pub(crate) title: Option<String>,
    pub(crate) runtime_name: Option<String>,
    pub(crate) runtime_version: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) os: Option<String>,
    pub(crate) gc: GcSettings,
}

/// How the target's GC is set up; each `None` until an event or a file told it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GcSettings {
    pub(crate) server: Option<bool>,
    pub(crate) concurrent: Option<bool>,
    pub(crate) heaps: Option<u32>,
    pub(crate) regions: Option<bool>,
    /// Where these come from, e.g. "events", "environment", "runtimeconfig".
    pub(crate) source: Option<&'static str>,
}

/// What watching did to background GC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum BackgroundGc {
    /// Left as it was.
    #[default]
    Untouched,
    /// On, but each one gets one more stop in which its survivors are walked.
    Walked,
    /// Off in the windows of `--sample`.
    OffInWindows,
    /// Off as long as we watched.
    OffWhileWatched,
    /// Off until the target ends.
    OffUntilExit,
    /// The target has none.
    None,
}

impl BackgroundGc {
    /// Every one.
    pub(crate) const ALL: [BackgroundGc; 6] = [
        BackgroundGc::Untouched,
        BackgroundGc::Walked,
        BackgroundGc::OffInWindows,
        BackgroundGc::OffWhileWatched,
        BackgroundGc::OffUntilExit,
        BackgroundGc::None,
    ];

    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            BackgroundGc::Untouched => "untouched",
            BackgroundGc::Walked => "walked",
            BackgroundGc::OffInWindows => "off-in-windows",
            BackgroundGc::OffWhileWatched => "off-while-watched",
            BackgroundGc::OffUntilExit => "off-until-exit",
            BackgroundGc::None => "none",
        }
    }
}

/// How the profiler was armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arming {
    /// In each collection's mark phase.
    Late,
    /// All the time: slower, the fallback.
    Always,
}

impl Arming {
    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arming::Late => "late",
            Arming::Always => "always",
        }
    }
}

/// `--sample`: roots in windows, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) each: WindowLength,
    /// From the beginning of one window to that of the next.
    pub(crate) every: Duration,
    /// The level between the windows.
    pub(crate) between: Level,
}

/// How long a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowLength {
    /// So many blocking collections.
    Gcs(u32),
    Time(Duration),
}

/// What became of the windows of `--sample`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WindowCounts {
    pub(crate) taken: u64,
    /// Skipped because a background collection was running.
    pub(crate) busy: u64,
    /// The profiler was refused for another reason.
    pub(crate) refused: u64,
}

impl WindowCounts {
    /// Those that were due and not taken.
    pub(crate) fn skipped(self) -> u64 {
        self.busy.saturating_add(self.refused)
    }
}

/// What a blocking collection of generation 2 would take, made out before the profiler came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) blocking_gc_ns: u64,
    /// What it would have to go through.
    pub(crate) bytes: u64,
    /// These are gen2 and the large objects, by the runtime's statistics. Else it is the memory that the process has,
    /// an upper bound.
    pub(crate) by_statistics: bool,
    pub(crate) ns_per_mib: u64,
    /// By this process's own collections. Else it is what is usual.
    pub(crate) pace_measured: bool,
}

/// How much the collections of generation 2 that block because of the profiler may cost before it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepBackLimits {
    /// Of the time watched, in millionths.
    pub(crate) share_ppm: u32,
    /// Of a single one.
    pub(crate) max_pause_ms: u32,
}

impl StepBackLimits {
    /// The share, from 0 to 1.
    pub(crate) fn share(self) -> f64 {
        f64::from(self.share_ppm) / 1e6
    }

    /// The longest pause, ns.
    pub(crate) fn max_pause_ns(self) -> u64 {
        u64::from(self.max_pause_ms) * 1_000_000
    }
}

/// The profiler was taken out because it cost too much; from then on roots are watched in windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SteppedBack {
    /// The end of the collection that decided it, ns since the watch began.
    pub(crate) at_ns: u64,
    /// A sentence without a full stop.
    pub(crate) reason: String,
}

/// What is known of a watch so far. It may grow while the watch runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) target: Target,
    pub(crate) watch: Watch,
}

/// A watch between two collections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LiveState {
    /// Time since the watch began, ns, on the scale of [`Gc::at_ns`](super::record::Gc::at_ns).
    pub(crate) elapsed_ns: u64,
    pub(crate) lost: Lost,
}

/// How the target is watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Watch {
    /// The level reached.
    pub(crate) level: Level,
    /// Why it is not the level that was wished; `None` when it is.
    pub(crate) level_reason: Option<String>,
    /// Wall clock at the watch's start.
    pub(crate) started_at: Option<jiff::Timestamp>,
    /// Length on the stream's clock, ns.
    pub(crate) duration_ns: Option<u64>,
    pub(crate) background_gc: BackgroundGc,
    pub(crate) arming: Option<Arming>,
    /// `None`: roots are watched all the time, or never.
    pub(crate) sample: Option<Sample>,
    /// Of `sample`.
    pub(crate) windows: WindowCounts,
    /// Whether raw ranges and roots are kept.
    pub(crate) blocks: bool,
    /// `None`: not made, or the stream is a recording.
    pub(crate) estimate: Option<Estimate>,
    /// How long a blocking collection of generation 2 may be estimated to take for roots to be watched all the time, ns;
    /// `None`: the level did not depend on it.
    pub(crate) max_blocking_ns: Option<u64>,
    /// Roots are watched all the time only as long as these are kept.
    pub(crate) step_back: Option<StepBackLimits>,
    /// Each window begins right after a collection of generation 2.
    pub(crate) windows_after_gen2: bool,
    pub(crate) stepped_back: Option<SteppedBack>,
}

/// What was lost on the way, in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Collections of which nothing arrived.
    pub(crate) gcs: u64,
    pub(crate) events: u64,
    pub(crate) ranges: u64,
    pub(crate) roots: u64,
    /// Why a part is missing of which nobody knows how much was in it, mostly the end; `None`: none is.
    pub(crate) gap: Option<Gap>,
}

impl Lost {
    /// All that can be counted.
    pub(crate) fn total(&self) -> u64 {
        [self.gcs, self.events, self.ranges, self.roots].into_iter().fold(0, u64::saturating_add)
    }
}

/// Why nothing is known of a part of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The target ended without ending its stream: it was killed, or it crashed.
    Killed,
    /// The target was there and did not answer any more.
    Silent {
        /// Since when, ns from the start of the watch.
        since_ns: u64,
    },
    /// gcwatch left before the stream had ended.
    Left,
    /// The recording ends before its end mark.
    Truncated,
    /// Bytes of the recording cannot be read.
    Damaged,
}

impl Gap {
    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Gap::Killed => "target-killed",
            Gap::Silent { .. } => "no-response",
            Gap::Left => "left",
            Gap::Truncated => "truncated",
            Gap::Damaged => "damaged",
        }
    }
}

/// How it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exit {
    /// gcwatch's own exit code.
    pub(crate) gcwatch: u8,
    /// The child's code in `run` (128+n by signal n).
    pub(crate) child: Option<i32>,
    /// One of a few words, e.g. "target-ended", "duration", "gcs", "interrupted", "end-of-file", "truncated".
    pub(crate) reason: &'static str,
}
