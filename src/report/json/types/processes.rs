//! Several processes in one document.

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Exit, Lost, Tool};
use crate::report::json::number::Int;

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

/// Counts over all processes; percentiles are each process's own.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Overall {
    /// Those that could not be watched included.
    pub(crate) processes: Int,
    pub(crate) not_watched: Int,
    /// Complete collections.
    pub(crate) gcs: Int,
    /// Collections that were cut off.
    pub(crate) incomplete: Int,
    pub(crate) by_generation_and_kind: Vec<OverallGroup>,
    /// All pauses of complete collections.
    pub(crate) pause_ns: Int,
    pub(crate) assertions: VerdictCounts,
    pub(crate) lost: Lost,
}

/// Complete collections of one generation and kind, in all processes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OverallGroup {
    pub(crate) generation: u8,
    pub(crate) kind: &'static str,
    pub(crate) count: Int,
    pub(crate) pause_ns: OverallPauses,
}

/// Their pauses; null where none was measured.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OverallPauses {
    pub(crate) total: Option<Int>,
    pub(crate) max: Option<Int>,
}

/// The verdicts on `--assert`, each bound judged for each process.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerdictCounts {
    pub(crate) hold: Int,
    pub(crate) fail: Int,
    pub(crate) not_judged: Int,
}
