//! Several processes in one document.

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Exit, Lost, Tool};
use crate::gc::generation::Generation;
use crate::gc::record::Kind;
use crate::report::json::number::Int;
use crate::report::json::wire::wire;
use crate::report::multi_process::model::{self, Count};

/// Several processes in one document: `run --follow`. Found under `$defs/Processes`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Processes {
    /// Always "gcwatch/1".
    pub(crate) schema: &'static str,
    pub(crate) tool: Tool,
    /// In the order in which they ended.
    pub(crate) processes: Vec<Process>,
    /// Null when gcwatch was cut off before it could sum up.
    pub(crate) summary: Option<Overall>,
    pub(crate) exit: Exit,
}

/// The document of one process, and what tells it from the others.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Process {
    /// What people call it: the managed assembly that was started, or the executable.
    pub(crate) title: Option<String>,
    pub(crate) parent_pid: Option<u32>,
    #[serde(flatten)]
    pub(crate) document: Document,
}

wire! {
    /// Counts over all processes; percentiles are each process's own.
    Overall(to, all: model::Overall) {
        /// Those that could not be watched included.
        processes: Int,
        not_watched: Int,
        /// Complete collections.
        gcs: Int,
        /// Collections that were cut off.
        incomplete: Int,
        by_generation_and_kind: Vec<OverallGroup> = to.wire(&all.groups),
        /// All pauses of complete collections.
        pause_ns: Int,
        assertions: VerdictCounts = to.wire(&all.verdicts),
        lost: Lost,
    }

    /// Complete collections of one generation and kind, in all processes.
    OverallGroup(to, of: ((Generation, Kind), &Count)) {
        generation: u8 = of.0.0.0,
        kind: &'static str = of.0.1.name(),
        count: Int = to.wire(&of.1.count),
        pause_ns: OverallPauses = to.wire(of.1),
    }

    /// Their pauses; null where none was measured.
    OverallPauses(to, group: Count) {
        total: Option<Int> = to.wire(&group.pause_total_ns),
        max: Option<Int> = to.wire(&group.pause_max_ns),
    }

    /// The verdicts on `--assert`, each bound judged for each process.
    VerdictCounts(to, counts: model::VerdictCounts) {
        hold: Int,
        fail: Int,
        not_judged: Int,
    }
}
