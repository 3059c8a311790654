//! `gcwatch diff` compares recordings and documents.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::Suite;
use crate::it::support::{Document, Ended, Gcwatch};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("diff::of_recordings_and_documents", &[], compares);
    suite.once("diff::watches_of_different_length_are_compared_per_second", &[], longer);
    suite.plain("diff::mistakes", mistakes);
}

/// Runs the program once; returns its recording and its document.
fn watch(clr: &Clr, dir: &Path, name: &str, options: &str, work: &str) -> Result<(PathBuf, PathBuf)> {
    let recording = dir.join(format!("{name}.nettrace"));
    let document = dir.join(format!("{name}.json"));
    Gcwatch::on(clr)
        .envs([("DOTNET_GCgen0size", "400000")])
        .args("run --format json")
        .args(options)
        .option("--record", &recording)
        .option("-o", &document)
        .app(clr, "churn", work)?
        .output()?
        .expect(0)?;
    Ok((recording, document))
}

fn diff(before: &Path, after: &Path, options: &[&str], code: i32) -> Result<Ended> {
    let gcwatch = options.iter().fold(Gcwatch::new().arg("diff"), |g, option| g.arg(option));
    gcwatch.arg(before).arg(after).output()?.expect(code)
}

fn row<'d>(diff: &'d Value, metric: &str) -> Result<&'d Value> {
    let rows = diff["metrics"].as_array().context("no metrics")?;
    rows.iter().find(|row| row["metric"] == metric).with_context(|| format!("no {metric}"))
}

fn compares(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let less = watch(clr, dir.path(), "less", "--level moves", "work=150000 live=5000")?;
    let more = watch(clr, dir.path(), "more", "--level moves", "work=300000 live=40000")?;

    // A run is not worse than itself, be it given as a recording or as a document.
    let same = diff(&less.0, &less.1, &["--format", "json", "--fail-on", "pause.p99 > 0%"], 0)?;
    let same: Value = serde_json::from_slice(&same.stdout)?;
    for row in same["metrics"].as_array().context("no metrics")? {
        ensure!(row["before"] == row["after"] && row["noise"]["beyond"] != true, "{row}");
    }

    // The figures are those of the documents.
    let bounds = ["--format", "json", "--fail-on", "gc.count > -100%", "--fail-on", "gc.count < -100%"];
    let ended = diff(&less.1, &more.0, &bounds, 10)?;
    let compared: Value = serde_json::from_slice(&ended.stdout)?;
    for (side, document) in [("before", &less.1), ("after", &more.1)] {
        let document = Document::read(document)?;
        let complete = document.complete()?;
        let mut pauses: Vec<u64> = complete.iter().filter_map(|gc| gc["pause_ns"].as_u64()).collect();
        pauses.sort_unstable();
        let rank = (pauses.len() as f64 * 0.9).ceil() as usize;
        let moved: u64 = complete.iter().filter_map(|gc| gc["moved"]["bytes"].as_u64()).sum();
        let gen2 = complete.iter().filter(|gc| gc["generation"] == 2).count();
        ensure!(row(&compared, "gc.count")?[side] == complete.len(), "{side}");
        ensure!(row(&compared, "gc.gen2.count")?[side] == gen2, "{side}");
        ensure!(row(&compared, "pause.p90")?[side] == pauses[rank - 1], "{side}");
        ensure!(row(&compared, "pause.total")?[side] == pauses.iter().sum::<u64>(), "{side}");
        let last = complete.last().context("no collection")?["heap_after_bytes"].as_u64();
        ensure!(row(&compared, "heap.after.last")?[side].as_u64() == last, "{side}");
        let mean = row(&compared, "moved.bytes.mean")?[side].as_f64().context("no mean")?;
        ensure!((mean - moved as f64 / complete.len() as f64).abs() < 1.0, "{side}: {mean}");
    }
    ensure!(
        compared["fail_on"][0]["fails"] == true && compared["fail_on"][1]["fails"] == false,
        "{compared}"
    );
    // The second run keeps eight times as many objects alive.
    let promoted = row(&compared, "promoted.mean")?;
    ensure!(promoted["change"].as_f64() > Some(0.0), "{promoted}");

    let text = diff(&less.0, &more.0, &["--fail-on", "gc.count > -100%"], 10)?;
    let text = text.out()?;
    ensure!(text.contains("FAIL  gc.count > -100%") && text.contains("bootstrap"), "{text}");
    ensure!(text.lines().all(|line| line.chars().count() <= 80 || line.contains(".nettrace")), "{text}");
    // This level has no roots.
    diff(&less.0, &more.0, &["--fail-on", "roots.stack.max > 1%"], 11)?;

    // The report says when levels differ.
    let basic = watch(clr, dir.path(), "basic", "--level basic", "work=150000 live=5000")?;
    let ended = diff(&basic.0, &less.0, &[], 0)?;
    let words = ended.out()?.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(words.contains("watched at `basic` before and `moves` after"), "{ended:?}");
    Ok(())
}

/// The same program, watched five times as long.
fn longer(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (_, short) = watch(clr, dir.path(), "short", "--level basic", "work=150000 live=5000")?;
    let mut document: Value = serde_json::from_slice(&std::fs::read(&short)?)?;
    let gcs = document["gcs"].as_array().context("no list")?.clone();
    document["gcs"] = std::iter::repeat_n(gcs, 5).flatten().collect();
    let duration = document["watch"]["duration_ns"].as_f64().context("no length")?;
    document["watch"]["duration_ns"] = ((duration * 5.0) as u64).into();
    let long = dir.path().join("long.json");
    std::fs::write(&long, document.to_string())?;
    let bounds =
        ["--fail-on", "gc.count > +1%", "--fail-on", "gc.count > 1", "--fail-on", "pause.total > +1%"];
    let json = diff(&short, &long, &[&bounds[..], &["--format", "json"]].concat(), 0)?;
    let compared: Value = serde_json::from_slice(&json.stdout)?;
    for metric in ["gc.count", "pause.total"] {
        let row = row(&compared, metric)?;
        let (before, after) = (row["before"].as_f64(), row["after"].as_f64());
        ensure!(before > Some(0.0) && before.map(|n| n * 5.0) == after, "{row}");
        let rate = row["before_per_second"].as_f64().context("no rate")?;
        ensure!((rate - before.unwrap_or(0.0) / (duration / 1e9)).abs() < rate / 1000.0, "{row}");
        ensure!(row["change_percent"].as_f64().is_some_and(|change| change.abs() < 0.01), "{row}");
        ensure!(row["noise"]["beyond"] != true, "{row}");
    }
    ensure!(row(&compared, "pause.p50")?["before_per_second"].is_null(), "a median has no rate");
    ensure!(compared["warnings"].to_string().contains("per second"), "{}", compared["warnings"]);
    let text = diff(&short, &long, &bounds, 0)?;
    let line = text.out()?.lines().find(|line| line.starts_with("gc.count")).context("no gc.count")?;
    let words = text.out()?.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(line.contains("/s") && words.contains("compared per second"), "{}", text.out()?);
    // Half as many collections in the same time are a change.
    let bound = ["--fail-on", "gc.count < -40%"];
    document["watch"]["duration_ns"] = ((duration * 10.0) as u64).into();
    std::fs::write(&long, document.to_string())?;
    diff(&short, &long, &bound, 10)?;
    Ok(())
}

fn mistakes() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> Result<PathBuf> {
        let path = dir.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    };
    let missing = dir.path().join("missing.json");
    for bad in [
        missing,
        file("empty", "")?,
        file("text", "hello")?,
        file("cut.json", "{\"schema\":\"gcwatch/1\",\"gcs\":[")?,
        file("other.json", "{\"schema\":\"gcwatch/9\",\"gcs\":[]}")?,
        file("some.json", "{\"a\":1}")?,
    ] {
        let ended = diff(&bad, &bad, &[], 12)?;
        ended.says(&[&bad.display().to_string(), "do:"])?;
    }
    let any = file("any", "x")?;
    diff(&any, &any, &["--fail-on", "puase.max > 1%"], 2)?.says(&["pause"])?;
    diff(&any, &any, &["--fail-on", "pause.max > +1MiB"], 2)?.says(&["it is a time"])?;
    Ok(())
}
