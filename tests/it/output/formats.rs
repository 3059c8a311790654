//! One recording in every format: all have the same figures.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::Suite;
use crate::it::support::{Document, Gcwatch};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("formats::agree_on_a_recording", &[], agree);
    suite.once("formats::scrape_file_is_replaced_as_a_whole", &[], scrape_file);
}

const BOUNDS: [&str; 3] = ["gc.gen2.count<=0", "pause.max<60s", "heap.growth.percent>-1000"];

fn agree(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let recording = dir.path().join("out.nettrace");
    Gcwatch::on(clr)
        .envs([("DOTNET_GCgen0size", "400000")])
        .args("run -q --record")
        .arg(&recording)
        .app(clr, "churn", "work=150000 live=5000")?
        .output()?
        .expect(0)?;
    let report = |format: &str| -> Result<String> {
        let gcwatch = Gcwatch::new().args("report --format").arg(format);
        let gcwatch = BOUNDS.iter().fold(gcwatch, |g, bound| g.arg("--assert").arg(bound));
        let ended = gcwatch.arg(&recording).output()?.expect(10)?;
        let said = ended.stderr.lines().last().unwrap_or_default();
        ensure!(said == "1 of 3 assertions does not hold", "{format}: {}", ended.stderr);
        Ok(ended.out()?.to_owned())
    };
    let document = Document::parse(report("json")?.as_bytes())?;
    csv(&report("csv")?, &document)?;
    junit(&report("junit")?)?;
    markdown(&report("markdown")?, &document)?;
    open_metrics(&report("openmetrics")?, &document)
}

/// Compares cells by column name, read with the `csv` crate.
fn csv(text: &str, document: &Document) -> Result<()> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers()?.clone();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>()?;
    let gcs = document.gcs()?;
    ensure!(rows.len() == gcs.len(), "{} rows, {} collections", rows.len(), gcs.len());
    for (row, gc) in rows.iter().zip(gcs) {
        let cell = |name: &str| columns.iter().position(|c| c == name).and_then(|at| row.get(at));
        for (name, pointer) in [
            ("number", "/number"),
            ("generation", "/generation"),
            ("kind", "/kind"),
            ("reason", "/reason"),
            ("induced", "/induced"),
            ("pause_ns", "/pause_ns"),
            ("heap_after_bytes", "/heap_after_bytes"),
            ("promoted_bytes", "/promoted_bytes"),
            ("committed_bytes", "/committed_bytes"),
            ("moved_blocks", "/moved/blocks"),
            ("moved_bytes", "/moved/bytes"),
            ("surviving_bytes", "/surviving/bytes"),
            ("roots_total", "/roots/total"),
            ("roots_stack", "/roots/by_kind/stack"),
            ("roots_pinning", "/roots/by_flag/pinning"),
            ("callback_ns", "/cost/callback_ns"),
            ("caused_by_watching_ns", "/caused_by_watching_ns"),
        ] {
            let expected = match gc.pointer(pointer) {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            ensure!(cell(name) == Some(expected.as_str()), "{name}: {:?}, JSON {expected}", cell(name));
        }
    }
    Ok(())
}

/// A JUnit document by a reader that wants a time zone in time stamps, where Ant's schema forbids it.
pub(crate) fn read_junit(xml: &str) -> Result<quick_junit::Report> {
    let zoned = regex::Regex::new("timestamp=\"([0-9T:-]+)\"")?.replace_all(xml, "timestamp=\"${1}Z\"");
    quick_junit::Report::deserialize_from_str(&zoned).with_context(|| xml.to_owned())
}

fn junit(xml: &str) -> Result<()> {
    let report = read_junit(xml)?;
    let cases = &report.test_suites[0].test_cases;
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    ensure!(names == ["watch", "gc.gen2.count", "pause.max", "heap.growth.percent"], "{names:?}");
    let good: Vec<bool> =
        cases.iter().map(|c| matches!(c.status, quick_junit::TestCaseStatus::Success { .. })).collect();
    ensure!(good == [true, false, true, true] && report.failures == 1, "{good:?}: {xml}");
    Ok(())
}

fn markdown(text: &str, document: &Document) -> Result<()> {
    let gen2 = document.complete()?.iter().filter(|gc| gc["generation"] == 2).count();
    let row = text.lines().find(|line| line.starts_with("| gen2 |")).context("no row for gen2")?;
    ensure!(row.starts_with(&format!("| gen2 | {gen2} |")), "{gen2}: {row}");
    ensure!(
        text.contains("1 of 3 assertions does not hold") && text.contains("`gc.gen2.count<=0`"),
        "{text}"
    );
    let place = |part: &str| text.find(part).with_context(|| format!("no {part}: {text}"));
    let findings = place("In short: ").or_else(|_| place("1. **"))?;
    ensure!(place("❌ **1 of 3")? < findings && findings < place("<details>")?, "{text}");
    // All rows of a table have as many cells as its header.
    for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
        let widths: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
        ensure!(widths.iter().all(|width| *width == widths[0]), "{table}");
    }
    Ok(())
}

/// The value of the only sample of this name and label.
fn sample(text: &str, name: &str, label: &str) -> Result<f64> {
    let mut found =
        text.lines().filter(|line| line.starts_with(&format!("{name}{{")) && line.contains(label));
    let line = found.next().with_context(|| format!("no {name} with {label}"))?;
    ensure!(found.next().is_none(), "two of {name} with {label}");
    Ok(line.rsplit(' ').next().context("no value")?.parse()?)
}

fn open_metrics(text: &str, document: &Document) -> Result<()> {
    ensure!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
    let complete = document.complete()?;
    let of_gen2: Vec<f64> =
        complete.iter().filter(|gc| gc["generation"] == 2).filter_map(|gc| gc["pause_ns"].as_f64()).collect();
    let count = sample(text, "gcwatch_collections_total", "generation=\"2\"")?;
    ensure!(count == of_gen2.len() as f64, "{count}: {of_gen2:?}");
    let total = sample(text, "gcwatch_pause_seconds_sum", "generation=\"2\"")?;
    let expected = of_gen2.iter().sum::<f64>() / 1e9;
    ensure!((total - expected).abs() < 1e-9, "{total}: {expected}");
    let last = complete.last().context("no collection")?["heap_after_bytes"].as_f64();
    ensure!(Some(sample(text, "gcwatch_heap_after_bytes", "pid=")?) == last, "{last:?}");
    let moved: f64 = complete.iter().filter_map(|gc| gc["moved"]["bytes"].as_f64()).sum();
    ensure!(sample(text, "gcwatch_moved_bytes_total", "pid=")? == moved, "{moved}");
    // Each sample comes after the type of its family.
    let mut family = "";
    for line in text.lines().filter(|line| *line != "# EOF") {
        match line.strip_prefix("# TYPE ") {
            Some(rest) => family = rest.split(' ').next().unwrap_or_default(),
            None if line.starts_with('#') => {}
            None => ensure!(line.starts_with(family), "{line} below {family}"),
        }
    }
    Ok(())
}

/// At the end, the file has all collections, and no temporary file remains.
fn scrape_file(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("gc.prom");
    let ended = Gcwatch::on(clr)
        .envs([("DOTNET_GCgen0size", "400000")])
        .args("run --format openmetrics -o")
        .arg(&path)
        .app(clr, "churn", "work=150000 live=5000")?
        .output()?
        .expect(0)?;
    let text = std::fs::read_to_string(&path)?;
    let all: f64 = text
        .lines()
        .filter(|line| line.starts_with("gcwatch_collections_total{"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum();
    let counted = crate::it::support::number(ended.out()?, "gc0")?;
    ensure!(all == counted as f64 && text.ends_with("# EOF\n"), "{counted}: {text}");
    let left: Vec<_> = std::fs::read_dir(dir.path())?.collect::<Result<_, _>>()?;
    ensure!(left.len() == 1, "{left:?}");
    Ok(())
}
