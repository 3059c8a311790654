//! `gcwatch run --format json`: every collection from the first on, with all its figures.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{Document, GcFacts, Gcwatch, Json, brief, check_counts, number};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("run_document::document_of_bench", &[], |clr, heap| document(clr, heap, &BENCH));
    suite.each_heap("run_document::document_of_churn", &[], |clr, heap| document(clr, heap, &CHURN));
    suite.once("run_document::target_is_described", &[Need::Proc], target_is_described);
}

struct Program {
    app: &'static str,
    arguments: &'static str,
    exit: i32,
}

const BENCH: Program = Program { app: "bench", arguments: "old=20000 iterations=3000000", exit: 0 };
const CHURN: Program =
    Program { app: "churn", arguments: "work=150000 live=10000 threads=2 exit=7", exit: 7 };

fn document(clr: &Clr, heap: Heap, program: &Program) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let ended = Gcwatch::on(clr)
        .envs(heap.environment())
        .args("run --format json -o")
        .arg(&path)
        .app(clr, program.app, program.arguments)?
        .output()?
        .expect(program.exit)?;

    let said = ended.out()?;
    let lines: Vec<&str> = said.lines().collect();
    ensure!(
        matches!(lines[..], [first, last] if first.starts_with("ready pid=") && last.starts_with("done ")),
        "not just the program's two lines on stdout:\n{said}"
    );
    let document = Document::read(&path)?;
    ensure!(document.0["target"]["pid"] == number(said, "pid")?, "{}", document.0["target"]);
    check_counts(&document, GcFacts::of(said)?)?;
    document.nothing_lost()?;
    check_watch(&document, clr, heap, program.exit)?;
    let mut moved = 0;
    for gc in document.gcs()? {
        check_gc(gc).with_context(|| format!("GC {}: {}", gc["number"], brief(gc)))?;
        moved += gc.uint("/moved/blocks")?;
    }
    ensure!(moved > 0, "no collection moved anything");
    check_order(&document)?;
    check_summary(&document)
}

fn check_watch(document: &Document, clr: &Clr, heap: Heap, exit: i32) -> Result<()> {
    let watch = &document.0["watch"];
    ensure!(watch["level"] == "roots" && watch["level_reason"].is_null(), "{watch}");
    ensure!(watch["arming"] == "late", "{watch}");
    ensure!(watch["background_gc"] == "off-until-exit", "{watch}");
    ensure!(watch.uint("/duration_ns")? > 0, "{watch}");
    let end = &document.0["exit"];
    ensure!(end["gcwatch"] == exit && end["child"] == exit && end["reason"] == "target-ended", "{end}");
    let target = &document.0["target"];
    ensure!(target["runtime"]["version"] == clr.version.to_string(), "{target} on {}", clr.name);
    let server = &target["gc"]["server"];
    ensure!(server.is_null() || *server == heap.server(), "server GC is {}: {target}", heap.server());
    Ok(())
}

/// A blocking collection at `roots` has all its figures, and they agree with each other.
fn check_gc(gc: &Value) -> Result<()> {
    ensure!(gc["complete"] == true && gc["incomplete"].is_null(), "not complete");
    ensure!(gc["level"] == "roots" && gc["kind"] == "blocking", "level {}, kind {}", gc["level"], gc["kind"]);
    ensure!(gc["cost"]["armed"] == true, "not armed: {}", gc["cost"]);
    ensure!(gc.text("/reason")? != "unknown", "unknown reason");

    let roots = &gc["roots"];
    let total = roots.uint("/total")?;
    ensure!(total > 0 && roots.uint("/by_kind/handle")? > 0, "no roots: {roots}");
    let mut by_flags = 0;
    for row in roots.list("/by_kind_and_flag")? {
        by_flags += row.uint("/count")?;
    }
    let mut by_kind = 0;
    for kind in ["stack", "handle", "finalizer", "other"] {
        by_kind += roots["by_kind"].uint(&format!("/{kind}"))?;
    }
    ensure!(
        by_flags == total && by_kind == total,
        "{by_flags} by flags, {by_kind} by kind, {total} in all: {roots}"
    );
    ensure!(roots.uint("/holding")? + roots.uint("/weak")? == total, "holding and weak: {roots}");
    ensure!(roots["by_flag"]["weak"] == roots["weak"], "weak: {roots}");

    check_blocks(&gc["moved"]).context("moved")?;
    check_blocks(&gc["surviving"]).context("surviving")?;
    let (mut moved, mut surviving) = (0, 0);
    for generation in gc.list("/generations")? {
        moved += generation.uint("/moved_blocks")?;
        surviving += generation.uint("/surviving_blocks")?;
    }
    ensure!(moved == gc.uint("/moved/blocks")?, "{moved} moved blocks by generation");
    ensure!(surviving == gc.uint("/surviving/blocks")?, "{surviving} surviving blocks by generation");

    let mut paused = 0;
    for pause in gc.list("/pauses")? {
        paused += pause.uint("/ns")?;
    }
    ensure!(paused > 0 && paused == gc.uint("/pause_ns")?, "pauses add up to {paused}");
    let ran = gc.uint("/gc_ns")?;
    ensure!(0 < ran && ran <= paused, "it ran {ran} ns and paused {paused} ns");
    ensure!(gc.uint("/heap_before_bytes")? > 0 && gc.uint("/heap_after_bytes")? > 0, "no sizes");
    Ok(())
}

fn check_blocks(blocks: &Value) -> Result<()> {
    let (mut counted, mut bytes) = (0, 0);
    for row in blocks.list("/histogram")? {
        counted += row.uint("/blocks")?;
        bytes += row.uint("/bytes")?;
    }
    ensure!(counted == blocks.uint("/blocks")? && bytes == blocks.uint("/bytes")?, "histogram: {blocks}");
    ensure!(blocks["bytes_at_least"] == false, "{blocks}");
    if counted > 0 {
        let (min, max) = (blocks.uint("/block_bytes/min")?, blocks.uint("/block_bytes/max")?);
        ensure!(min >= 24, "no object is smaller than 24 bytes: {blocks}");
        ensure!(min <= max && max <= bytes && min * counted <= bytes, "{blocks}");
    }
    Ok(())
}

/// Pauses are in order and do not overlap.
fn check_order(document: &Document) -> Result<()> {
    let mut end = 0;
    for gc in document.gcs()? {
        ensure!(gc["at_ns"] == gc["pauses"][0]["at_ns"], "at_ns: {}", brief(gc));
        for pause in gc.list("/pauses")? {
            let at = pause.uint("/at_ns")?;
            ensure!(at >= end, "a pause at {at} before the end of another at {end}: {}", brief(gc));
            end = at + pause.uint("/ns")?;
        }
    }
    ensure!(end <= document.0.uint("/watch/duration_ns")?, "a pause ends after the watch: {end}");
    Ok(())
}

fn check_summary(document: &Document) -> Result<()> {
    let gcs = document.gcs()?;
    let summary = &document.0["summary"];
    ensure!(summary.uint("/gcs")? == gcs.len() as u64 && summary["incomplete"] == 0, "{summary}");
    let mut counted = 0;
    for group in summary.list("/by_generation_and_kind")? {
        let of = |gc: &&Value| gc["generation"] == group["generation"] && gc["kind"] == group["kind"];
        let mut pauses = Vec::new();
        for gc in gcs.iter().filter(of) {
            pauses.push(gc.uint("/pause_ns")?);
        }
        pauses.sort_unstable();
        ensure!(group.uint("/count")? == pauses.len() as u64, "{group}");
        ensure!(group.uint("/pause_ns/total")? == pauses.iter().sum::<u64>(), "{group}");
        ensure!(Some(&group.uint("/pause_ns/max")?) == pauses.last(), "{group}");
        let median = pauses.get(pauses.len().div_ceil(2) - 1);
        ensure!(Some(&group.uint("/pause_ns/p50")?) == median, "{group}: the median is {median:?}");
        counted += pauses.len();
    }
    ensure!(counted == gcs.len(), "{counted} of {} in groups: {summary}", gcs.len());
    for part in ["moved", "surviving"] {
        let (mut blocks, mut bytes) = (0, 0);
        for gc in gcs {
            blocks += gc[part].uint("/blocks")?;
            bytes += gc[part].uint("/bytes")?;
        }
        let sum = &summary[part];
        ensure!(
            sum.uint("/blocks")? == blocks && sum.uint("/bytes")? == bytes,
            "{part}: {sum}, not {blocks}, {bytes}"
        );
    }
    ensure!(
        summary["roots"]["gcs"] == summary["gcs"] && summary["cost"]["armed_gcs"] == summary["gcs"],
        "{summary}"
    );
    let mut largest = 0;
    for gc in gcs {
        largest = largest.max(gc.uint("/heap_after_bytes")?);
    }
    ensure!(summary.uint("/heap_after_bytes/max")? == largest, "heap: {summary}");
    Ok(())
}

fn target_is_described(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    Gcwatch::on(clr)
        .args("run --format json -o")
        .arg(&path)
        .app(clr, "exits", "return gcs=3")?
        .output()?
        .expect(0)?;
    let document = Document::read(&path)?;
    let target = &document.0["target"];
    let arguments = target.list("/args")?;
    ensure!(arguments.last().is_some_and(|last| last == "gcs=3"), "{target}");
    ensure!(target.text("/command_line")?.contains("exits"), "{target}");
    let executable = std::fs::canonicalize(target.text("/executable")?)?;
    ensure!(executable == std::fs::canonicalize(clr.dotnet())?, "{target}");
    ensure!(target["runtime"]["arch"].is_string() && target["runtime"]["os"].is_string(), "{target}");
    ensure!(document.gcs()?.iter().all(|gc| gc["induced"] == true), "not all are induced");
    Ok(())
}
