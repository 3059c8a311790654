//! `--graph-at`: a graph while a watch goes on.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use super::taken::{check, program};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{DEADLINE, Document, Gcwatch, HeapGraph};

/// No collection of the program meets this before it keeps so much.
const CONDITION: &str = "heap.after > 40MiB";
const KEEP: &str = "keep 60000000";

pub(crate) fn register(suite: &mut Suite) {
    for (name, test) in [
        ("at::basic_in_attach", (|clr, heap| in_attach(clr, heap, "basic")) as fn(&Clr, Heap) -> Result<()>),
        ("at::roots_in_attach", |clr, heap| in_attach(clr, heap, "roots")),
        ("at::basic_in_run", |clr, heap| in_run(clr, heap, "basic")),
        ("at::roots_in_run", |clr, heap| in_run(clr, heap, "roots")),
    ] {
        suite.each_heap(name, &[Need::Proc], test);
    }
    suite.once("at::moves_in_attach", &[Need::Proc], |clr| in_attach(clr, Heap::Workstation, "moves"));
    suite.once("at::in_windows", &[Need::Proc], in_windows);
    suite.once("at::never_met", &[Need::Proc], |clr| no_graph(clr, "", "no collection met"));
    suite.once("at::program_ends_first", &[Need::Proc], |clr| {
        no_graph(clr, KEEP, "the program ended before the graph was whole")
    });
    suite.once("at::cannot_be_written", &[Need::Proc], cannot_be_written);
    suite.plain("at::usage", usage);
}

/// Makes the program meet the condition, and collects until the graph is there. Returns the lines so far.
fn drive(program: &mut Target, path: &Path) -> Result<()> {
    for _ in 0..3 {
        program.ask("collect 0", "collected ", DEADLINE)?;
    }
    ensure!(!path.exists(), "a graph before the condition was met");
    program.ask(KEEP, "kept", DEADLINE)?;
    program.ask("collect 2", "collected ", DEADLINE)?;
    let began = Instant::now();
    while !path.exists() {
        ensure!(began.elapsed() < DEADLINE, "no graph: {program:?}");
        program.ask("collect 0", "collected ", DEADLINE)?;
        std::thread::sleep(Duration::from_millis(20));
    }
    // The watch goes on.
    for _ in 0..3 {
        program.ask("collect 0", "collected ", DEADLINE)?;
    }
    Ok(())
}

/// Compares the document and the graph with the program.
fn compare(document: &Document, path: &Path, program: &Target, level: &str) -> Result<()> {
    let graph = HeapGraph::read(path)?;
    check(&graph, program)?;
    let watch = &document.0["watch"];
    ensure!(watch["level"] == level, "{watch}");
    let (of_graph, taken) = (&watch["graph"], &watch["graph"]["taken"]);
    ensure!(of_graph["condition"] == CONDITION && of_graph["not_taken"].is_null(), "{of_graph}");
    ensure!(taken["file"] == path.display().to_string().as_str(), "{taken}");
    ensure!(
        taken["objects"] == graph.end.objects && taken["object_bytes"] == graph.end.object_bytes,
        "{taken}"
    );
    ensure!(taken["names_missing"] == false && taken["gc"] == graph.info["gc_number"], "{taken}");
    let number = |value: &Value| value.as_u64().context("no number");
    let (met_at, taken_at) = (number(&of_graph["met_at_gc"])?, number(&taken["gc"])?);
    ensure!(met_at < taken_at, "{of_graph}");
    let met = document.gc(met_at)?;
    ensure!(number(&met["heap_after_bytes"])? > 40 << 20, "{met}");

    // The pause is gcwatch's own, in that collection and in no other.
    let gc = document.gc(taken_at)?;
    let pause_ns = number(&taken["pause_ns"])?;
    ensure!(pause_ns > 0 && gc["caused_by_watching_ns"] == pause_ns, "{gc}");
    let pauses = gc["pauses"].as_array().context("no pauses")?;
    let of_gcwatch: Vec<_> = pauses.iter().filter(|pause| pause["caused_by_watching"] == true).collect();
    let [own] = of_gcwatch[..] else { anyhow::bail!("{gc}") };
    ensure!(own["phase"] == "heap_graph" && own["ns"] == pause_ns, "{gc}");
    let others = pauses.iter().filter(|pause| pause["caused_by_watching"] == false);
    let others: u64 = others.filter_map(|pause| pause["ns"].as_u64()).sum();
    ensure!(gc["pause_ns"] == others, "{gc}");
    // Nor is it in a part of the pause, or in the runtime's walk for gcwatch.
    let phases = &gc["phases"];
    let parts = [&gc["suspend_ns"], &phases["mark_ns"], &phases["rest_ns"]].map(number);
    let parts: u64 = parts.into_iter().sum::<Result<u64>>()?;
    ensure!(parts <= others && number(&gc["cost"]["walk_ns"])? <= others, "{gc}");
    for other in document.gcs()?.iter().filter(|other| other["number"] != taken_at) {
        ensure!(other["caused_by_watching_ns"].as_u64().unwrap_or(0) == 0 || level == "moves", "{other}");
        // An attach sees collections before its profiler is loaded.
        let early = other["level"] == "basic" && other["number"].as_u64() < Some(met_at);
        ensure!(other["level"] == level || early || other["complete"] == false, "{other}");
    }
    let later = document.complete()?.iter().filter(|gc| gc["number"].as_u64() > Some(taken_at)).count();
    ensure!(later >= 3, "{later} collections after the graph");
    document.nothing_lost()
}

fn in_attach(clr: &Clr, heap: Heap, level: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, json) = (dir.path().join("a.gcgraph"), dir.path().join("a.json"));
    let mut program = program(clr, heap, 20_000)?;
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let gcwatch = Gcwatch::on(clr).args("attach --format json --level").arg(level).option("-o", &json);
    let gcwatch = gcwatch.option("--graph-at", CONDITION).option("--graph-output", &path);
    let mut gcwatch = gcwatch.arg(program.pid().to_string()).spawn()?;
    // The watch sees collections when its document has begun.
    let began = Instant::now();
    while fs::metadata(&json).map_or(0, |file| file.len()) == 0 {
        ensure!(began.elapsed() < DEADLINE, "no watch: {gcwatch:?}");
        program.ask("collect 0", "collected ", DEADLINE)?;
        std::thread::sleep(Duration::from_millis(50));
    }
    drive(&mut program, &path)?;
    ensure!(program.ask("check", "sum=", DEADLINE)? == sum, "the program computes something else now");
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    compare(&Document::read(&json)?, &path, &program, level)
}

fn in_run(clr: &Clr, heap: Heap, level: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, json) = (dir.path().join("a.gcgraph"), dir.path().join("a.json"));
    let gcwatch = Gcwatch::on(clr).args("run --format json --level").arg(level).option("-o", &json);
    let gcwatch = gcwatch.option("--graph-at", CONDITION).option("--graph-output", &path);
    let gcwatch = gcwatch.envs([("DOTNET_gcServer", if heap.server() { "1" } else { "0" })]);
    let mut program = gcwatch.app(clr, "objects", "more=20000")?.spawn()?;
    program.wait_line("ready ", DEADLINE)?;
    drive(&mut program, &path)?;
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    compare(&Document::read(&json)?, &path, &program, level)
}

/// The next window opens at once, and stays open until the graph is there.
fn in_windows(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let gcwatch = Gcwatch::on(clr).args("run --sample 1/10m").option("--graph-at", CONDITION);
    let gcwatch = gcwatch.option("--graph-output", &path);
    let mut program = gcwatch.app(clr, "objects", "more=20000")?.spawn()?;
    program.wait_line("ready ", DEADLINE)?;
    drive(&mut program, &path)?;
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    check(&HeapGraph::read(&path)?, &program)?;
    let said = program.stderr();
    let (met, taken) = (said.find(&format!("met {CONDITION}")), said.find("the heap graph was taken at gc#"));
    ensure!(met.is_some() && met < taken, "{said}");
    Ok(())
}

/// The exit code is the program's; what is missing is said.
fn no_graph(clr: &Clr, last: &str, why: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, json) = (dir.path().join("a.gcgraph"), dir.path().join("a.json"));
    let gcwatch = Gcwatch::on(clr).args("run --format json --level basic").option("-o", &json);
    let gcwatch = gcwatch.option("--graph-at", CONDITION).option("--graph-output", &path);
    let mut program = gcwatch.app(clr, "objects", "more=0")?.spawn()?;
    program.wait_line("ready ", DEADLINE)?;
    if !last.is_empty() {
        program.ask(last, "", DEADLINE)?;
        program.ask("collect 2", "collected ", DEADLINE)?;
    }
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    let said = program.stderr();
    ensure!(said.contains("there is no heap graph: ") && said.contains(why), "{said}");
    let document = Document::read(&json)?;
    let graph = &document.0["watch"]["graph"];
    ensure!(graph["taken"].is_null(), "{graph}");
    ensure!(graph["not_taken"].as_str().is_some_and(|text| text.contains(why)), "{graph}");
    ensure!(graph["condition"].is_null() == last.is_empty(), "{graph}");
    ensure!(!path.exists(), "there is a file");
    Ok(())
}

/// Before anything is started.
fn cannot_be_written(clr: &Clr) -> Result<()> {
    let gcwatch =
        Gcwatch::on(clr).args("run --graph-output /nowhere/a.gcgraph").option("--graph-at", CONDITION);
    let ended = gcwatch.app(clr, "objects", "more=0")?.output()?.expect(1)?.says(&["/nowhere/a.gcgraph"])?;
    ensure!(ended.stdout.is_empty(), "the program was started");
    Ok(())
}

fn usage() -> Result<()> {
    for (line, condition, words) in [
        ("run --level basic", "roots.stack > 1", "needs --level roots"),
        ("run", "pause.p99 > 1ms", "no figure of a single collection"),
        ("run --follow", CONDITION, "--follow"),
        ("run --graph-output a.gcdump", CONDITION, ".gcgraph"),
        ("run --no-names", CONDITION, "--no-names"),
        ("run --graph-output a.gcgraph -o ./a.gcgraph", CONDITION, "the same file"),
        ("run --graph-output a.gcgraph --record a.gcgraph", CONDITION, "the same file"),
    ] {
        Gcwatch::new()
            .args(line)
            .option("--graph-at", condition)
            .args("-- true")
            .output()?
            .expect(2)?
            .says(&[words])?;
    }
    Ok(())
}
