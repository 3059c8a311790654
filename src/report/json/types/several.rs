//! Several processes in one document.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Document, Exit, Lost, Tool};
use crate::report::json::number::Int;

/// Several processes in one document: `run --follow`. Found under `$defs/Processes`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Processes {
    /// Always "gcwatch/1".
    pub(in crate::report::json) schema: &'static str,
    pub(in crate::report::json) tool: Tool,
    /// In the order in which they ended.
    pub(in crate::report::json) processes: Vec<Process>,
    /// Null when gcwatch was cut off before it could sum up.
    pub(in crate::report::json) summary: Option<Overall>,
    pub(in crate::report::json) exit: Exit,
}

/// The document of one process, and what tells it from the others.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(in crate::report::json) struct Process {
    /// What people call it: the managed assembly that was started, or the executable.
    pub(in crate::report::json) title: Option<String>,
    pub(in crate::report::json) parent_pid: Option<u32>,
    #[serde(flatten)]
    pub(in crate::report::json) document: Document,
}

/// Counts over all processes; percentiles are each process's own.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Overall {
    /// Those that could not be watched included.
    pub(in crate::report::json) processes: Int,
    pub(in crate::report::json) not_watched: Int,
    /// Complete collections.
    pub(in crate::report::json) gcs: Int,
    /// Collections that were cut off.
    pub(in crate::report::json) incomplete: Int,
    pub(in crate::report::json) by_generation_and_kind: Vec<OverallGroup>,
    /// All pauses of complete collections.
    pub(in crate::report::json) pause_ns: Int,
    pub(in crate::report::json) assertions: VerdictCounts,
    pub(in crate::report::json) lost: Lost,
}

/// Complete collections of one generation and kind, in all processes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct OverallGroup {
    pub(in crate::report::json) generation: u8,
    pub(in crate::report::json) kind: &'static str,
    pub(in crate::report::json) count: Int,
    pub(in crate::report::json) pause_ns: OverallPauses,
}

/// Their pauses; null where none was measured.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct OverallPauses {
    pub(in crate::report::json) total: Option<Int>,
    pub(in crate::report::json) max: Option<Int>,
}

/// The verdicts on `--assert`, each bound judged for each process.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct VerdictCounts {
    pub(in crate::report::json) hold: Int,
    pub(in crate::report::json) fail: Int,
    pub(in crate::report::json) not_judged: Int,
}
