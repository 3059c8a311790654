//! Where recordings go: names, directories, full disks; and reports of several recordings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::recording::rotation::files;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    Document, Ended, GcFacts, Gcwatch, Json, check_counts, fact, on_small_disk, run_to_end,
};

const WORK: &str = "work=50000 live=2000";

pub(crate) fn register(suite: &mut Suite) {
    suite.once("recording_files::named_by_a_pattern", &[], named);
    suite.once("recording_files::one_per_process_with_follow", &[], followed);
    suite.plain("recording_files::what_is_no_pattern_starts_nothing", refused);
    suite.once("recording_files::several_watches_in_one_report", &[], several);
    suite.once("recording_files::a_full_disk_ends_the_recording_only", &[Need::Root], full_disk);
}

fn record(clr: &Clr, options: &str, to: &Path) -> Result<Ended> {
    Gcwatch::on(clr)
        .envs(Heap::Workstation.environment())
        .args("run --level basic")
        .args(options)
        .option("--record", to)
        .app(clr, "churn", WORK)?
        .output()?
        .expect(0)
}

/// The only file in a directory, by its name.
fn only(dir: &Path) -> Result<String> {
    let files = files(dir)?;
    let [file] = &files[..] else { anyhow::bail!("not one file: {files:?}") };
    Ok(file.file_name().context("no name")?.to_string_lossy().into_owned())
}

fn named(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let ended = record(clr, "", &dir.path().join("{name}@{pid}{{x}}.nettrace"))?;
    let pid = fact(ended.out()?, "pid")?.to_owned();
    ensure!(only(dir.path())? == format!("churn@{pid}{{x}}.nettrace"), "{}", only(dir.path())?);
    // With a directory: program, process and time, compared with `date`.
    let dir = tempfile::tempdir()?;
    let now = || -> Result<u64> {
        let date = run_to_end(
            {
                let mut date = Command::new("date");
                date.args(["-u", "+%Y%m%d%H%M%S"]);
                date
            },
            Vec::new(),
        )?;
        Ok(date.expect(0)?.out()?.trim().parse()?)
    };
    let before = now()?;
    let ended = record(clr, "--rotate 1GiB,2", dir.path())?;
    let (pid, name) = (fact(ended.out()?, "pid")?.to_owned(), only(dir.path())?);
    let time =
        name.strip_prefix(&format!("churn-{pid}-")).and_then(|rest| rest.strip_suffix("Z.001.nettrace"));
    let time: u64 = time.with_context(|| format!("named {name}"))?.replace('T', "").parse()?;
    ensure!((before..=now()?).contains(&time), "{name} is not between {before} and now");
    Ok(())
}

fn followed(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let out = dir.path().join("out.json");
    let records = dir.path().join("records");
    fs::create_dir(&records)?;
    let gcwatch = |record: PathBuf| -> Result<Gcwatch> {
        let argv = clr.argv(&xtask::apps::build("churn")?);
        let line: Vec<String> = argv.iter().map(|arg| format!("'{}'", arg.to_string_lossy())).collect();
        let script = format!("{0} {WORK} && {0} {WORK}", line.join(" "));
        Ok(Gcwatch::on(clr)
            .envs(Heap::Workstation.environment())
            .args("run --follow --level basic --format json -o")
            .arg(&out)
            .option("--record", record)
            .args("-- sh -c")
            .arg(script))
    };
    gcwatch(records.join("all.nettrace"))?.output()?.expect(2)?.says(&["{pid}"])?;
    ensure!(files(&records)?.is_empty(), "a file was made");
    gcwatch(records.join("{pid}.nettrace"))?.output()?.expect(0)?;
    let document: Value = serde_json::from_slice(&fs::read(&out)?)?;
    let processes = document.list("/processes")?;
    ensure!(processes.len() == 2 && files(&records)?.len() == 2, "{} processes", processes.len());
    for process in processes {
        let file = records.join(format!("{}.nettrace", process["target"]["pid"]));
        let ended = Gcwatch::new().args("report --format json").arg(&file).output()?.expect(0)?;
        let replayed = Document::parse(&ended.stdout)?;
        ensure!(replayed.0["gcs"] == process["gcs"], "{} has other collections", file.display());
    }
    Ok(())
}

fn refused() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let started = dir.path().join("started");
    for (record, options, word) in [
        ("{date}.nettrace", "", "{date} is not a placeholder"),
        ("{pid.nettrace", "", "brace"),
        ("{n}.nettrace", "", "--rotate"),
        ("{pid}/x.nettrace", "", "directory"),
        ("x.nettrace", "--rotate 100MiB,1", "at least 2 files"),
        ("x.nettrace", "--rotate 100MiB", "100MiB,10"),
        ("x.nettrace", "--rotate lots,3", "lots"),
    ] {
        let gcwatch = Gcwatch::new().args("run").args(options).arg("--record").arg(dir.path().join(record));
        let ended = gcwatch.args("-- touch").arg(&started).output()?.expect(2);
        ended.with_context(|| format!("{record} {options}"))?.says(&[word])?;
    }
    Gcwatch::new()
        .args("run --rotate 1MiB,2 -- touch")
        .arg(&started)
        .output()?
        .expect(2)?
        .says(&["--record"])?;
    // An unwritable directory, with a name that only the target completes.
    let nowhere = dir.path().join("missing/{pid}.nettrace");
    let gcwatch = Gcwatch::new().args("run --record").arg(nowhere).args("-- touch").arg(&started);
    gcwatch.output()?.expect(1)?.says(&["missing", "--record"])?;
    ensure!(files(dir.path())?.is_empty(), "a child was started, or a file left: {:?}", files(dir.path())?);
    Ok(())
}

/// How many lines of a type there are.
fn count(ended: &Ended, kind: &str) -> Result<usize> {
    let lines: Vec<Value> = ended.out()?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok(lines.iter().filter(|line| line["type"] == kind).count())
}

fn several(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (a, b) = (dir.path().join("a.nettrace"), dir.path().join("b.nettrace"));
    let mut counted = Vec::new();
    for file in [&a, &b] {
        counted.push(GcFacts::of(record(clr, "", file)?.out()?)?);
    }
    let report = |format: &str, more: &[&Path]| {
        let gcwatch = Gcwatch::new().args("report --format").arg(format).arg(&a).arg(&b);
        more.iter().fold(gcwatch, |gcwatch, file| gcwatch.arg(file)).output()
    };
    let alone = |file: &PathBuf| -> Result<Document> {
        Document::parse(&Gcwatch::new().args("report --format json").arg(file).output()?.expect(0)?.stdout)
    };
    let json: Value = serde_json::from_slice(&report("json", &[])?.expect(0)?.stdout)?;
    let processes = json.list("/processes")?;
    ensure!(processes.len() == 2, "{} processes", processes.len());
    for ((process, file), facts) in processes.iter().zip([&a, &b]).zip(counted) {
        let document = alone(file)?;
        check_counts(&document, facts)?;
        for key in ["target", "gcs", "summary", "lost"] {
            ensure!(process[key] == document.0[key], "{key} of {}", file.display());
        }
    }
    let all: usize = processes.iter().map(|p| p["gcs"].as_array().map_or(0, Vec::len)).sum();
    let gcs = count(&report("ndjson", &[])?.expect(0)?, "gc")?;
    ensure!(gcs == all, "{gcs} lines, {all} collections");
    let csv = report("csv", &[])?.expect(0)?;
    ensure!(csv.out()?.lines().count() == all + 1, "{} lines of CSV", csv.out()?.lines().count());
    // An unreadable recording does not hide the others.
    let bad = dir.path().join("bad.nettrace");
    fs::write(&bad, "no recording")?;
    let ended = report("ndjson", &[&bad])?.expect(12)?.says(&["bad.nettrace"])?;
    let gcs = count(&ended, "gc")?;
    ensure!(gcs == all, "{gcs} lines with an unreadable one, {all} collections");
    Ok(())
}

fn full_disk(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (disk, kept, out) = (dir.path().join("disk"), dir.path().join("kept"), dir.path().join("out.json"));
    fs::create_dir(&disk)?;
    fs::create_dir(&kept)?;
    let gcwatch = |options: &str, work: &str| -> Result<Command> {
        let gcwatch = Gcwatch::on(clr)
            .envs(Heap::Workstation.environment())
            .args("run --level moves")
            .args(options)
            .option("--record", disk.join("it.nettrace"))
            .app(clr, "churn", work)?;
        on_small_disk(&disk, 10, &kept, &gcwatch.command())
    };
    // More than the disk holds, in several files: the first ones are complete, and the last one is complete as far as
    // it goes. The runtime decides where a file can begin, and so how many there are.
    let options = format!("--rotate 1KiB,0 --format json -o {}", out.display());
    let work = "work=700000 live=1000 threads=16";
    let ended = run_to_end(gcwatch(&options, work)?, Vec::new())?.expect(1)?;
    let ended = ended.says(&["the recording", "ends early", "No space left", "--record"])?;
    let document = Document::read(&out)?;
    ensure!(document.0["exit"]["gcwatch"] == 1 && document.0["exit"]["child"] == 0, "{}", document.0["exit"]);
    check_counts(&document, GcFacts::of(ended.out()?)?)?;
    let files = files(&kept)?;
    ensure!(files.len() >= 2, "{files:?}");
    let replay =
        files.iter().fold(Gcwatch::new().args("report --format json"), |gcwatch, file| gcwatch.arg(file));
    let replayed = Document::parse(&replay.output()?.expect(0)?.stdout)?;
    replayed.nothing_lost()?;
    let (some, all) = (replayed.complete()?.len(), document.complete()?.len());
    ensure!(10 < some && some < all, "{some} collections were recorded, {all} watched");
    for gc in replayed.complete()? {
        let live = document.gc(gc.uint("/number")?)?;
        ensure!(live["complete"] != true || gc["pause_ns"] == live["pause_ns"], "GC {}", gc["number"]);
    }
    // gcwatch warns of too little space before it is used up.
    let ended = run_to_end(gcwatch("", WORK)?, Vec::new())?.expect(0)?;
    ended.says(&["MiB are free", "another --record path"])?;
    let ended = run_to_end(gcwatch("--rotate 20MiB,3", WORK)?, Vec::new())?.expect(0)?;
    ended.says(&["may take 60 MiB", "smaller --rotate"])?;
    Ok(())
}
