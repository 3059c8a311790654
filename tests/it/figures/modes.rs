//! Programs ask for collections and suppress them in every way: gcwatch loses, merges or misnames none, even at a
//! thousand collections per second.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::figures::each_gc::watch;
use crate::it::suite::{Heap, Suite};
use crate::it::support::{
    Clock, DEADLINE, Document, Json, account, agree, all_stops_once, brief, fact, interleaved, number,
    same_starts, start_attach,
};

/// Budgets so small that the next collection follows almost immediately.
const BUDGETS: [(&str, &str); 2] = [("DOTNET_GCgen0size", "10000"), ("DOTNET_GCgen0MaxBudget", "10000")];

/// How many collections the storm has. Server GC allocates more between collections, and is slow on .NET 8.
fn storm(heap: Heap) -> u64 {
    if heap.server() { 60 } else { 400 }
}

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("modes::run_at_roots", &[], |clr, heap| run(clr, heap, "roots"));
    suite.each("modes::run_at_moves", &[], |clr| run(clr, Heap::Workstation, "moves"));
    suite.each("modes::attach_at_roots", &[], |clr| attach(clr, Heap::Workstation, "roots"));
    suite.once("modes::attach_at_moves", &[], |clr| attach(clr, Heap::Server, "moves"));
    suite.once("modes::attach_at_basic", &[], |clr| attach(clr, Heap::Workstation, "basic"));
}

fn run(clr: &Clr, heap: Heap, level: &str) -> Result<()> {
    let seen = watch(clr, heap, &BUDGETS, level, "modes", &format!("storm={}", storm(heap)))?;
    check(&seen.document, heap, level, &seen.said, 1)?;
    let recording = account(&seen.recording)?;
    agree(&seen.document, &recording, Clock::Same, level == "moves").context("gcwatch's recording")?;
    same_starts(&seen.document, &recording)?;
    all_stops_once(&seen.document, &recording)?;
    agree(&seen.document, &account(&seen.own)?, Clock::Another, level != "basic")
        .context("the runtime's own file")?;
    interleaved(&seen.recording, &seen.own)
}

fn attach(clr: &Clr, heap: Heap, level: &str) -> Result<()> {
    let mut variables = heap.environment().to_vec();
    variables.extend(BUDGETS);
    let mut target = Target::app(clr, "modes", &["wait", &format!("storm={}", storm(heap))], &variables)?;
    target.wait_line("ready ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("attach.nettrace"));
    let options = format!("--strict --level {level} --record {}", recording.display());
    let mut gcwatch = start_attach(clr, target.pid(), &options, &path)?;
    target.ask("go", "done ", DEADLINE)?;
    target.send_line("exit")?;
    ensure!(target.wait(DEADLINE)?.success(), "{target:?}");
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    let document = Document::read(&path)?;
    document.nothing_lost()?;
    let said = target.lines().join("\n");
    let first = said.lines().find(|line| line.starts_with("phase ")).context("no phase")?;
    check(&document, heap, level, &said, number(first, "first")? + 1)?;
    let recording = account(&recording)?;
    agree(&document, &recording, Clock::Same, level == "moves")?;
    same_starts(&document, &recording)
}

/// Every number from `seen_from` on has one record, which agrees with what the program did.
fn check(document: &Document, heap: Heap, level: &str, said: &str, seen_from: u64) -> Result<()> {
    let record = |number: u64, phase: &str| -> Result<&Value> {
        let gc = document.gc(number).with_context(|| phase.to_owned())?;
        ensure!(gc["complete"] == true && gc["level"] == level, "{phase}: {}", brief(gc));
        Ok(gc)
    };
    let (mut unused, mut next) = (0, seen_from);
    for phase in said.lines().filter(|line| line.starts_with("phase ")) {
        let name = fact(phase, "name")?;
        let (first, last, index) = (number(phase, "first")?, number(phase, "last")?, number(phase, "index")?);
        // Even printing the line of a phase may cause a collection.
        for number in next..=first {
            named(record(number, phase)?, "", heap).with_context(|| format!("GC {number} before {phase}"))?;
        }
        next = last + 1;
        // A no-GC region for which there is room increases the count and takes a number, but no collection is made.
        if name.ends_with("-start") && last == first + 1 && index != last {
            ensure!(fact(phase, "started")? == "True", "{phase}");
            ensure!(document.gc(last).is_err(), "a record of a collection that was never made: {phase}");
            unused += 1;
            continue;
        }
        for number in first + 1..=last {
            let gc = record(number, phase)?;
            named(gc, name, heap).with_context(|| format!("{phase}: {} {}", gc["reason"], brief(gc)))?;
        }
        if index >= seen_from {
            let gc = record(index, phase)?;
            ensure!(gc.uint("/generation")? == number(phase, "generation")?, "{phase}: {}", brief(gc));
            let compacted = fact(phase, "compacted")? == "True";
            ensure!(gc["generations"][0]["compacted"] == compacted, "{phase}: {}", brief(gc));
        }
        ensure!(name != "storm" || last - first >= storm(heap), "no storm: {phase}");
        ensure!(name != "no-gc-kept" || last == first, "a collection in a no-GC region: {phase}");
    }
    let counted = number(said, "gc0")? + 1 - seen_from;
    let (gcs, summary) = (document.gcs()?.len() as u64, &document.0["summary"]);
    // More collections may have come after the program counted.
    ensure!(
        gcs + unused >= counted,
        "{gcs} records, {unused} numbers without one, the program counted {counted}"
    );
    ensure!(gcs + unused <= counted + 5, "{gcs} records, {unused} numbers without one, of {counted}");
    ensure!(summary["gcs"] == gcs && summary["incomplete"] == 0, "{summary}");
    ensure!(summary["numbers_without_record"] == unused, "{unused} numbers without a record: {summary}");
    Ok(())
}

/// Reason, generation and compaction match what the program asked for.
fn named(gc: &Value, phase: &str, heap: Heap) -> Result<()> {
    let Some(asked) = phase.strip_prefix("induced-") else {
        ensure!(gc["induced"] == false, "the program did not ask for it");
        // Workstation GC suppresses generation 2 completely.
        let low = phase == "lowlatency" && !heap.server();
        ensure!(!low || gc.uint("/generation")? < 2, "generation 2");
        return Ok(());
    };
    let (reason, generation) = match asked {
        "forced-0" => ("induced", 0),
        "forced-1" => ("induced", 1),
        "forced-2" | "sweeping" => ("induced", 2),
        "compacting" | "large" => ("induced_compacting", 2),
        "aggressive" => ("induced_aggressive", 2),
        _ => ("induced_noforce", 0),
    };
    ensure!(gc["reason"] == reason && gc["induced"] == true, "not {reason}");
    ensure!(gc["kind"] == "blocking" && gc.uint("/generation")? >= generation, "generation");
    let compacts = ["compacting", "large", "aggressive"].contains(&asked);
    ensure!(!compacts || gc["generations"][2]["compacted"] == true, "not compacted");
    let large = &gc["generations"][3];
    ensure!(asked != "large" || large["compacted"] == true, "large objects not compacted: {large}");
    Ok(())
}
