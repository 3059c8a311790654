//! How it was watched.

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::json::number::Int;

/// How the target was watched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch {
    /// The level reached: "basic", "moves" or "roots".
    pub(crate) level: &'static str,
    /// Why it is not the level that was wished; null when it is.
    /// A recording cannot tell this.
    pub(crate) level_reason: Option<String>,
    /// RFC 3339.
    pub(crate) started_at: Option<String>,
    /// Length on the stream's clock.
    pub(crate) duration_ns: Option<Int>,
    /// What watching did to background GC: "untouched", "walked" (each one got one more stop),
    /// "off-in-windows", "off-while-watched", "off-until-exit", or "none" (the target has none).
    pub(crate) background_gc: &'static str,
    /// "late": in each collection's mark phase; "always"; null without the profiler.
    pub(crate) arming: Option<&'static str>,
    /// What `--sample` asks for; null without it.
    pub(crate) sample: Option<Sample>,
    /// What became of it.
    pub(crate) windows: Windows,
    /// What a blocking gen2 collection would take, made out before the profiler came; null where that was no question.
    /// A recording cannot tell this.
    pub(crate) estimate: Option<Estimate>,
    /// The profiler was taken out because it cost too much; null where it was not.
    pub(crate) stepped_back: Option<SteppedBack>,
}

/// How long a gen2 collection is likely to stop the program when it blocks.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Estimate {
    pub(crate) blocking_gc_ns: Int,
    /// What it has to go through.
    pub(crate) bytes: Int,
    /// "statistics": gen2 and the large object heap as the runtime told; "memory": all memory of the process, an upper
    /// bound.
    pub(crate) bytes_from: &'static str,
    pub(crate) ns_per_mib: Int,
    /// "collections": the pace is that of the process's own collections; "usual": 1 ms per MiB.
    pub(crate) pace_from: &'static str,
    /// The longest estimate with which roots are watched all the time (`--max-blocking-gc`); null where the level was
    /// given, and did not depend on it.
    pub(crate) limit_ns: Option<Int>,
}

/// Going on with less, because gen2 collections that blocked because of watching stopped the program for too long.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SteppedBack {
    /// The end of the collection that decided it, ns of the stream's clock since the watch began.
    pub(crate) at_ns: Int,
    pub(crate) reason: String,
    /// "roots": all the time.
    pub(crate) from: &'static str,
    /// "windows": `sample` says which.
    pub(crate) to: &'static str,
}

/// Roots are watched in windows: either for some collections or for a time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    /// Blocking collections of a window; null where it is for a time.
    pub(crate) gcs: Option<u32>,
    /// Length of a window; null where it is for collections.
    pub(crate) window_ns: Option<Int>,
    /// From the beginning of one window to that of the next.
    pub(crate) every_ns: Int,
    /// The level between the windows: "basic" or "moves".
    pub(crate) between: &'static str,
}

/// The windows of `--sample`. On how many collections the figures of roots rest is `summary.roots.gcs`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Windows {
    /// Windows in which the profiler was there.
    pub(crate) taken: Int,
    pub(crate) skipped: Int,
    /// Why they were skipped.
    pub(crate) skipped_by: SkippedBy,
}

/// Windows that were skipped, by reason.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkippedBy {
    /// A background collection ran for more than a second.
    pub(crate) background_gc: Int,
    /// The runtime took no profiler (another one was active, for example). A recording does not tell of those
    /// after the last window that was taken.
    pub(crate) refused: Int,
}
