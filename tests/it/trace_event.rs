//! Recordings read by Microsoft's TraceEvent: it opens them, and finds the same collections.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use super::attach::check_records;
use super::record::{record_attach, record_run};
use super::suite::{Heap, Need, Suite};
use super::support::{Document, GCSTATS, Json, brief, gcstats};

pub(crate) fn register(suite: &mut Suite) {
    let needs = [Need::Peer(GCSTATS)];
    suite.each_heap("trace_event::agrees_on_run_moves", &needs, |clr, heap| run(clr, heap, "moves"));
    suite.each("trace_event::agrees_on_run_roots", &needs, |clr| {
        run(clr, Heap::Workstation, "roots --blocks")
    });
    suite.each("trace_event::agrees_on_attach_moves", &needs, |clr| attach(clr, "moves"));
    suite.each("trace_event::agrees_on_attach_roots", &needs, |clr| attach(clr, "roots"));
}

fn run(clr: &Clr, heap: Heap, level: &str) -> Result<()> {
    let recorded = record_run(clr, heap, level, "work=300000 live=20000")?;
    let answer = gcstats(&recorded.recording)?;
    ensure!(answer.totals["lost"] == 0, "{}", answer.totals);
    // A background collection that runs when the program ends has no end, and for TraceEvent no existence.
    check_records(&recorded.live)?;
    let mut missing = Vec::new();
    for gc in recorded.live.complete()? {
        if !answer.gcs.iter().any(|other| other["number"] == gc["number"]) {
            // It loses a foreground collection whose suspension begins before the end of the one before is written.
            ensure!(gc["kind"] == "foreground", "TraceEvent does not know {}", brief(gc));
            missing.push(&gc["number"]);
        }
    }
    ensure!(missing.len() <= 3, "TraceEvent does not know {missing:?}");
    compare(&recorded.live, &answer.gcs, level == "moves")
}

fn attach(clr: &Clr, level: &str) -> Result<()> {
    let recorded = record_attach(clr, Heap::Workstation, level, 15)?;
    let answer = gcstats(&recorded.recording)?;
    ensure!(answer.totals["lost"] == 0, "{}", answer.totals);
    let complete = recorded.live.complete()?;
    // At either end TraceEvent drops what it saw in part, and sometimes the neighbour.
    ensure!(
        answer.gcs.len() + 2 >= complete.len(),
        "{} GCs, TraceEvent: {}",
        complete.len(),
        answer.gcs.len()
    );
    let theirs = answer.gcs.iter().filter(|gc| complete.iter().any(|own| own["number"] == gc["number"]));
    let theirs: Vec<Value> = theirs.cloned().collect();
    ensure!(theirs.len() + 2 >= complete.len(), "{} of {} GCs are the same", theirs.len(), complete.len());
    compare(&recorded.live, &theirs, level == "moves")
}

fn compare(live: &Document, theirs: &[Value], ranges: bool) -> Result<()> {
    for gc in theirs {
        let number = gc.uint("/number")?;
        let own = live.gc(number)?;
        ensure!(own["complete"] == true, "TraceEvent has all of GC {number}, we do not: {}", brief(own));
        one(own, gc, ranges).with_context(|| format!("GC {number}: {}\nTraceEvent: {gc}", brief(own)))?;
    }
    Ok(())
}

fn one(own: &Value, theirs: &Value, ranges: bool) -> Result<()> {
    ensure!(own["generation"] == theirs["generation"], "generation");
    let kind = match theirs.text("/type")? {
        "NonConcurrentGC" => "blocking",
        "BackgroundGC" => "background",
        "ForegroundGC" => "foreground",
        other => anyhow::bail!("TraceEvent calls it {other}"),
    };
    // One that was announced as background and then ran in its first stop is a blocking one to everybody but
    // TraceEvent, which goes by the announcement.
    let ran_in_stop = own["kind"] == "blocking" && own.uint("/pause_ns")? >= own.uint("/gc_ns")?;
    ensure!(own["kind"] == kind || kind == "background" && ran_in_stop, "kind");
    // It keeps times as milliseconds in floating point.
    let near = |own: u64, theirs_ms: &Value| {
        theirs_ms.as_f64().is_some_and(|ms| (own as f64 - ms * 1e6).abs() <= 1_000.0)
    };
    // It gives a foreground collection's stop to the background one, and the other way round, where they meet: pauses
    // as a whole are compared in `levels`.
    ensure!(kind != "blocking" || near(own.uint("/pause_ns")?, &theirs["pause_ms"]), "pause");
    let bytes = |own: u64, theirs_mb: &Value| {
        theirs_mb.as_f64().is_some_and(|mb| (own as f64 - mb * 1e6).abs() < 1.0)
    };
    // The heap histories of a background collection come after its end with server GC, and beside a foreground one's:
    // TraceEvent then has none for it, or the other's. So it is with the statistics, where both end at the same time.
    let background = kind == "background";
    let before = own["heap_before_bytes"].as_u64().is_some_and(|own| bytes(own, &theirs["before_mb"]));
    ensure!(before || background, "heap before");
    let after = bytes(own.uint("/heap_after_bytes")?, &theirs["after_mb"])
        && bytes(own.uint("/promoted_bytes")?, &theirs["promoted_mb"])
        && own["pinned_objects"] == theirs["pinned"]
        && own["handles"] == theirs["handles"];
    ensure!(after || background, "heap after, promoted, pinned objects or handles");
    if ranges {
        let moved = &own["moved"];
        let blocks = moved.uint("/blocks")? + moved.uint("/stayed_blocks")?;
        let bytes = moved.uint("/bytes")? + moved.uint("/stayed_bytes")?;
        ensure!(blocks == theirs.uint("/moved_blocks")? && bytes == theirs.uint("/moved_bytes")?, "moved");
        let surviving = &own["surviving"];
        ensure!(surviving["blocks"] == theirs["surviving_blocks"], "surviving blocks");
        ensure!(surviving["bytes"] == theirs["surviving_bytes"], "surviving bytes");
    }
    Ok(())
}
