//! Reads recordings with Microsoft's TraceEvent, which must find the same collections.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::lifecycle::attach::check_records;
use crate::it::recording::record::{record_attach, record_run};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{Account, Document, GCSTATS, Json, Pause, Told, account, brief, gcstats};

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
    // TraceEvent does not list a background collection that the program's end cuts off.
    check_records(&recorded.live)?;
    let mut missing = Vec::new();
    for gc in recorded.live.complete()? {
        if !answer.gcs.iter().any(|other| other["number"] == gc["number"]) {
            // TraceEvent loses a foreground collection that suspends before the end of the previous one is written.
            ensure!(gc["kind"] == "foreground", "TraceEvent does not know {}", brief(gc));
            missing.push(&gc["number"]);
        }
    }
    ensure!(missing.len() <= 3, "TraceEvent does not know {missing:?}");
    compare(&recorded.live, &answer.gcs, level == "moves", &recorded.recording)
}

fn attach(clr: &Clr, level: &str) -> Result<()> {
    let recorded = record_attach(clr, Heap::Workstation, level, 15)?;
    let answer = gcstats(&recorded.recording)?;
    ensure!(answer.totals["lost"] == 0, "{}", answer.totals);
    let complete = recorded.live.complete()?;
    // At either end TraceEvent drops the collections that it saw in part, and sometimes the next one.
    ensure!(
        answer.gcs.len() + 2 >= complete.len(),
        "{} GCs, TraceEvent: {}",
        complete.len(),
        answer.gcs.len()
    );
    let theirs = answer.gcs.iter().filter(|gc| complete.iter().any(|own| own["number"] == gc["number"]));
    let theirs: Vec<Value> = theirs.cloned().collect();
    ensure!(theirs.len() + 2 >= complete.len(), "{} of {} GCs are the same", theirs.len(), complete.len());
    compare(&recorded.live, &theirs, level == "moves", &recorded.recording)
}

/// Compares every collection that TraceEvent finds in a file of the same run. Times are compared with `account`, which
/// is of that file, because the runtime's other session read the clock a moment earlier or later. Returns how many
/// collections were compared in all figures, and how many of them are background ones.
pub(crate) fn agrees(live: &Document, account: &Account, file: &Path) -> Result<(usize, usize)> {
    let answer = gcstats(file)?;
    ensure!(answer.totals["lost"] == 0, "{}", answer.totals);
    let (mut all, mut background) = (0, 0);
    for gc in &answer.gcs {
        let number = gc.uint("/number")?;
        let (own, told) = (live.gc(number)?, account.gcs.get(&number).context("only TraceEvent has it")?);
        let context = || format!("GC {number}: {}\n{told:?}\nTraceEvent: {gc}", brief(own));
        named(own, gc).with_context(context)?;
        // Where stops overlap, TraceEvent books parts of one to another; and for a collection that was announced as
        // background and ran blocking, it books only the suspension.
        let announced = gc["type"] == "BackgroundGC" && own["kind"] == "blocking";
        if told.shares || announced {
            continue;
        }
        times(gc, told).with_context(context)?;
        // TraceEvent may give the statistics of a foreground collection to the background one that is running.
        if own["kind"] == "background" {
            background += 1;
        } else {
            sizes(own, gc).with_context(context)?;
        }
        all += 1;
    }
    Ok((all, background))
}

fn times(theirs: &Value, told: &Told) -> Result<()> {
    let near =
        |ns: u64, theirs: &Value| theirs.as_f64().is_some_and(|ms| (ns as f64 - ms * 1e6).abs() <= 1_000.0);
    let sums = |known: &dyn Fn(&Pause) -> bool| {
        let add =
            |(ns, suspend): (u64, u64), pause: &Pause| (ns + pause.ns, suspend + pause.suspend.unwrap_or(0));
        told.pauses.iter().filter(|pause| known(pause)).fold((0, 0), add)
    };
    // TraceEvent does not count the survivor walk if a foreground collection ran shortly before.
    let all = [sums(&|_| true), sums(&|pause| pause.phase != "survivor_walk")];
    let same = |(pause, suspend)| near(pause, &theirs["pause_ms"]) && near(suspend, &theirs["suspend_ms"]);
    ensure!(all.into_iter().any(same), "pause and suspension {all:?}");
    let ran = told.ended.context("no end")? - told.started;
    ensure!(near(ran, &theirs["duration_ms"]), "{ran} from start to end");
    Ok(())
}

fn compare(live: &Document, theirs: &[Value], ranges: bool, recording: &Path) -> Result<()> {
    // Where two stops overlap, TraceEvent loses a stop of the background collection, and gives its ranges to the
    // collection that started last: then the test compares with the recording itself.
    let account = account(recording)?;
    let touching = account.stops.iter().any(|stop| stop.touches);
    // TraceEvent does the same with a background collection that began before the recording.
    let began_before = live.gcs()?.iter().any(|gc| gc["incomplete"] == "began-before");
    for gc in theirs {
        let number = gc.uint("/number")?;
        let own = live.gc(number)?;
        ensure!(own["complete"] == true, "GC {number} is whole for TraceEvent only: {}", brief(own));
        let ranges = ranges.then(|| match account.gcs.get(&number) {
            Some(told) if touching || began_before => Blocks::of_account(told),
            _ => Blocks::of_trace_event(gc),
        });
        let ranges = ranges.transpose().context("no ranges")?;
        one(own, gc, ranges).with_context(|| format!("GC {number}: {}\nTraceEvent: {gc}", brief(own)))?;
    }
    Ok(())
}

/// Blocks and bytes; `moved` includes those that stayed in a moved batch.
#[derive(Debug, PartialEq)]
struct Blocks {
    moved: (u64, u64),
    surviving: (u64, u64),
}

impl Blocks {
    fn of_account(told: &Told) -> Result<Blocks> {
        let moved = (told.moved.0 + told.stayed.0, told.moved.1 + told.stayed.1);
        Ok(Blocks { moved, surviving: told.surviving })
    }

    fn of_trace_event(gc: &Value) -> Result<Blocks> {
        Ok(Blocks {
            moved: (gc.uint("/moved_blocks")?, gc.uint("/moved_bytes")?),
            surviving: (gc.uint("/surviving_blocks")?, gc.uint("/surviving_bytes")?),
        })
    }

    fn own(gc: &Value) -> Result<Blocks> {
        let of = |what: &str| gc.uint(&format!("/moved/{what}"));
        let moved = (of("blocks")? + of("stayed_blocks")?, of("bytes")? + of("stayed_bytes")?);
        Ok(Blocks { moved, surviving: (gc.uint("/surviving/blocks")?, gc.uint("/surviving/bytes")?) })
    }
}

/// Compares generation, reason and kind.
fn named(own: &Value, theirs: &Value) -> Result<()> {
    ensure!(own["generation"] == theirs["generation"], "generation");
    let reason = match theirs.text("/reason")? {
        "AllocSmall" => "alloc_soh",
        "AllocLarge" => "alloc_loh",
        "Induced" => "induced",
        "InducedNotForced" => "induced_noforce",
        "InducedCompacting" => "induced_compacting",
        "InducedAggressive" => "induced_aggressive",
        "OutOfSpaceSOH" => "out_of_space_soh",
        "OutOfSpaceLOH" => "out_of_space_loh",
        other => anyhow::bail!("TraceEvent gives the reason {other}"),
    };
    ensure!(own["reason"] == reason, "reason");
    let kind = match theirs.text("/type")? {
        "NonConcurrentGC" => "blocking",
        "BackgroundGC" => "background",
        "ForegroundGC" => "foreground",
        other => anyhow::bail!("TraceEvent calls it {other}"),
    };
    // A collection that was announced as background and then ran within its first stop is blocking; only TraceEvent
    // goes by the announcement.
    let ran_in_stop = own["kind"] == "blocking" && own.uint("/pause_ns")? >= own.uint("/gc_ns")?;
    ensure!(own["kind"] == kind || kind == "background" && ran_in_stop, "kind");
    Ok(())
}

fn sizes(own: &Value, theirs: &Value) -> Result<()> {
    let bytes = |own: u64, theirs_mb: &Value| {
        theirs_mb.as_f64().is_some_and(|mb| (own as f64 - mb * 1e6).abs() < 1.0)
    };
    // With server GC, the heap histories of a background collection come after its end, and among those of a foreground
    // one: TraceEvent then has none for it, or the other's; likewise the statistics if both end at the same time.
    let background = theirs["type"] == "BackgroundGC";
    let before = own["heap_before_bytes"].as_u64().is_some_and(|own| bytes(own, &theirs["before_mb"]));
    // A foreground collection may then have the histories of both.
    ensure!(before || background || theirs["type"] == "ForegroundGC", "heap before");
    let after = bytes(own.uint("/heap_after_bytes")?, &theirs["after_mb"])
        && bytes(own.uint("/promoted_bytes")?, &theirs["promoted_mb"])
        && own["pinned_objects"] == theirs["pinned"]
        && own["handles"] == theirs["handles"];
    ensure!(after || background, "heap after, promoted, pinned objects or handles");
    Ok(())
}

/// Compares a blocking collection.
pub(crate) fn blocking(own: &Value, theirs: &Value) -> Result<()> {
    one(own, theirs, None).with_context(|| format!("{}\nTraceEvent: {theirs}", brief(own)))
}

fn one(own: &Value, theirs: &Value, ranges: Option<Blocks>) -> Result<()> {
    named(own, theirs)?;
    // TraceEvent keeps times as milliseconds in floating point.
    let near = |own: u64, theirs_ms: &Value| {
        theirs_ms.as_f64().is_some_and(|ms| (own as f64 - ms * 1e6).abs() <= 1_000.0)
    };
    // Where a foreground and a background collection meet, TraceEvent gives a stop of one to the other: `levels`
    // compares the pauses as a whole.
    ensure!(
        theirs["type"] != "NonConcurrentGC" || near(own.uint("/pause_ns")?, &theirs["pause_ms"]),
        "pause"
    );
    sizes(own, theirs)?;
    if let Some(expected) = ranges {
        let blocks = Blocks::own(own)?;
        ensure!(blocks == expected, "{blocks:?} instead of {expected:?}");
    }
    Ok(())
}
