//! Reads a recording with Microsoft's TraceEvent, as a second opinion.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use xtask::clr;
use xtask::testkit::peer;

use super::{Json, run_to_end};

/// The path of the program that uses TraceEvent, below the directory of other tools.
pub(crate) const GCSTATS: &str = "gcstats/gcstats.dll";

/// What TraceEvent found.
#[derive(Debug)]
pub(crate) struct Answer {
    /// One entry per collection that TraceEvent saw from start to end.
    pub(crate) gcs: Vec<Value>,
    /// Totals of the file.
    pub(crate) totals: Value,
}

/// Lets TraceEvent read a recording.
pub(crate) fn gcstats(recording: &Path) -> Result<Answer> {
    let dll = peer(GCSTATS)?;
    let all = clr::find_all()?;
    let newest = all.last().context("no runtime")?;
    let mut command = newest.command(&dll);
    command.arg(recording);
    let ended = run_to_end(command, Vec::new())?.expect(0)?;
    let mut answer = Answer { gcs: Vec::new(), totals: Value::Null };
    for line in ended.out()?.lines() {
        // TraceEvent gives NaN for the fragmentation of an empty generation; JSON has no NaN.
        let line: Value = serde_json::from_str(&line.replace("NaN", "null"))
            .with_context(|| format!("a line of gcstats: {line}"))?;
        if line.get("number").is_some() {
            answer.gcs.push(line);
        } else if line.get("file").is_some() {
            answer.totals = line;
        }
    }
    answer.totals.uint("/events").context("gcstats gave no totals")?;
    Ok(answer)
}
