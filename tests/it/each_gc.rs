//! Each collection once, whole and rightly named, where background and foreground ones run through each other: against
//! the program, another session of the runtime, and a second reading of the recording.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use xtask::Clr;

use super::record::replay;
use super::suite::{Heap, Need, Suite};
use super::support::{
    Account, Clock, Document, GCSTATS, GcFacts, Gcwatch, Json, account, agree, all_stops_once, brief,
    check_counts, fact, number, own_environment, same_starts,
};
use super::trace_event;

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("each_gc::background_at_moves", &[], |clr, heap| background(clr, heap, "moves"));
    let peer = [Need::Peer(GCSTATS)];
    suite.each_heap("each_gc::as_trace_event_says", &peer, as_trace_event_says);
    suite.each_heap("each_gc::cut_off_anywhere", &[], cut_off_anywhere);
    suite.each("each_gc::background_at_basic", &[], |clr| background(clr, Heap::Workstation, "basic"));
}

/// One run, three accounts of it.
pub(crate) struct Seen {
    pub(crate) document: Document,
    /// gcwatch's own session.
    pub(crate) recording: PathBuf,
    /// The session that the runtime's environment asked for.
    pub(crate) own: PathBuf,
    pub(crate) said: String,
    _dir: TempDir,
}

/// Runs a program, watched and recorded twice.
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
        .args("run --format json --strict --level")
        .arg(level)
        .arg("--record")
        .arg(&recording)
        .arg("-o")
        .arg(&path)
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
    as_told(document, &own, &seen.said)?;
    let of = |kind: &str| document.complete().map(|all| all.iter().filter(|gc| gc["kind"] == kind).count());
    let (background, foreground) = (of("background")?, of("foreground")?);
    ensure!(
        background >= 1 && foreground >= 1,
        "{background} background, {foreground} foreground collections"
    );
    Ok(())
}

/// However early a recording ends: what is whole in it is what it was, what is cut off says so and counts nowhere, and
/// no other collection is there.
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
    ensure!(whole > 0 && cut_off > 0, "{whole} whole ones in all, {cut_off} cut off");
    Ok(())
}

/// TraceEvent on a file of the same run, field by field: gcwatch's own, or that of the runtime's other session.
fn as_trace_event_says(clr: &Clr, heap: Heap) -> Result<()> {
    let seen = watch(clr, heap, &[], "moves", "background", "rounds=2")?;
    let file = if heap.server() { &seen.recording } else { &seen.own };
    let (all, background) = trace_event::agrees(&seen.document, &account(file)?, file)?;
    ensure!(all > background, "every collection shares its stops with others");
    Ok(())
}

/// What the program read of its collections while they happened.
fn as_told(document: &Document, own: &Account, said: &str) -> Result<()> {
    let mut off_by = Vec::new();
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
        if !background && !told.shares {
            // It counts from the beginning of the suspension to that of the restart.
            let stop =
                own.stops.iter().find(|stop| stop.stopped <= told.started && told.started <= stop.going_on);
            let stop = stop.context("no stop")?;
            let pause: u64 = fact(line, "pauses_ns")?.split(',').next().context("a pause")?.parse()?;
            off_by.push(pause.abs_diff(stop.going_on - stop.begin));
        }
    }
    // A thread may lose its processor between the two looks at the clock, and on a busy machine often does: of a few
    // pauses that says nothing.
    off_by.sort_unstable();
    ensure!(!off_by.is_empty(), "the program caught no collection");
    let quarter = off_by[off_by.len() / 4];
    ensure!(
        quarter < 500_000 || off_by.len() < 10,
        "three quarters of the program's {} pauses differ by {quarter} ns",
        off_by.len()
    );
    Ok(())
}
