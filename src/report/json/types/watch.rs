//! How it was watched.

use std::time::Duration;

use crate::gc::facts::{self, WindowCounts, WindowLength};
use crate::report::json::number::Int;
use crate::report::json::wire::wire;

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The length of a window: collections, or ns.
fn window(sample: &facts::Sample) -> (Option<u32>, Option<u64>) {
    match sample.each {
        WindowLength::Gcs(n) => (Some(n), None),
        WindowLength::Time(time) => (None, Some(ns(time))),
    }
}

wire! {
    /// How the target was watched.
    Watch(to, watch: facts::Watch) {
        /// The level reached: "basic", "moves" or "roots".
        level: &'static str,
        /// Why it is not the level that was wished; null when it is. A recording cannot tell this.
        /// Where nothing was watched or read: why.
        level_reason: Option<String>,
        /// RFC 3339.
        started_at: Option<String> = watch.started_at.map(|t| t.to_string()),
        /// Length on the stream's clock.
        duration_ns: Option<Int>,
        /// What watching did to background GC: "untouched", "walked" (each one got one more stop),
        /// "off-in-windows", "off-for-graph", "off-while-watched", "off-until-exit", or "none" (the target has none).
        background_gc: &'static str,
        /// "late": in each collection's mark phase; "always"; null without the profiler.
        arming: Option<&'static str>,
        /// What `--sample` asks for; null without it.
        sample: Option<Sample>,
        /// What became of it.
        windows: Windows,
        /// What a blocking gen2 collection would take, made out before the profiler came; null where that was no question.
        /// A recording cannot tell this.
        estimate: Option<Estimate> = watch.estimate.map(|e| to.wire(&(e, watch.max_blocking_ns))),
        /// The profiler was taken out because it cost too much; null where it was not.
        stepped_back: Option<SteppedBack>,
        /// What became of `--graph-at`; null without it. A recording cannot tell this.
        graph: Option<HeapGraph>,
    }

    /// The heap graph that `--graph-at` asks for.
    HeapGraph(to, graph: facts::WatchGraph) {
        /// The condition that was met first; null where none was.
        condition: Option<String>,
        /// The collection that met it.
        met_at_gc: Option<u32>,
        /// The graph; null where there is none.
        taken: Option<TakenGraph>,
        /// Why there is none; null where there is one.
        not_taken: Option<String>,
    }

    /// A heap graph that was taken.
    TakenGraph(to, graph: facts::TakenGraph) {
        /// The collection at whose end it was taken; it has a pause "heap_graph".
        gc: Option<u32> = graph.gc_number,
        file: String,
        objects: Int,
        object_bytes: Int,
        /// How long the program stood still for it, in ns.
        pause_ns: Int,
        /// How long the copy of the process lived, in ns.
        copy_ns: Int,
        /// Memory that was copied because the program wrote it meanwhile, in bytes; null where unknown.
        copied_bytes: Option<Int>,
        /// The process ended, or did not answer, before all names were known.
        names_missing: bool,
    }

    /// How long a gen2 collection is likely to stop the program when it blocks.
    Estimate(to, of: (facts::Estimate, Option<u64>)) {
        blocking_gc_ns: Int = to.wire(&of.0.blocking_gc_ns),
        /// What it has to go through.
        bytes: Int = to.wire(&of.0.bytes),
        /// "statistics": gen2 and the large object heap as the runtime told; "memory": all memory of the process, an upper
        /// bound.
        bytes_from: &'static str = if of.0.by_statistics { "statistics" } else { "memory" },
        ns_per_mib: Int = to.wire(&of.0.ns_per_mib),
        /// "collections": the pace is that of the process's own collections; "usual": 1 ms per MiB.
        pace_from: &'static str = if of.0.pace_measured { "collections" } else { "usual" },
        /// The longest estimate with which roots are watched all the time (`--max-blocking-gc`); null where the level was
        /// given, and did not depend on it.
        limit_ns: Option<Int> = to.wire(&of.1),
    }

    /// Going on with less, because gen2 collections that blocked because of watching stopped the program for too long.
    SteppedBack(to, step: facts::SteppedBack) {
        /// The end of the collection that decided it, ns of the stream's clock since the watch began.
        at_ns: Int,
        reason: String,
        /// "roots": all the time.
        from: &'static str = "roots",
        /// "windows": `sample` says which.
        to: &'static str = "windows",
    }

    /// Roots are watched in windows: either for some collections or for a time.
    Sample(to, sample: facts::Sample) {
        /// Blocking collections of a window; null where it is for a time.
        gcs: Option<u32> = window(sample).0,
        /// Length of a window; null where it is for collections.
        window_ns: Option<Int> = to.wire(&window(sample).1),
        /// From the beginning of one window to that of the next.
        every_ns: Int = to.wire(&ns(sample.every)),
        /// The level between the windows: "basic" or "moves".
        between: &'static str,
    }

    /// The windows of `--sample`. On how many collections the figures of roots rest is `summary.roots.gcs`.
    Windows(to, windows: WindowCounts) {
        /// Windows in which the profiler was there.
        taken: Int,
        skipped: Int = to.wire(&windows.skipped()),
        /// Why they were skipped.
        skipped_by: SkippedBy = to.wire(windows),
    }

    /// Windows that were skipped, by reason.
    SkippedBy(to, windows: WindowCounts) {
        /// A background collection ran for more than a second.
        background_gc: Int = to.wire(&windows.busy),
        /// The runtime took no profiler (another one was active, for example). A recording does not tell of those
        /// after the last window that was taken.
        refused: Int,
    }
}
