//! Lets Microsoft's TraceEvent decode every event of a recording, as a second opinion on each field.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use xtask::testkit::peer;
use xtask::{apps, clr};

use super::run_to_end;

/// The path of TraceEvent's assembly, below the directory of other tools.
pub(crate) const TRACE_EVENT: &str = "gcstats/Microsoft.Diagnostics.Tracing.TraceEvent.dll";

/// One line per event, in TraceEvent's order. `tests/apps/peers/events.cs` says what is in a line.
///
/// It fails if TraceEvent cannot read the recording to its end.
pub(crate) fn peer_events(recording: &Path) -> Result<Vec<String>> {
    let trace_event = peer(TRACE_EVENT)?;
    let program = apps::build_peer("events", std::slice::from_ref(&trace_event))?;
    // The newest runtime that needs no emulator: TraceEvent wants recent versions of the class library's assemblies.
    let natives = clr::find_for("")?;
    let mut command = natives.last().context("no runtime")?.command(&program);
    command.arg(trace_event.parent().context("an assembly in no directory")?).arg(recording);
    let ended = run_to_end(command, Vec::new())?;
    ensure!(ended.code == 0, "TraceEvent cannot read {}: {}", recording.display(), ended.stderr.trim());
    Ok(ended.out()?.lines().map(str::to_owned).collect())
}
