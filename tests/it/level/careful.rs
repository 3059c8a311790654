//! `attach` without a level: roots at every collection only where the blocking collections that this causes are
//! estimated to be short, and only as long as they are. The program makes full collections that may run in the
//! background, and prints whether each did.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::lifecycle::attach::Churn;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    DEADLINE, Document, Gcwatch, Json, Signal, brief, fact, number, signal, start_attach, until,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("careful::stays_and_steps_back", &[Need::Proc], steps_back);
    suite.each("careful::windows_after_gen2_where_blocking_is_long", &[Need::Proc], windows);
    suite.once("careful::without_background_gc_roots_stay", &[Need::Proc], not_concurrent);
    suite.once("careful::a_given_level_stays_whatever_comes", &[Need::Proc], given_level);
    suite.once("careful::the_estimate_is_by_the_runtime_s_statistics", &[Need::Proc], by_statistics);
    suite.once("careful::told_in_text", &[Need::Proc], in_text);
    suite.plain("careful::mistakes_are_2", mistakes);
}

const WORK: &str = "live=30000";
/// Bounds that no collection reaches.
const NEVER: &str = "--max-blocking-gc 1h --step-back 100%,1h";

fn program(clr: &Clr, more: &[(&str, &str)]) -> Result<Target> {
    let mut program = Target::app(clr, "roots", &[], more)?;
    program.wait_line("ready ", DEADLINE)?;
    // The first background collections create the runtime's threads and data for them.
    full(&mut program)?;
    full(&mut program)?;
    Ok(program)
}

/// Makes a full collection that need not block; returns its number, and whether it ran in the background.
fn full(program: &mut Target) -> Result<(u64, bool)> {
    let said = program.ask("full", "full ", DEADLINE)?;
    Ok((number(&said, "index")?, fact(&said, "kind")? == "background"))
}

fn collect(program: &mut Target) -> Result<u64> {
    number(&program.ask("collect 0", "collected ", DEADLINE)?, "index")
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn ends(mut gcwatch: Target, path: &Path) -> Result<Document> {
    signal(gcwatch.pid(), Signal::INT)?;
    ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    let document = Document::read(path)?;
    document.nothing_lost()?;
    Ok(document)
}

fn replayed(recording: &Path) -> Result<Document> {
    let replayed = Gcwatch::new().args("report --format json").arg(recording).output()?.expect(0)?;
    Document::parse(&replayed.stdout)
}

/// The resident memory of a process.
fn memory_bytes(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.split_whitespace().next().context("no number")?.parse::<u64>()? * 1024)
}

/// However short its blocking collections are, they take more than 0 % of the time.
fn steps_back(clr: &Clr) -> Result<()> {
    let mut program = program(clr, &[])?;
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("out.nettrace"));
    let before = memory_bytes(program.pid())?;
    let options = format!("--max-blocking-gc 1h --step-back 0%,1h --record {}", recording.display());
    let gcwatch = start_attach(clr, program.pid(), &options, &path)?;
    // Collections of gen0 and gen1 do not count.
    let first = collect(&mut program)?;
    let (number, background) = full(&mut program)?;
    ensure!(!background, "the profiler is not loaded at GC {number}");
    // The profiler leaves, and the program prints that background collections are back.
    let mut back = 0;
    until("background collections after stepping back", DEADLINE, || {
        let (number, background) = full(&mut program)?;
        back = number;
        Ok(background)
    })?;
    until("a background collection in the document", DEADLINE, || {
        Ok(text_of(&path).contains(&format!(r#""number":{back},"#)))
    })?;
    let said = gcwatch.stderr();
    ensure!(said.matches("stepping back from roots").count() == 1, "{said}");
    let document = ends(gcwatch, &path)?;
    let watch = document.0.place("/watch")?;
    let decisive = document.gc(number)?;
    ensure!(decisive["reason"] == "induced_noforce" && decisive["kind"] == "blocking", "{}", brief(decisive));
    let at = decisive.uint("/at_ns")? + decisive.uint("/pause_ns")?;
    let stepped = watch.place("/stepped_back")?;
    ensure!(stepped["at_ns"] == at && stepped["from"] == "roots" && stepped["to"] == "windows", "{stepped}");
    ensure!(stepped.text("/reason")?.contains("of 10 s"), "{stepped}");
    let sample = json!({"gcs": 1, "window_ns": null, "every_ns": 30_000_000_000_u64, "between": "basic"});
    ensure!(watch["level"] == "roots" && watch["sample"] == sample, "{watch}");
    ensure!(watch["background_gc"] == "off-in-windows", "{watch}");
    ensure!(document.gc(first)?["level"] == "roots" && document.gc(back)?["level"] == "basic", "levels");
    let blocked = document.0.place("/summary/gen2_blocked_by_watching")?;
    ensure!(blocked["count"].as_u64() >= Some(1), "{blocked}");
    // The estimate is from the process's memory.
    let (estimate, after) = (watch.place("/estimate")?, memory_bytes(program.pid())?);
    let bytes = estimate.uint("/bytes")?;
    ensure!(estimate["bytes_from"] == "memory" && estimate["pace_from"] == "usual", "{estimate}");
    ensure!(bytes + (16 << 20) >= before && bytes <= after + (16 << 20), "{before} to {after}: {estimate}");
    ensure!(estimate["ns_per_mib"] == 1_000_000, "{estimate}");
    let expected = bytes as f64 / f64::from(1 << 20) * 1e6;
    ensure!((estimate.uint("/blocking_gc_ns")? as f64 - expected).abs() < 1e6, "{estimate}");
    ensure!(estimate["limit_ns"] == 3_600_000_000_000_u64, "{estimate}");
    // A replay gives the same, except for what a recording cannot hold.
    let later = replayed(&recording)?;
    for what in
        ["/gcs", "/summary", "/watch/stepped_back", "/watch/background_gc", "/watch/sample", "/watch/level"]
    {
        ensure!(document.0.pointer(what) == later.0.pointer(what), "{what} differs in the replay");
    }
    ensure!(later.0.place("/watch/estimate")?.is_null(), "{}", later.0["watch"]);
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// With an estimate above the limit, the profiler is loaded only after a full collection has ended.
fn windows(clr: &Clr) -> Result<()> {
    let mut program = program(clr, &[])?;
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("out.nettrace"));
    let options = format!("--max-blocking-gc 1us --record {}", recording.display());
    let gcwatch = start_attach(clr, program.pid(), &options, &path)?;
    let mut before = Vec::new();
    for _ in 0..3 {
        before.push(collect(&mut program)?);
    }
    let shown = |number: u64| Ok(text_of(&path).contains(&format!(r#""number":{number},"#)));
    until("the gen0 collections", DEADLINE, || shown(before[2]))?;
    let (number, background) = full(&mut program)?;
    ensure!(background, "the profiler was loaded at GC {number}");
    // Then the profiler is loaded, and the next collection has roots.
    until("a collection with roots", DEADLINE, || {
        collect(&mut program)?;
        Ok(text_of(&path).contains(r#""level":"roots""#))
    })?;
    let document = ends(gcwatch, &path)?;
    let with_roots: Vec<&Value> =
        document.complete()?.into_iter().filter(|gc| gc["level"] == "roots").collect();
    ensure!(with_roots.len() == 1, "{} collections with roots", with_roots.len());
    let [seen] = with_roots[..] else { unreachable!() };
    ensure!(seen.uint("/number")? > number && seen["generation"] == 0, "{}", brief(seen));
    ensure!(before.iter().all(|n| document.gc(*n).is_ok_and(|gc| gc["level"] == "basic")), "{before:?}");
    let watch = document.0.place("/watch")?;
    ensure!(watch["windows"]["taken"] == 1 && watch["windows"]["skipped"] == 0, "{watch}");
    ensure!(watch["background_gc"] == "off-in-windows" && watch["stepped_back"].is_null(), "{watch}");
    ensure!(watch["sample"]["gcs"] == 1 && watch["sample"]["between"] == "basic", "{watch}");
    ensure!(watch["estimate"]["limit_ns"] == 1000, "{watch}");
    let later = replayed(&recording)?;
    for what in ["/gcs", "/summary", "/watch/sample", "/watch/background_gc", "/watch/windows/taken"] {
        ensure!(document.0.pointer(what) == later.0.pointer(what), "{what} differs in the replay");
    }
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// A program without background collections loses none.
fn not_concurrent(clr: &Clr) -> Result<()> {
    let mut program = program(clr, &[("DOTNET_gcConcurrent", "0")])?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let gcwatch = start_attach(clr, program.pid(), "--max-blocking-gc 0ms --step-back 0%,0ms", &path)?;
    for _ in 0..5 {
        let (number, background) = full(&mut program)?;
        ensure!(!background, "GC {number} ran in the background");
    }
    let last = collect(&mut program)?;
    let document = ends_after(gcwatch, &path, last)?;
    ensure!(document.gc(last)?["level"] == "roots", "{}", brief(document.gc(last)?));
    let watch = document.0.place("/watch")?;
    ensure!(watch["background_gc"] == "none" && watch["sample"].is_null(), "{watch}");
    ensure!(watch["estimate"].is_null() && watch["stepped_back"].is_null(), "{watch}");
    Ok(())
}

fn ends_after(gcwatch: Target, path: &Path, last: u64) -> Result<Document> {
    let shown = || Ok(text_of(path).contains(&format!(r#""number":{last},"#)));
    until("the last collection", DEADLINE, shown)?;
    ends(gcwatch, path)
}

/// With a demanded level, gcwatch keeps it, and only prints the estimate.
fn given_level(clr: &Clr) -> Result<()> {
    let mut program = program(clr, &[])?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    for options in ["--level roots", "--assert roots.stack.max<100000"] {
        let options = format!("{options} --max-blocking-gc 0ms --step-back 0%,0ms");
        let gcwatch = start_attach(clr, program.pid(), &options, &path)?;
        for _ in 0..3 {
            let (number, background) = full(&mut program)?;
            ensure!(!background, "{options}: GC {number} ran in the background");
        }
        let last = collect(&mut program)?;
        let document = ends_after(gcwatch, &path, last)?;
        let watch = document.0.place("/watch")?;
        ensure!(watch["background_gc"] == "off-while-watched" && watch["stepped_back"].is_null(), "{watch}");
        let estimate = watch.place("/estimate")?;
        ensure!(estimate["limit_ns"].is_null() && estimate.uint("/blocking_gc_ns")? > 0, "{estimate}");
        std::fs::remove_file(&path)?;
    }
    Ok(())
}

/// A program that collects all the time soon reports its heap's size, which is less than its memory.
fn by_statistics(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let memory = memory_bytes(churn.pid())?;
    let gcwatch = start_attach(clr, churn.pid(), "--max-blocking-gc 1us", &path)?;
    until("a few collections", DEADLINE, || Ok(text_of(&path).matches(r#""number":"#).count() > 3))?;
    let document = ends(gcwatch, &path)?;
    let estimate = document.0.place("/watch/estimate")?;
    ensure!(estimate["bytes_from"] == "statistics", "{estimate}");
    let bytes = estimate.uint("/bytes")?;
    let mut sizes = Vec::new();
    for gc in document.gcs()? {
        let after = |index: usize| gc["generations"][index]["size_after_bytes"].as_u64();
        sizes.extend(after(2).zip(after(3)).map(|(gen2, large)| gen2 + large));
    }
    // The estimate is from the first collection in the stream, or one in the same flush.
    ensure!(sizes.contains(&bytes) && bytes < memory, "{bytes} of {memory}: {sizes:?}");
    let pace = estimate.uint("/ns_per_mib")?;
    let expected = bytes as f64 / f64::from(1 << 20) * pace as f64;
    ensure!((estimate.uint("/blocking_gc_ns")? as f64 - expected).abs() <= 1.0, "{estimate}");
    ensure!((estimate["pace_from"] == "usual") == (pace == 1_000_000), "{estimate}");
    churn.stop(clr, WORK)
}

fn in_text(clr: &Clr) -> Result<()> {
    let mut program = program(clr, &[])?;
    let dir = tempfile::tempdir()?;
    let recording = dir.path().join("out.nettrace");
    let mut gcwatch = Gcwatch::on(clr)
        .args("attach --max-blocking-gc 1h --step-back 0%,1h --record")
        .arg(&recording)
        .arg(program.pid().to_string())
        .spawn()?;
    gcwatch.wait_line("a blocking gen2 GC is estimated to take ", DEADLINE)?;
    full(&mut program)?;
    gcwatch.wait_line("gcwatch: stepping back from roots: a gen2 GC that blocked", DEADLINE)?;
    signal(gcwatch.pid(), Signal::INT)?;
    ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    let said = |lines: &str| {
        let known = ["gcwatch: stepping back from roots: ", "stepped back to windows at "];
        known.iter().all(|text| lines.contains(text))
    };
    ensure!(said(&gcwatch.lines().join("\n")), "{gcwatch:?}");
    let replayed = Gcwatch::new().arg("report").arg(&recording).output()?.expect(0)?;
    ensure!(said(replayed.out()?), "{}", replayed.out()?);
    // The report says when gcwatch would step back, and at a demanded level what that costs.
    for (options, words) in [
        (NEVER, "roots in windows only"),
        ("--max-blocking-gc 1us", "each right after a gen2 GC"),
        ("--level roots", "a blocking gen2 GC is estimated to take"),
    ] {
        let ended = Gcwatch::on(clr)
            .args("attach --duration 300ms")
            .args(options)
            .arg(program.pid().to_string())
            .output()?
            .expect(0)?;
        let text = ended.out()?.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure!(text.contains(words), "{options}: {text}");
    }
    Ok(())
}

fn mistakes() -> Result<()> {
    for (option, word) in [
        ("--step-back=1%", "1%,250ms"),
        ("--step-back=5,250ms", "1%,250ms"),
        ("--step-back=200%,1s", "0% to 100%"),
        ("--max-blocking-gc=soon", "not a duration"),
        ("--max-blocking-gc=5", "did you mean 5ms?"),
        ("--step-back=1%,250", "did you mean 250ms?"),
    ] {
        Gcwatch::new().arg("attach").arg(option).arg("1").output()?.expect(2)?.says(&[word])?;
    }
    Ok(())
}
