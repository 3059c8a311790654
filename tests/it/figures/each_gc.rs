//! Each collection has one record, complete and with the right kind, while background and foreground collections
//! overlap: compared with the program, another session of the runtime, and a second reading of the recording.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use xtask::Clr;

use crate::it::figures::trace_event;
use crate::it::recording::record::replay;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    Account, Clock, Document, GCSTATS, GcFacts, Gcwatch, Json, Told, account, agree, all_stops_once, brief,
    check_counts, fact, interleaved, number, own_environment, same_starts,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("each_gc::background_at_moves", &[], |clr, heap| background(clr, heap, "moves"));
    let peer = [Need::Peer(GCSTATS)];
    suite.each_heap("each_gc::as_trace_event_says", &peer, as_trace_event_says);
    suite.each_heap("each_gc::cut_off_anywhere", &[], cut_off_anywhere);
    suite.each("each_gc::background_at_basic", &[], |clr| background(clr, Heap::Workstation, "basic"));
}

/// One run, with three sources that describe it.
pub(crate) struct Seen {
    pub(crate) document: Document,
    /// The recording of gcwatch's session.
    pub(crate) recording: PathBuf,
    /// The file of the session that the runtime's environment variables opened.
    pub(crate) own: PathBuf,
    pub(crate) said: String,
    _dir: TempDir,
}

/// Runs a program under gcwatch, with both recordings.
pub(crate) fn watch(
    clr: &Clr,
    heap: Heap,
    more: &[(&str, &str)],
    level: &str,
    app: &str,
    arguments: &str,
) -> Result<Seen> {
    let dir = tempfile::tempdir()?;
    let file = |name: &str| dir.path().join(name);
    let (path, recording, own) = (file("out.json"), file("run.nettrace"), file("own.nettrace"));
    let ended = Gcwatch::on(clr)
        .envs(heap.environment())
        .envs(own_environment(&own.to_string_lossy()))
        .envs(more.iter().copied())
        .args(&format!("run --format json --strict --level {level}"))
        .option("--record", &recording)
        .option("-o", &path)
        .app(clr, app, arguments)?
        .output()?
        .expect(0)?;
    let document = Document::read(&path)?;
    document.nothing_lost()?;
    Ok(Seen { document, recording, own, said: ended.out()?.to_owned(), _dir: dir })
}

fn background(clr: &Clr, heap: Heap, level: &str) -> Result<()> {
    let seen = watch(clr, heap, &[], level, "background", "rounds=4")?;
    let document = &seen.document;
    check_counts(document, GcFacts::of(&seen.said)?)?;
    let recording = account(&seen.recording)?;
    agree(document, &recording, Clock::Same, level == "moves").context("gcwatch's recording")?;
    same_starts(document, &recording)?;
    all_stops_once(document, &recording)?;
    let own = account(&seen.own)?;
    agree(document, &own, Clock::Another, level == "moves").context("the runtime's own file")?;
    interleaved(&seen.recording, &seen.own)?;
    as_the_program(document, &own, &seen.said)?;
    let of = |kind: &str| document.complete().map(|all| all.iter().filter(|gc| gc["kind"] == kind).count());
    let (background, foreground) = (of("background")?, of("foreground")?);
    ensure!(
        background >= 1 && foreground >= 1,
        "{background} background, {foreground} foreground collections"
    );
    Ok(())
}

/// Wherever a recording is cut: a collection that is complete in it is unchanged, one that is cut off is marked and
/// counted nowhere, and there are no others.
fn cut_off_anywhere(clr: &Clr, heap: Heap) -> Result<()> {
    let seen = watch(clr, heap, &[], "moves", "background", "rounds=2")?;
    let bytes = std::fs::read(&seen.recording)?;
    let cut = seen.recording.with_extension("cut.nettrace");
    let (mut whole, mut cut_off) = (0, 0);
    for part in 1..8 {
        let length = bytes.len() * part / 8;
        std::fs::write(&cut, &bytes[..length])?;
        let document = replay(&cut, "")?;
        let summary = &document.0["summary"];
        let incomplete = document.gcs()?.len() - document.complete()?.len();
        ensure!(
            summary["gcs"] == document.complete()?.len() && summary["incomplete"] == incomplete,
            "{summary}"
        );
        for gc in document.gcs()? {
            let full = seen.document.gc(gc.uint("/number")?)?;
            if gc["complete"] == true {
                ensure!(gc == full, "cut at {length}: {}\nin full: {}", brief(gc), brief(full));
                whole += 1;
            } else {
                ensure!(gc["incomplete"] == "ended-after", "cut at {length}: {}", brief(gc));
                ensure!(gc["pause_ns"].is_null() && gc["at_ns"].is_null(), "cut at {length}: {}", brief(gc));
                for known in ["generation", "kind", "reason"] {
                    ensure!(gc[known].is_null() || gc[known] == full[known], "{known}: {}", brief(gc));
                }
                cut_off += 1;
            }
        }
    }
    ensure!(whole > 0 && cut_off > 0, "{whole} complete, {cut_off} cut off");
    Ok(())
}

/// TraceEvent agrees field by field on a file of the same run: gcwatch's own, or that of the runtime's other session.
fn as_trace_event_says(clr: &Clr, heap: Heap) -> Result<()> {
    let seen = watch(clr, heap, &[], "moves", "background", "rounds=2")?;
    let file = if heap.server() { &seen.recording } else { &seen.own };
    let (all, background) = trace_event::agrees(&seen.document, &account(file)?, file)?;
    ensure!(all > background, "every collection shares its stops with others");
    Ok(())
}

/// What the program read of its collections while it ran.
fn as_the_program(document: &Document, own: &Account, said: &str) -> Result<()> {
    let mut closest = u64::MAX;
    for line in said.lines().filter(|line| line.starts_with("info ")) {
        let index = number(line, "index")?;
        let gc = document.gc(index)?;
        let told = own.gcs.get(&index).with_context(|| format!("GC {index}"))?;
        let differs = || format!("{line}: {}", brief(gc));
        ensure!(gc.uint("/generation")? == number(line, "generation")?, "{}", differs());
        let background = fact(line, "concurrent")? == "True";
        ensure!(background == (gc["kind"] == "background"), "{}", differs());
        let compacted = fact(line, "compacted")? == "True";
        ensure!(gc["generations"][0]["compacted"] == compacted, "{}", differs());
        if !told.shares {
            let pauses = fact(line, "pauses_ns")?.split(',').map(str::parse::<u64>);
            let pauses: u64 = pauses.collect::<Result<Vec<_>, _>>()?.iter().sum();
            let PauseBounds { least, most, stopped } = pause_bounds(told, own)?;
            // For a background collection the runtime counts the first stop from its beginning or from later on.
            let known = background || (least..=most).contains(&pauses);
            ensure!(known, "{least} to {most} ns by the events: {}", differs());
            closest = closest.min(pauses.abs_diff(stopped));
            ensure!(background || gc["caused_by_watching_ns"] == 0, "{}", differs());
        }
    }
    ensure!(closest < u64::MAX, "the program caught no collection");
    ensure!(closest < 500_000, "all of the program's pauses differ by {closest} ns or more");
    Ok(())
}

/// By the runtime's own count, a pause begins just before SuspendEEBegin, and ends with the work, before RestartEEBegin. The
/// thread may be preempted between two clock readings, so these bounds are all that is certain for a single pause: it begins
/// after the previous blocking collection, while a background collection or another reason may still stop the threads
/// in between. The count leaves out the survivor walk.
fn pause_bounds(told: &Told, own: &Account) -> Result<PauseBounds> {
    /// The runtime counts in microseconds, so its values are rounded.
    const ROUNDED_NS: u64 = 2_000;
    let mut bounds = PauseBounds { least: 0, most: 0, stopped: 0 };
    let blocks = |begin: u64| {
        let mut blocking = own.gcs.values().filter(|gc| gc.kind != "background");
        blocking.any(|gc| gc.pauses.iter().any(|pause| pause.at == begin))
    };
    for pause in told.pauses.iter().filter(|pause| pause.phase != "survivor_walk") {
        let stop = own.stops.iter().find(|stop| stop.begin == pause.at).context("no stop")?;
        let before = own
            .stops
            .iter()
            .filter(|other| other.going_on <= stop.begin && blocks(other.begin))
            .map(|other| other.going_on)
            .max();
        bounds.least += (stop.stopped - stop.begin).saturating_sub(ROUNDED_NS);
        bounds.most += stop.going_on - before.unwrap_or(0) + ROUNDED_NS;
        bounds.stopped += stop.going_on - stop.begin;
    }
    Ok(bounds)
}

/// Bounds on a collection's pause time by the events, in nanoseconds.
struct PauseBounds {
    least: u64,
    most: u64,
    /// From SuspendEEBegin to RestartEEBegin.
    stopped: u64,
}
