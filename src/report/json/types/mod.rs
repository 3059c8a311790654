//! The JSON of `gcwatch/1`: types of the wire alone, apart from the model. Their doc comments are
//! the descriptions of `gcwatch schema`.

mod blocks;
mod collection;
mod roots;
mod several;
mod watch;

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::json::assertions::Assertion;
use crate::report::json::number::Int;
use crate::report::json::sums::Summary;

pub(in crate::report::json) use blocks::{
    Distribution, HistogramRow, Moved, MovedRange, Surviving, SurvivingRange, Transition,
};
pub(in crate::report::json) use collection::{
    Compacting, Cost, Finalization, Gc, Generation, Heap, Missing, Mixed, Pause,
};
pub(in crate::report::json) use roots::{PromotedBytes, Root, RootCount, RootFlags, RootKinds, Roots};
pub(in crate::report::json) use several::{Overall, OverallGroup, OverallPauses, Processes, VerdictCounts};
pub(in crate::report::json) use watch::{Estimate, Sample, SkippedBy, SteppedBack, Watch, Windows};

/// The name and version of this format.
pub(crate) const SCHEMA: &str = "gcwatch/1";

/// Every garbage collection of one watch of a .NET process. A value that is not known is null,
/// never 0 and never left out. Strings that name a kind, a reason or a type may gain members.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Document {
    /// Always "gcwatch/1".
    pub(in crate::report::json) schema: &'static str,
    pub(in crate::report::json) tool: Tool,
    pub(in crate::report::json) target: Target,
    /// One per garbage collection, in the order in which they became complete.
    pub(in crate::report::json) gcs: Vec<Gc>,
    pub(in crate::report::json) watch: Watch,
    /// Null when gcwatch was cut off before it could sum up.
    pub(in crate::report::json) summary: Option<Summary>,
    /// The verdicts on `--assert`.
    pub(in crate::report::json) assertions: Vec<Assertion>,
    pub(in crate::report::json) lost: Lost,
    pub(in crate::report::json) exit: Exit,
}

/// The program that wrote this.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Tool {
    pub(in crate::report::json) name: &'static str,
    pub(in crate::report::json) version: &'static str,
}

/// The process that was watched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Target {
    pub(in crate::report::json) pid: Option<u32>,
    /// As the runtime gives it: one joined line. A recording whose target was killed has no end that tells it.
    /// Of one longer than 32,768 characters the beginning, with `…` behind it.
    pub(in crate::report::json) command_line: Option<String>,
    /// The arguments one by one; null where only the joined line is known.
    /// A recording cannot tell this. Cut behind 32,768 characters in all, with `…` at the end.
    pub(in crate::report::json) args: Option<Vec<String>>,
    /// The file that runs.
    /// A recording cannot tell this.
    pub(in crate::report::json) executable: Option<String>,
    pub(in crate::report::json) runtime: Runtime,
    /// How its garbage collector is set up; each null until known.
    /// A recording cannot tell this.
    pub(in crate::report::json) gc: GcSettings,
}

/// The .NET runtime in it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Runtime {
    pub(in crate::report::json) name: Option<String>,
    /// A recording cannot tell this.
    pub(in crate::report::json) version: Option<String>,
    /// A recording whose target was killed has no end that tells it.
    pub(in crate::report::json) arch: Option<String>,
    /// A recording whose target was killed has no end that tells it.
    pub(in crate::report::json) os: Option<String>,
}

/// The garbage collector's settings.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct GcSettings {
    /// Server GC (true) or workstation GC (false): what runs, whatever was asked for.
    pub(in crate::report::json) server: Option<bool>,
    /// Whether background collections are allowed.
    pub(in crate::report::json) concurrent: Option<bool>,
    /// How many heaps there were when this was written; each collection has its own count.
    pub(in crate::report::json) heaps: Option<u32>,
    /// Regions (true) or segments (false).
    pub(in crate::report::json) regions: Option<bool>,
    /// Where these come from.
    pub(in crate::report::json) source: Option<&'static str>,
}

/// What was lost on the way, in all.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Lost {
    /// Collections of which nothing arrived: their numbers are missing, and no stop without a collection explains them.
    pub(in crate::report::json) gcs: Int,
    pub(in crate::report::json) events: Int,
    pub(in crate::report::json) ranges: Int,
    pub(in crate::report::json) roots: Int,
    /// Why a part is missing of which nobody knows how much was in it: "target-killed" (it was killed or crashed, and its
    /// last 100 ms are missing), "no-response" (it did not answer any more), "left" (gcwatch left at once), "truncated"
    /// (the recording is cut off) or "damaged" (a part of it cannot be read); null: there is no such part.
    /// A recording whose target was killed has no end that tells it.
    pub(in crate::report::json) gap: Option<&'static str>,
    /// With "no-response": since when, from the start of the watch. A recording cannot tell this.
    pub(in crate::report::json) silent_since_ns: Option<Int>,
    /// Integers above that were 2^53 or more and were cut to 2^53 - 1.
    pub(in crate::report::json) saturated: Int,
}

/// How it ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Exit {
    /// The exit code of gcwatch; null when it was cut off before it had one.
    pub(in crate::report::json) gcwatch: Option<u8>,
    /// The exit code of the child of `gcwatch run`, 128+n by signal n.
    /// A recording cannot tell this.
    pub(in crate::report::json) child: Option<i32>,
    /// "target-ended", "duration", "gcs", "interrupted", "hung-up", "end-of-file", "truncated" and others.
    /// A recording cannot tell this.
    pub(in crate::report::json) reason: &'static str,
}
