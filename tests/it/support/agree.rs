//! Compares a document with an [`Account`] of the same run.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Account, Document, Json, Told, brief};

/// `Reason` of GCStart, by code.
const REASONS: [&str; 18] = [
    "alloc_soh",
    "induced",
    "low_memory",
    "empty",
    "alloc_loh",
    "out_of_space_soh",
    "out_of_space_loh",
    "induced_noforce",
    "gc_stress",
    "low_memory_blocking",
    "induced_compacting",
    "low_memory_host",
    "pm_full_gc",
    "low_memory_host_blocking",
    "bgc_tuning_soh",
    "bgc_tuning_loh",
    "bgc_stepping",
    "induced_aggressive",
];

/// Which session the times are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The same session: times are equal to the nanosecond.
    Same,
    /// Another session of the same runtime, which read the clock a moment earlier or later;
    /// [`interleaved`](super::interleaved) checks the order of the times of two sessions.
    Another,
}

/// Every collection that is complete in one of the two is complete in the other, and all common fields are equal.
pub(crate) fn agree(document: &Document, account: &Account, clock: Clock, ranges: bool) -> Result<()> {
    ensure!(account.lost == 0, "the recording lost {} events: the test needs a smaller load", account.lost);
    for (number, told) in account.gcs.iter().filter(|(_, told)| told.whole()) {
        let gc = document.gc(*number)?;
        ensure!(gc["complete"] == true, "GC {number} is whole in the recording: {}", brief(gc));
        one(gc, told, ranges).with_context(|| format!("GC {number}: {}\n{told:?}", brief(gc)))?;
        let pauses = times(gc, told).with_context(|| format!("GC {number}: {}\n{told:?}", brief(gc)))?;
        ensure!(
            clock == Clock::Another || pauses.iter().all(|off| *off == 0),
            "times of GC {number}: {}\n{told:?}",
            brief(gc)
        );
    }
    for gc in document.complete()? {
        let number = gc.uint("/number")?;
        let told = account.gcs.get(&number).with_context(|| format!("no GC {number} in the recording"))?;
        ensure!(told.whole(), "not whole in the recording: {}\n{told:?}", brief(gc));
    }
    ensure!(!document.complete()?.is_empty(), "no collection");
    Ok(())
}

fn one(gc: &Value, told: &Told, ranges: bool) -> Result<()> {
    let same = |pointer: &str, value: Value| -> Result<()> {
        let own = gc.place(pointer)?;
        ensure!(*own == value, "{pointer} is {own}, in the recording {value}");
        Ok(())
    };
    same("/generation", json!(told.generation))?;
    same("/kind", json!(told.kind))?;
    same("/reason", json!(REASONS.get(told.reason as usize).context("unknown reason")?))?;
    same("/induced", json!([1, 7, 10, 17].contains(&told.reason)))?;
    let (heaps, mechanisms) = told.global.context("incomplete")?;
    same("/heap_count", json!(heaps))?;
    let background = told.kind == "background";
    // A background collection of server GC may have sent its histories too early (see the tests `heaps`).
    if !(background && heaps > 1 && gc["heap_before_bytes"].is_null()) {
        same("/heap_before_bytes", json!(told.before.1))?;
    }
    let [after, promoted, _, finalization, pinned, handles] = told.stats.context("incomplete")?;
    same("/heap_after_bytes", json!(after))?;
    same("/promoted_bytes", json!(promoted))?;
    // GCHeapStats is wrong about these bytes (see `generations`); a background collection has no other source for them.
    ensure!(background == gc["finalization"]["bytes"].is_null(), "finalization: {}", gc["finalization"]);
    same("/finalization/objects", json!(finalization))?;
    same("/pinned_objects", json!(pinned))?;
    same("/handles", json!(handles))?;
    for generation in 0..=told.generation {
        same(&format!("/generations/{generation}/compacted"), json!(mechanisms & 2 != 0))?;
    }
    let phases: Vec<&str> = told.pauses.iter().map(|pause| pause.phase).collect();
    let own = gc.list("/pauses")?.iter().map(|pause| pause.text("/phase")).collect::<Result<Vec<_>>>()?;
    ensure!(own == phases, "pauses {own:?}, in the recording {phases:?}");
    if ranges {
        same("/moved/blocks", json!(told.moved.0))?;
        same("/moved/bytes", json!(told.moved.1))?;
        same("/moved/stayed_blocks", json!(told.stayed.0))?;
        same("/moved/stayed_bytes", json!(told.stayed.1))?;
        same("/surviving/blocks", json!(told.surviving.0))?;
        same("/surviving/bytes", json!(told.surviving.1))?;
    }
    Ok(())
}

/// By how much the durations differ. (`same_starts` compares the starts.)
fn times(gc: &Value, told: &Told) -> Result<Vec<u64>> {
    let mut off_by = vec![gc.uint("/gc_ns")?.abs_diff(told.ended.context("incomplete")? - told.started)];
    let (mut sum, mut suspended, mut caused) = (0, 0, 0);
    for (own, pause) in gc.list("/pauses")?.iter().zip(&told.pauses) {
        off_by.push(own.uint("/ns")?.abs_diff(pause.ns));
        match pause.suspend {
            Some(suspend) => off_by.push(own.uint("/suspend_ns")?.abs_diff(suspend)),
            None => ensure!(own["suspend_ns"].is_null(), "{own} is part of another stop"),
        }
        // At `moves` gcwatch causes the stop that walks the survivors; `pause_ns` leaves it out.
        let walk = pause.phase == "survivor_walk" && gc["level"] == "moves";
        ensure!(own["caused_by_watching"] == walk, "{own}: {}", brief(gc));
        if walk {
            caused += own.uint("/ns")?;
        } else {
            sum += own.uint("/ns")?;
            suspended += own["suspend_ns"].as_u64().unwrap_or(0);
        }
    }
    ensure!(gc.uint("/pause_ns")? == sum && gc.uint("/suspend_ns")? == suspended, "sums: {}", brief(gc));
    ensure!(
        gc.uint("/caused_by_watching_ns")? == caused,
        "stopped by gcwatch for {caused} ns: {}",
        brief(gc)
    );
    ensure!(gc["at_ns"] == gc["pauses"][0]["at_ns"], "at_ns: {}", brief(gc));
    Ok(off_by)
}

/// Compares the starts of the pauses; both must use the same clock.
pub(crate) fn same_starts(document: &Document, account: &Account) -> Result<()> {
    for gc in document.complete()? {
        let told = &account.gcs[&gc.uint("/number")?];
        for (own, pause) in gc.list("/pauses")?.iter().zip(&told.pauses) {
            ensure!(own["at_ns"] == pause.at, "{own}, in the recording {pause:?}");
        }
    }
    Ok(())
}

/// All the time that the program was stopped is in exactly one pause, or in the suspensions for other reasons. Call it
/// only for documents in which no collection is cut off.
pub(crate) fn all_stops_once(document: &Document, account: &Account) -> Result<()> {
    let mut pauses = Vec::new();
    for gc in document.gcs()? {
        for pause in gc.list("/pauses")? {
            let at = pause.uint("/at_ns")?;
            pauses.push((at, at + pause.uint("/ns")?));
        }
    }
    pauses.sort_unstable();
    let overlap = pauses.windows(2).find(|pair| pair[0].1 > pair[1].0);
    ensure!(overlap.is_none(), "pauses overlap: {overlap:?}");
    let paused: u64 = pauses.iter().map(|(begin, end)| end - begin).sum();
    let others = &document.0["summary"]["other_suspensions"];
    let stopped: u64 = account.stops.iter().map(|stop| stop.end - stop.begin).sum();
    ensure!(paused + others.uint("/ns")? == stopped, "{paused} ns paused, {others}, stopped for {stopped}");
    ensure!(
        (others.uint("/count")?, others.uint("/ns")?) == account.others,
        "{others}, in the recording {:?}",
        account.others
    );
    Ok(())
}
