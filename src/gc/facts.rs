//! What is known of a watch as a whole: the target, the way it was watched, how it ended.

use std::time::Duration;

use super::named::named;
use super::record::Level;

/// The process that is watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) pid: Option<u32>,
    pub(crate) parent_pid: Option<u32>,
    /// One line, as the runtime joins it.
    pub(crate) command_line: Option<String>,
    /// `None` where only the joined line is known (replay).
    pub(crate) args: Option<Vec<String>>,
    pub(crate) executable: Option<String>,
    /// A short name: the managed entry assembly, or the last part of the executable's path.
    pub(crate) title: Option<String>,
    pub(crate) runtime_name: Option<String>,
    pub(crate) runtime_version: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) os: Option<String>,
    /// Processors that the runtime sees.
    pub(crate) processors: Option<u32>,
    pub(crate) gc: GcSettings,
}

/// Settings of the target's GC. Each is `None` until an event or a file shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GcSettings {
    pub(crate) server: Option<bool>,
    pub(crate) concurrent: Option<bool>,
    pub(crate) heaps: Option<u32>,
    pub(crate) regions: Option<bool>,
    /// Where these come from, e.g. "events", "environment", "runtimeconfig".
    pub(crate) source: Option<&'static str>,
}

named! {
    /// What watching did to background GC.
    #[derive(Default)]
    BackgroundGc {
        /// Left as it was.
        #[default]
        Untouched = "untouched",
        /// On, but each background collection has one more stop, in which the runtime walks the survivors.
        Walked = "walked",
        /// Off in the windows of `--sample`.
        OffInWindows = "off-in-windows",
        /// Off while a heap graph was taken.
        OffForGraph = "off-for-graph",
        /// Off while gcwatch watched.
        OffWhileWatched = "off-while-watched",
        /// Off until the target ends.
        OffUntilExit = "off-until-exit",
        /// The target has none.
        None = "none",
    }

    /// How the profiler was armed.
    Arming {
        /// In each collection's mark phase.
        Late = "late",
        /// All the time: slower, the fallback.
        Always = "always",
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
    /// A number of blocking collections.
    Gcs(u32),
    Time(Duration),
}

/// Windows of `--sample` by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WindowCounts {
    pub(crate) taken: u64,
    /// Skipped because a background collection was running.
    pub(crate) busy: u64,
    /// The profiler was refused for another reason.
    pub(crate) refused: u64,
}

impl WindowCounts {
    /// Windows that were due and were not taken.
    pub(crate) fn skipped(self) -> u64 {
        self.busy.saturating_add(self.refused)
    }
}

/// How long a blocking collection of generation 2 would take, estimated before the profiler is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) blocking_gc_ns: u64,
    /// Bytes that it would have to mark.
    pub(crate) bytes: u64,
    /// `true`: `bytes` is gen2 and the large object heap by the runtime's statistics. `false`: it is the memory of the
    /// process, an upper bound.
    pub(crate) by_statistics: bool,
    pub(crate) ns_per_mib: u64,
    /// `true`: measured at this process's own collections. `false`: a usual value.
    pub(crate) pace_measured: bool,
}

/// How long collections of generation 2 may block because of the profiler before gcwatch detaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepBackLimits {
    /// Share of the watched time, in millionths.
    pub(crate) share_ppm: u32,
    /// A single pause, ms.
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

/// The profiler was detached because it cost too much. From then on roots are watched in windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SteppedBack {
    /// The end of the collection that exceeded a limit, ns since the watch began.
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
    pub(crate) counters: Counters,
}

/// What the runtime's own counters said last. No record and no document holds them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// When they said it, ns since the watch began.
    pub(crate) at_ns: u64,
    /// The size of the heap, with what was allocated since the last collection.
    pub(crate) heap_bytes: Option<u64>,
    /// Bytes allocated in the last second. The counters themselves allocate some of them.
    pub(crate) allocated_per_s: Option<u64>,
}

/// How the target is watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Watch {
    /// The level reached.
    pub(crate) level: Level,
    /// Why it is not the requested level; `None` where it is.
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
    /// Roots are watched all the time only where a blocking collection of generation 2 is estimated to take at most
    /// this long, ns; `None`: the level did not depend on it.
    pub(crate) max_blocking_ns: Option<u64>,
    /// Roots are watched all the time until one of these is exceeded.
    pub(crate) step_back: Option<StepBackLimits>,
    /// Each window begins right after a collection of generation 2.
    pub(crate) windows_after_gen2: bool,
    pub(crate) stepped_back: Option<SteppedBack>,
    /// `--graph-at`; `None`: without it, or the stream is a recording.
    pub(crate) graph: Option<WatchGraph>,
}

/// The heap graph of `--graph-at`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WatchGraph {
    /// The condition that was met first; `None`: none was.
    pub(crate) condition: Option<String>,
    /// Number of the collection that met it.
    pub(crate) met_at_gc: Option<u32>,
    pub(crate) taken: Option<TakenGraph>,
    /// Why there is none; `None`: there is one, or it is not over yet.
    pub(crate) not_taken: Option<String>,
}

/// A heap graph that was taken in a watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TakenGraph {
    /// Number of the collection at whose end it was taken.
    pub(crate) gc_number: Option<u32>,
    pub(crate) file: String,
    pub(crate) objects: u64,
    pub(crate) object_bytes: u64,
    /// How long the program stood still for it.
    pub(crate) pause_ns: u64,
    /// How long the copy of the process lived.
    pub(crate) copy_ns: u64,
    /// Memory that was copied; `None`: unknown.
    pub(crate) copied_bytes: Option<u64>,
    /// Some names are missing.
    pub(crate) names_missing: bool,
}

/// What the stream proves to be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Collections of which nothing arrived.
    pub(crate) gcs: u64,
    pub(crate) events: u64,
    pub(crate) ranges: u64,
    pub(crate) roots: u64,
    /// Why a part of unknown size is missing, mostly the end; `None`: none is.
    pub(crate) gap: Option<Gap>,
}

impl Lost {
    /// The sum of all counts.
    pub(crate) fn total(&self) -> u64 {
        [self.gcs, self.events, self.ranges, self.roots].into_iter().fold(0, u64::saturating_add)
    }
}

/// Why a part of a watch is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The target ended without ending its stream: it was killed, or it crashed.
    Killed,
    /// The target still ran, but no longer answered.
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

/// How a watch ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exit {
    /// gcwatch's own exit code.
    pub(crate) gcwatch: i32,
    /// The child's code in `run` (128+n by signal n).
    pub(crate) child: Option<i32>,
    /// One of a few words, e.g. "target-ended", "duration", "gcs", "interrupted", "end-of-file", "truncated".
    pub(crate) reason: &'static str,
}
