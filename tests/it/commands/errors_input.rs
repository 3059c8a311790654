//! Bad arguments, unreadable input, and output that cannot be written.

use anyhow::{Result, ensure};
use xtask::Clr;

use crate::it::recording::record::{differences, record_run, replay};
use crate::it::suite::{Heap, Suite};
use crate::it::support::{Document, Gcwatch, brief};

pub(crate) fn register(suite: &mut Suite) {
    suite.plain("errors_input::bad_arguments_are_2", bad_arguments);
    suite.plain("errors_input::unreadable_input_is_12", unreadable);
    suite.once("errors_input::cut_recording_gives_what_it_holds", &[], cut);
    suite.once("errors_input::damaged_recording_gives_what_it_holds", &[], damaged);
    suite.once("errors_input::output_that_cannot_be_written", &[], unwritable);
}

fn bad_arguments() -> Result<()> {
    for line in [
        "",
        "watch",
        "attach",
        "attach 1 --level all",
        "attach 1 --format xml",
        "attach 1 --duration soon",
        "attach 1 --gcs 0",
        "attach 1 -p 1",
        "run",
        "run --gen 7 -- true",
        "report",
        "ps --format ndjson",
        "completions ed",
    ] {
        let ended = Gcwatch::new().args(line).output()?;
        ensure!(ended.code == 2, "gcwatch {line}: exit code {}: {}", ended.code, ended.stderr);
        ensure!(!ended.stderr.is_empty() && ended.stdout.is_empty(), "gcwatch {line}: {ended:?}");
    }
    Ok(())
}

fn unreadable() -> Result<()> {
    let dir = tempfile::tempdir()?;
    for (name, content, says) in [
        ("garbage", &b"This is not a recording.\n"[..], "does not start with \"Nettrace\""),
        ("empty", b"", "it is empty"),
        ("part", b"Nett", "its header is incomplete"),
        ("half", b"Nettrace\x14", "its header is incomplete"),
    ] {
        let path = dir.path().join(name);
        std::fs::write(&path, content)?;
        Gcwatch::new().arg("report").arg(&path).output()?.expect(12)?.says(&[name, says])?;
        // The document for scripts has the code, too.
        let ended = Gcwatch::new().args("report --format json").arg(&path).output()?.expect(12)?;
        let exit = Document::parse(&ended.stdout)?.0["exit"].clone();
        ensure!(exit["gcwatch"] == 12 && exit["reason"] == "unreadable", "{name}: {exit}");
    }
    let missing = dir.path().join("missing");
    for (path, remedy) in [(missing.as_path(), "check the name"), (dir.path(), "give the files in it")] {
        let ended = Gcwatch::new().arg("report").arg(path).output()?.expect(12)?.says(&[remedy])?;
        ensure!(!ended.stderr.contains("a recording is a .nettrace file"), "{}", ended.stderr);
    }
    let document = dir.path().join("gc.json");
    std::fs::write(&document, "{\"schema\":\"gcwatch/1\"}")?;
    Gcwatch::new().arg("report").arg(&document).output()?.expect(12)?.says(&["gcwatch diff BEFORE AFTER"])?;
    Gcwatch::new().args("attach --pid 1").output()?.expect(2)?.says(&["'--process-id'"])?;
    Gcwatch::new().args("report -").feed(b"words".to_vec())?.expect(12)?;
    // A device never ends.
    for command in ["report /dev/zero", "diff /dev/zero /dev/zero"] {
        Gcwatch::new().args(command).output()?.expect(12)?.says(&["not start with", "do:"])?;
    }
    Ok(())
}

/// Runs `report` on bytes, with and without `--strict`.
fn report(bytes: &[u8]) -> Result<Document> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("cut.nettrace");
    std::fs::write(&path, bytes)?;
    Gcwatch::new().args("report --strict --format json").arg(&path).output()?.expect(11)?;
    replay(&path, "")
}

/// Paths of the figures that need names.
const BY_NAME: [&str; 5] =
    ["/roots/by_origin/", "/roots/methods", "/roots/types", "/roots/statics", "/roots/pinned"];

fn cut(clr: &Clr) -> Result<()> {
    let recorded = record_run(clr, Heap::Workstation, "roots", "work=150000 live=8000")?;
    let bytes = std::fs::read(&recorded.recording)?;
    let whole = recorded.live.complete()?.len();
    let whole_again = replay(&recorded.recording, "--strict")?;
    ensure!(whole_again.complete()?.len() == whole, "the uncut recording is not complete under --strict");
    let mut last = 0;
    for percent in [50, 75, 95] {
        let document = report(&bytes[..bytes.len() * percent / 100])?;
        let complete = document.complete()?;
        ensure!(
            complete.len() >= last && complete.len() <= whole,
            "{} of {whole} at {percent} %",
            complete.len()
        );
        // What the cut recording holds is right.
        for gc in &complete {
            let live = recorded.live.gc(gc["number"].as_u64().unwrap_or(0))?;
            let mut differing = Vec::new();
            differences("", gc, live, &mut differing);
            // Names come some time after the collection: they may be cut off, but nothing else may be.
            if gc["roots"].to_string().contains("(unnamed)") {
                differing.retain(|path| !BY_NAME.iter().any(|named| path.starts_with(named)));
            }
            ensure!(differing.is_empty(), "at {percent} %: {}\n{differing:#?}", brief(gc));
        }
        last = complete.len();
        ensure!(document.0["lost"]["gap"] == "truncated", "{}", document.0["lost"]);
        // So short a program writes little more than one flush, and a flush that is cut gives no complete collection.
        ensure!(percent < 95 || !document.gcs()?.is_empty(), "nothing in 95 % of the recording");
    }
    Ok(())
}

/// A hole in the middle loses only what was in it.
fn damaged(clr: &Clr) -> Result<()> {
    let recorded = record_run(clr, Heap::Workstation, "basic", "work=400000 live=8000")?;
    let mut bytes = std::fs::read(&recorded.recording)?;
    let middle = bytes.len() / 2;
    bytes[middle..middle + 2_000].fill(0);
    let document = report(&bytes)?;
    let complete = document.complete()?;
    ensure!(!complete.is_empty(), "nothing is left");
    let lost = document.0["lost"]["events"] != 0 || complete.len() < recorded.live.complete()?.len();
    ensure!(lost, "2,000 bytes were overwritten, and no loss is reported: {}", document.0["lost"]);
    ensure!(document.0["lost"]["gap"] == "damaged", "{}", document.0["lost"]);
    for gc in &complete {
        let live = recorded.live.gc(gc["number"].as_u64().unwrap_or(0))?;
        ensure!(gc["generation"] == live["generation"], "{}\nlive: {}", brief(gc), brief(live));
    }
    Ok(())
}

fn unwritable(clr: &Clr) -> Result<()> {
    for options in ["--format json -o /nonexistent/out.json", "--record /nonexistent/out.nettrace"] {
        let ended = Gcwatch::on(clr).arg("run").args(options).app(clr, "exits", "return")?.output()?;
        ensure!(ended.code != 0, "{options}: exit code 0");
        ensure!(ended.stdout.is_empty(), "{options}: the child was started: {:?}", ended.out());
        ended.says(&["/nonexistent/out"])?;
    }
    Ok(())
}
