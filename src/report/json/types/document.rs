//! The document of one watch, and what is known of the watch as a whole.

use schemars::JsonSchema;
use serde::Serialize;

use super::assertions::Assertion;
use super::collection::Gc;
use super::findings::Finding;
use super::summary::Summary;
use super::watch::Watch;
use crate::gc::facts::{self, Gap};
use crate::report::json::number::Int;
use crate::report::json::wire::wire;
use crate::version::VERSION;

/// The name and version of this format.
pub(crate) const SCHEMA: &str = "gcwatch/1";

/// Every garbage collection of one watch of a .NET process. A value that is not known is null,
/// never 0 and never left out. Strings that name a kind, a reason or a type may gain members.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// Always "gcwatch/1".
    pub(crate) schema: &'static str,
    pub(crate) tool: Tool,
    pub(crate) target: Target,
    /// One per garbage collection, in the order in which they became complete.
    pub(crate) gcs: Vec<Gc>,
    pub(crate) watch: Watch,
    /// Null when gcwatch was cut off before it could sum up.
    pub(crate) summary: Option<Summary>,
    /// The verdicts on `--assert`.
    pub(crate) assertions: Vec<Assertion>,
    /// What is wrong, the most important first.
    pub(crate) findings: Vec<Finding>,
    pub(crate) lost: Lost,
    pub(crate) exit: Exit,
}

/// The program that wrote this.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// This program.
pub(crate) const TOOL: Tool = Tool { name: "gcwatch", version: VERSION };

/// The end of what was cut off.
pub(crate) const CUT_OFF: Exit = Exit { gcwatch: None, child: None, reason: "interrupted" };

wire! {
    /// The process that was watched.
    Target(to, target: facts::Target) {
        pid: Option<u32>,
        /// As the runtime gives it: one joined line. A recording whose target was killed has no end that tells it.
        /// Of one longer than 32,768 characters the beginning, with `…` behind it.
        command_line: Option<String>,
        /// The arguments one by one; null where only the joined line is known.
        /// A recording cannot tell this. Cut behind 32,768 characters in all, with `…` at the end.
        args: Option<Vec<String>> = target.args.clone(),
        /// The file that runs.
        /// A recording cannot tell this.
        executable: Option<String>,
        runtime: Runtime = to.wire(target),
        /// Processors that the runtime sees. The first line of NDJSON of a live watch is written before this is known.
        processors: Option<u32>,
        /// How its garbage collector is set up; each null until known.
        /// A recording cannot tell this.
        gc: GcSettings,
    }

    /// The .NET runtime in it.
    Runtime(to, target: facts::Target) {
        name: Option<String> = to.wire(&target.runtime_name),
        /// A recording cannot tell this.
        version: Option<String> = to.wire(&target.runtime_version),
        /// A recording whose target was killed has no end that tells it.
        arch: Option<String>,
        /// A recording whose target was killed has no end that tells it.
        os: Option<String>,
    }

    /// The garbage collector's settings.
    GcSettings(to, gc: facts::GcSettings) {
        /// Server GC (true) or workstation GC (false): what runs, whatever was asked for.
        server: Option<bool>,
        /// Whether background collections are allowed.
        concurrent: Option<bool>,
        /// How many heaps there were when this was written; each collection has its own count.
        heaps: Option<u32>,
        /// Regions (true) or segments (false).
        regions: Option<bool>,
        /// Where these come from.
        source: Option<&'static str>,
    }

    /// What was lost on the way, in all.
    Lost(to, lost: facts::Lost) {
        /// Collections of which nothing arrived: their numbers are missing, and no stop without a collection explains them.
        gcs: Int,
        events: Int,
        ranges: Int,
        roots: Int,
        /// Why a part is missing of which nobody knows how much was in it: "target-killed" (it was killed or crashed, and its
        /// last 100 ms are missing), "no-response" (it did not answer any more), "left" (gcwatch left at once), "truncated"
        /// (the recording is cut off) or "damaged" (a part of it cannot be read); null: there is no such part.
        /// A recording whose target was killed has no end that tells it.
        gap: Option<&'static str>,
        /// With "no-response": since when, from the start of the watch. A recording cannot tell this.
        silent_since_ns: Option<Int> = match lost.gap {
            Some(Gap::Silent { since_ns }) => Some(to.wire(&since_ns)),
            _ => None,
        },
        /// Integers above that were 2^53 or more and were cut to 2^53 - 1.
        saturated: Int = to.wire(&{ to.saturated }),
    }

    /// How it ended.
    Exit(to, exit: facts::Exit) {
        /// The exit code of gcwatch; null when it was cut off before it had one.
        gcwatch: Option<i32> = Some(exit.gcwatch),
        /// The exit code of the child of `gcwatch run`, 128+n by signal n.
        /// A recording cannot tell this.
        child: Option<i32>,
        /// "target-ended", "duration", "gcs", "stop-on", "interrupted", "hung-up", "end-of-file", "truncated" and others.
        /// A recording cannot tell this.
        reason: &'static str,
    }
}
