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
    suite.once("diff::several_runs_a_side", &[], several_runs);
    suite.once("diff::what_differs_is_named_and_refused", &[], differs);
    suite.once("diff::directories_and_patterns", &[], many_files);
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

/// What was printed, without its line breaks.
fn in_line(ended: &Ended) -> Result<String> {
    Ok(ended.out()?.split_whitespace().collect::<Vec<_>>().join(" "))
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
    let words = in_line(&ended)?;
    ensure!(words.contains("the level differs: basic before, moves after"), "{words}");
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

/// Documents of one run whose pauses are changed by known factors, as if it had been watched several times.
fn runs_of(document: &Value, dir: &Path, name: &str, factors: &[f64]) -> Result<Vec<PathBuf>> {
    let write = |(n, factor): (usize, &f64)| {
        let mut copy = document.clone();
        for gc in copy["gcs"].as_array_mut().context("no list")? {
            let pause = gc["pause_ns"].as_f64().unwrap_or(0.0);
            gc["pause_ns"] = ((pause * factor) as u64).into();
        }
        let path = dir.join(format!("{name}{n}.json"));
        std::fs::write(&path, copy.to_string())?;
        Ok(path)
    };
    factors.iter().enumerate().map(write).collect()
}

/// A change breaks a bound only if the spread between runs is not its reason.
fn several_runs(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (_, one) = watch(clr, dir.path(), "one", "--level basic", "work=150000 live=5000")?;
    let document: Value = serde_json::from_slice(&std::fs::read(one)?)?;
    let runs = |name: &str, factors: &[f64]| runs_of(&document, dir.path(), name, factors);
    let before = runs("before", &[1.0, 1.02, 0.98, 1.04, 0.96])?;
    let slower = runs("slower", &[1.2, 1.22, 1.18, 1.24, 1.17])?;
    let mixed = runs("mixed", &[1.3, 1.4, 0.97, 1.35, 1.25])?;
    let diff = |before: &[PathBuf], after: &[PathBuf], options: &[&str], code: i32| {
        let gcwatch = options.iter().fold(Gcwatch::new().arg("diff"), |g, option| g.arg(option));
        let gcwatch = before.iter().fold(gcwatch, |g, file| g.arg(file)).arg("--");
        after.iter().fold(gcwatch, |g, file| g.arg(file)).output()?.expect(code)
    };
    let bound = ["--fail-on", "pause.p50 > +10%"];
    let json = [&bound[..], &["--format", "json"]].concat();
    let ended = diff(&before, &slower, &json, 10)?;
    let compared: Value = serde_json::from_slice(&ended.stdout)?;
    ensure!(
        compared["schema"] == "gcwatch-diff-runs/1" && compared["fail_on"][0]["fails"] == true,
        "{compared}"
    );
    let pause = row(&compared, "pause.p50")?;
    ensure!((pause["change_percent"].as_f64().unwrap_or(0.0) - 20.0).abs() < 1.5, "{pause}");
    // Of the 252 ways to deal ten ranks out, the two most extreme ones.
    ensure!((pause["p"].as_f64().unwrap_or(1.0) - 2.0 / 252.0).abs() < 1e-9, "{pause}");
    ensure!(row(&compared, "gc.count")?["judged"] == false, "only the bounds are judged");
    let text = diff(&before, &slower, &bound, 10)?;
    ensure!(
        text.out()?.contains("FAIL  pause.p50 > +10%") && text.out()?.contains("beyond noise"),
        "{text:?}"
    );
    ensure!(!text.out()?.contains("within noise"), "{}", text.out()?);

    // A larger change of the medians, but one run is among those before: noise.
    let text = diff(&before, &mixed, &bound, 0)?;
    ensure!(in_line(&text)?.contains("within noise; to find such a change 4 times in 5"), "{}", text.out()?);
    // Beyond noise, and below the bound.
    diff(&before, &slower, &["--fail-on", "pause.p50 > +30%"], 0)?;
    diff(&slower, &before, &bound, 0)?;
    // Too few runs cannot be judged, and say how many could.
    let few = diff(&before[..4], &slower[..4], &bound, 11)?;
    ensure!(few.out()?.contains("it takes 5 runs a side"), "{}", few.out()?);
    diff(&before[..1], &slower, &bound, 11)?;
    // More bounds need clearer changes.
    let two = [&bound[..], &["--fail-on", "pause.max > +10%"]].concat();
    let few = diff(&before, &slower, &two, 11)?;
    ensure!(few.out()?.contains("it takes 6 runs a side"), "{}", few.out()?);
    let markdown = diff(&before, &slower, &[&bound[..], &["--format", "markdown"]].concat(), 10)?;
    ensure!(markdown.out()?.contains("| `pause.p50` |"), "{}", markdown.out()?);
    // Without bounds all metrics are judged.
    let all = diff(&before, &slower, &[], 0)?;
    ensure!(all.out()?.contains("too few runs"), "{}", all.out()?);

    let same_twice = [before[0].clone(), before[0].clone()];
    diff(&same_twice, &slower, &[], 2)?.says(&["given twice"])?;
    let gcwatch = before.iter().fold(Gcwatch::new().arg("diff"), |g, file| g.arg(file));
    gcwatch.output()?.expect(2)?.says(&["which of them come before the change", "--"])?;
    Gcwatch::new().arg("diff").arg(&before[0]).output()?.expect(2)?.says(&["nothing to be compared with"])?;
    // One run a side is compared as ever, and says what it cannot tell.
    let one = diff(&before[..1], &slower[..1], &bound, 10)?;
    ensure!(in_line(&one)?.contains("5 runs a side can"), "{}", one.out()?);
    ensure!(!one.out()?.lines().any(|l| l.starts_with("FAIL") && l.contains("within noise")), "{one:?}");
    Ok(())
}

/// Runs that differ in more than what is compared are named first; with `--strict` there is no comparison.
fn differs(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let work = "work=150000 live=5000";
    let (recording, one) = watch(clr, dir.path(), "one", "--level basic", work)?;
    let document: Value = serde_json::from_slice(&std::fs::read(&one)?)?;
    let changed = |name: &str, pointer: &str, value: Value| -> Result<PathBuf> {
        let mut copy = document.clone();
        *copy.pointer_mut(pointer).with_context(|| format!("no {pointer}"))? = value;
        let path = dir.path().join(name);
        std::fs::write(&path, copy.to_string())?;
        Ok(path)
    };
    // A recording and its document are of one run.
    diff(&recording, &one, &["--strict"], 0)?;
    let line = document["target"]["command_line"].as_str().context("no command line")?;
    let elsewhere = line.replace("/churn.dll", "/elsewhere/churn.dll");
    ensure!(elsewhere != line, "{line}");
    diff(&one, &changed("elsewhere", "/target/command_line", elsewhere.into())?, &["--strict"], 0)?;
    let duration_ns = document["watch"]["duration_ns"].as_u64().context("no duration")?;
    for (name, pointer, value, words) in [
        (
            "program",
            "/target/command_line",
            "dotnet other.dll".into(),
            "program differs: churn.dll before, other.dll after",
        ),
        (
            "arguments",
            "/target/command_line",
            line.replace("live=5000", "live=9").into(),
            "arguments differ:",
        ),
        ("runtime", "/target/runtime/version", "8.0.1".into(), "runtime differs:"),
        ("system", "/target/runtime/os", "Windows".into(), "system differs:"),
        ("gc", "/target/gc/server", true.into(), "GC differs: workstation before, server after"),
        ("processors", "/target/processors", 999.into(), "number of processors differs:"),
        ("level", "/watch/level", "moves".into(), "level differs: basic before, moves after"),
        ("events", "/lost/events", 7.into(), "events were lost"),
        ("end", "/lost/gap", "target-killed".into(), "cut off"),
        ("crash", "/exit/child", 134.into(), "ended with a failure of the program"),
    ] {
        let after = changed(name, pointer, value)?;
        let named = diff(&one, &after, &[], 0)?;
        let first = named.out()?.lines().nth(2).unwrap_or_default().to_owned();
        let text = in_line(&named)?;
        ensure!(first.starts_with("gcwatch: ") && text.contains(words), "{name}: {text}");
        diff(&one, &after, &["--strict"], 11)?.says(&["not compared (--strict)", words, "do:"])?;
    }
    // A program that takes longer to its own end is compared; a watch that was ended earlier is not.
    let longer = changed("longer", "/watch/duration_ns", (duration_ns * 3).into())?;
    let text = in_line(&diff(&one, &longer, &["--strict"], 0)?)?;
    ensure!(text.contains("before lasted"), "{text}");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&longer)?)?;
    document["exit"]["reason"] = "duration".into();
    std::fs::write(&longer, document.to_string())?;
    diff(&one, &longer, &["--strict"], 11)?.says(&["not compared (--strict)", "before lasted", "do:"])?;
    Ok(())
}

/// A directory stands for the recordings and documents in it, and a pattern for what it matches.
fn many_files(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (_, one) = watch(clr, dir.path(), "one", "--level basic", "work=150000 live=5000")?;
    let document: Value = serde_json::from_slice(&std::fs::read(one)?)?;
    let side = |name: &str, factors: &[f64]| -> Result<PathBuf> {
        let side = dir.path().join(name);
        std::fs::create_dir(&side)?;
        runs_of(&document, &side, "run", factors)?;
        std::fs::write(side.join("notes.txt"), "no run")?;
        Ok(side)
    };
    let before = side("before", &[1.0, 1.02, 0.98, 1.04, 0.96])?;
    let after = side("after", &[1.2, 1.22, 1.18, 1.24, 1.17])?;
    let bound = ["--fail-on", "pause.p50 > +10%", "--format", "json"];
    let compared = |before: &Path, after: &Path| -> Result<Value> {
        Ok(serde_json::from_slice(&diff(before, after, &bound, 10)?.stdout)?)
    };
    let directories = compared(&before, &after)?;
    let patterns = compared(&before.join("*.json"), &after.join("run[0-9].json"))?;
    for document in [&directories, &patterns] {
        ensure!(document["before"].as_array().map(Vec::len) == Some(5), "{document}");
        ensure!(document["fail_on"][0]["fails"] == true, "{document}");
    }
    // All of them are copies of one run.
    let gcwatch = Gcwatch::new().args("diff --strict").arg(&before).arg(&after);
    gcwatch.output()?.expect(11)?.says(&["9 runs are a copy of another one"])?;
    // The bound is the smallest change that breaks it; --min-effect only decides what is called worse.
    let text = diff(&before, &after, &["--fail-on", "pause.p50 > +10%", "--min-effect", "50%"], 10)?;
    ensure!(text.out()?.contains("differs, below 50 %"), "{}", text.out()?);
    diff(&before, &after, &["--min-effect", "x"], 2)?.says(&["is not a percentage"])?;
    let unwritable = ["-o", "/nonexistent/diff.txt"];
    diff(&before, &after, &unwritable, 1)?.says(&["cannot write /nonexistent", "choose another --output"])?;
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty)?;
    diff(&before, &empty, &[], 12)?.says(&["no recording and no document in", "do:"])?;
    diff(&before, &dir.path().join("*.nothing"), &[], 12)?.says(&["no file matches"])?;
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
        file("several.json", "{\"schema\":\"gcwatch/1\",\"processes\":[],\"summary\":{}}")?,
        file("parts.json", "{\"schema\":\"gcwatch/1\",\"gcs\":[],\"summary\":{}}")?,
    ] {
        let ended = diff(&bad, &bad, &[], 12)?;
        ended.says(&[&bad.display().to_string(), "do:"])?;
    }
    let any = file("any", "x")?;
    diff(&any, &any, &["--fail-on", "puase.max > 1%"], 2)?.says(&["pause"])?;
    for never in ["pause.max < +10%", "pause.max <= 0ms", "gc.count == 0"] {
        diff(&any, &any, &["--fail-on", never], 2)?.says(&["names no change that must not occur"])?;
    }
    diff(&any, &any, &["--fail-on", "pause.max > +1MiB"], 2)?.says(&["it is a time"])?;
    Ok(())
}
