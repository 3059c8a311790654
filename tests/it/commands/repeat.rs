//! `gcwatch run --repeat`: a document for each run.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use xtask::Clr;

use crate::it::suite::Suite;
use crate::it::support::{DEADLINE, Document, Gcwatch, Json, Signal, signal};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("repeat::a_document_for_each_run", &[], documents);
    suite.once("repeat::verdicts_and_failures", &[], verdicts);
    suite.once("repeat::with_follow", &[], followed);
    suite.once("repeat::ends_with_a_signal", &[], interrupted);
    suite.plain("repeat::mistakes", mistakes);
}

fn repeated(clr: &Clr, options: &str, files: &[(&str, &Path)]) -> Gcwatch {
    let gcwatch = Gcwatch::on(clr).args("run --repeat 3 --level basic").args(options);
    files.iter().fold(gcwatch, |gcwatch, (option, path)| gcwatch.option(option, path))
}

fn names(dir: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(dir)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut names: Vec<String> =
        entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Each document is that of another process, and its recording replays to the same collections.
fn documents(clr: &Clr) -> Result<()> {
    let parent = tempfile::tempdir()?;
    let dir = parent.path().join("gc");
    let files = [("-o", &*dir.join("gc.json")), ("--record", &*dir.join("app.nettrace"))];
    let ended = repeated(clr, "--format json", &files).app(clr, "churn", "work=60000 live=5000")?;
    let ended = ended.output()?.expect(0)?.says(&["gcwatch: 3 runs: ", "gc-1.json", "gc-3.json"])?;
    ensure!(!ended.stderr.contains("earlier series"), "{}", ended.stderr);
    let of_itself: BTreeSet<u64> = ended
        .out()?
        .lines()
        .filter_map(|line| line.split("pid=").nth(1)?.split_whitespace().next()?.parse().ok())
        .collect();
    ensure!(of_itself.len() == 3, "{}", ended.out()?);
    let all = ["app-1.nettrace", "app-2.nettrace", "app-3.nettrace", "gc-1.json", "gc-2.json", "gc-3.json"];
    ensure!(names(&dir)? == all, "{:?}", names(&dir)?);
    let mut pids = BTreeSet::new();
    for n in 1..=3 {
        let document = Document::read(&dir.join(format!("gc-{n}.json")))?;
        pids.insert(document.0["target"]["pid"].as_u64().context("no pid")?);
        let replayed = Gcwatch::new()
            .args("report --format json")
            .arg(dir.join(format!("app-{n}.nettrace")))
            .output()?
            .expect(0)?;
        let replayed: serde_json::Value = serde_json::from_slice(&replayed.stdout)?;
        ensure!(replayed["gcs"] == document.0["gcs"], "run {n}");
    }
    ensure!(pids == of_itself, "{pids:?} {of_itself:?}");
    // A shorter series leaves files of the longer one, and says so.
    let fewer =
        Gcwatch::on(clr).args("run --repeat 2 --level basic --format json -o").arg(dir.join("gc.json"));
    let fewer = fewer.app(clr, "churn", "work=60000 live=5000")?.output()?.expect(0)?;
    fewer.says(&["of an earlier series there are also gc-3.json"])?;
    Ok(())
}

/// A bound that does not hold is judged in each run; a program that fails ends the series.
fn verdicts(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let files = [("-o", &*dir.path().join("gc.json"))];
    let options = "--format json --assert gc.count<1";
    let ended = repeated(clr, options, &files).app(clr, "churn", "work=60000 live=5000")?.output()?;
    ended.expect(10)?.says(&["gcwatch: 3 runs, the assertions hold in 0"])?;
    ensure!(names(dir.path())?.len() == 3, "{:?}", names(dir.path())?);
    let dir = tempfile::tempdir()?;
    let files = [("-o", &*dir.path().join("gc.json"))];
    let ended =
        repeated(clr, "--format json", &files).app(clr, "exits", "return code=7")?.output()?.expect(7)?;
    ended.says(&["the series ends after 1 run: it failed with exit code 7"])?;
    ensure!(names(dir.path())? == ["gc-1.json"], "{:?}", names(dir.path())?);
    Ok(())
}

fn followed(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let files = [("-o", &*dir.path().join("gc.json"))];
    let ended = repeated(clr, "--follow --format json", &files).app(clr, "churn", "work=60000 live=5000")?;
    ended.output()?.expect(0)?;
    for n in 1..=3 {
        let text = std::fs::read(dir.path().join(format!("gc-{n}.json")))?;
        let document: serde_json::Value = serde_json::from_slice(&text)?;
        ensure!(document.list("/processes")?.len() == 1, "run {n}");
    }
    Ok(())
}

/// The run that gets the signal still has its document; no further run begins.
fn interrupted(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let files = [("-o", &*dir.path().join("gc.json"))];
    let gcwatch = repeated(clr, "--format json", &files).app(clr, "churn", "interactive live=1000")?;
    let mut gcwatch = gcwatch.spawn()?;
    gcwatch.wait_line("ready", DEADLINE)?;
    signal(gcwatch.pid(), Signal::INT)?;
    gcwatch.wait(DEADLINE)?;
    ensure!(names(dir.path())? == ["gc-1.json"], "{:?}", names(dir.path())?);
    Document::read(&dir.path().join("gc-1.json"))?;
    Ok(())
}

fn mistakes() -> Result<()> {
    for options in ["--format json", "--format junit -o -", "--format ndjson"] {
        let ended = Gcwatch::new().args("run --repeat 2").args(options).args("-- x").output()?.expect(2)?;
        ended.says(&["there is no file for them", "gc-1.json"])?;
    }
    let device = Gcwatch::new().args("run --repeat 2 --format json -o /dev/null -- x").output()?.expect(2)?;
    device.says(&["/dev/null is no file", "gc/run.json"])?;
    Gcwatch::new().args("run --repeat 0 -- x").output()?.expect(2)?.says(&["1..=1000"])?;
    Ok(())
}
