//! What each level shows, and what it leaves unchanged.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Heap, Suite};
use crate::it::support::{Document, GcFacts, Gcwatch, Json, brief, check_counts, stopped_ns};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("levels::basic", &[], |clr| level(clr, "basic"));
    suite.each("levels::moves", &[], |clr| level(clr, "moves"));
}

fn level(clr: &Clr, level: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("run.nettrace"));
    let ended = Gcwatch::on(clr)
        .envs(Heap::Workstation.environment())
        .args(&format!("run --format json --level {level}"))
        .option("--record", &recording)
        .option("-o", &path)
        .app(clr, "churn", "work=600000 live=40000")?
        .output()?
        .expect(0)?;
    let document = Document::read(&path)?;
    document.nothing_lost()?;
    check_counts(&document, GcFacts::of(ended.out()?)?)?;
    let watch = &document.0["watch"];
    let background_gc = if level == "basic" { "untouched" } else { "walked" };
    ensure!(
        watch["level"] == level && watch["level_reason"].is_null() && watch["arming"].is_null(),
        "{watch}"
    );
    ensure!(watch["background_gc"] == background_gc, "{watch}");
    check_stops(&document, &recording)?;
    let complete = document.complete()?;
    for gc in &complete {
        check(gc, level).with_context(|| format!("GC {}: {}", gc["number"], brief(gc)))?;
    }
    let background: Vec<_> = complete.iter().filter(|gc| gc["kind"] == "background").collect();
    ensure!(!background.is_empty(), "no background collection in {}", complete.len());
    for gc in background {
        ensure!(gc["generation"] == 2, "a background collection of generation {}", gc["generation"]);
        let mut walks = 0;
        for pause in gc.list("/pauses")? {
            ensure!((pause["phase"] == "survivor_walk") == (pause["caused_by_watching"] == true), "{pause}");
            walks += u64::from(pause["phase"] == "survivor_walk");
        }
        let walked = gc.list("/pauses")?.iter().filter(|pause| pause["caused_by_watching"] == true);
        let walked = walked.map(|pause| pause.uint("/ns")).sum::<Result<u64>>()?;
        ensure!(gc["caused_by_watching_ns"] == walked, "stopped by gcwatch for {walked} ns: {}", brief(gc));
        ensure!(gc.uint("/pause_ns")? + walked == all_pauses(gc)?, "pause: {}", brief(gc));
        // The runtime walks the survivors only for sessions that ask for ranges.
        ensure!(walks == u64::from(level == "moves"), "{walks} walks: {}", brief(gc));
        ensure!(gc["pauses"][0]["phase"] == "initial", "pauses: {}", brief(gc));
        ensure!(level == "basic" || gc.uint("/surviving/blocks")? > 0, "nothing survived: {}", brief(gc));
    }
    Ok(())
}

fn all_pauses(gc: &Value) -> Result<u64> {
    gc.list("/pauses")?.iter().map(|pause| pause.uint("/ns")).sum()
}

/// All the time that the program was stopped is in a pause of a collection or in the other suspensions, and none of it
/// twice.
fn check_stops(document: &Document, recording: &Path) -> Result<()> {
    let mut paused = document.0.uint("/summary/other_suspensions/ns")?;
    for gc in document.gcs()? {
        for pause in gc.list("/pauses")? {
            paused += pause.uint("/ns")?;
        }
    }
    let stopped = stopped_ns(recording)?;
    ensure!(paused == stopped, "{paused} ns in pauses, the program was stopped for {stopped} ns");
    Ok(())
}

fn check(gc: &Value, level: &str) -> Result<()> {
    ensure!(gc["level"] == level, "level {}", gc["level"]);
    ensure!(gc["moved"].is_object() == (level == "moves"), "moved: {}", gc["moved"]);
    ensure!(gc["surviving"].is_object() == (level == "moves"), "surviving: {}", gc["surviving"]);
    // The runtime says what each kind of root promoted, but not how many roots there are.
    ensure!(gc["roots"].is_null() || gc["roots"]["total"].is_null(), "roots: {}", gc["roots"]);
    ensure!(gc["cost"].is_null(), "cost: {}", gc["cost"]);
    ensure!(gc.uint("/pause_ns")? > 0 && gc.uint("/heap_after_bytes")? > 0, "no figures");
    Ok(())
}
