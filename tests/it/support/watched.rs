//! Steps that several tests take.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use super::{DEADLINE, Document, Gcwatch, Json, lines, number, until};

/// The collections that a program counted itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GcFacts {
    /// Collections of generation N and above, by `GC.CollectionCount(N)`.
    pub(crate) at_least: [u64; 3],
}

impl GcFacts {
    /// Reads them from the program's output.
    pub(crate) fn of(text: &str) -> Result<GcFacts> {
        Ok(GcFacts { at_least: [number(text, "gc0")?, number(text, "gc1")?, number(text, "gc2")?] })
    }
}

/// Every collection that the program counted has exactly one record, of the right generation; all other records are of
/// collections after that count.
pub(crate) fn check_counts(document: &Document, facts: GcFacts) -> Result<()> {
    let mut numbers = Vec::new();
    for gc in document.gcs()? {
        numbers.push((gc.uint("/number")?, gc.uint("/generation")?));
    }
    numbers.sort_unstable();
    let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
    let got: Vec<u64> = numbers.iter().map(|(number, _)| *number).collect();
    ensure!(got == expected, "numbers are missing or repeated: {got:?}");
    let [counted, ..] = facts.at_least;
    ensure!(got.len() as u64 >= counted, "{} records, but the program counted {counted}", got.len());
    for (generation, fact) in (0..).zip(facts.at_least) {
        let of = |last: u64| numbers.iter().filter(|(n, g)| *n <= last && *g >= generation).count() as u64;
        // The program reads its three counters one after the other.
        let (least, most) = (of(counted), of(u64::MAX));
        ensure!(
            (least..=most).contains(&fact),
            "gen{generation} and above: {least} records up to GC {counted}, {most} in all, the program counted {fact}"
        );
    }
    Ok(())
}

/// Options that demand roots from an emulated program. An estimate would take the emulator's memory for the program's.
pub(crate) fn no_estimate(clr: &Clr) -> &'static str {
    if clr.is_emulated() { "--level roots" } else { "" }
}

/// Attaches with `--format json` to a file; returns when the watch has started.
pub(crate) fn start_attach(clr: &Clr, pid: u32, options: &str, document: &Path) -> Result<Target> {
    let is_given = ["--level", "--sample"].iter().any(|option| options.contains(option));
    let mut gcwatch = Gcwatch::on(clr)
        .args("attach --format json")
        .args(options)
        .args(if is_given { "" } else { no_estimate(clr) })
        .option("-o", document)
        .arg(pid.to_string())
        .spawn()?;
    wait_for_start(&mut gcwatch, document)?;
    Ok(gcwatch)
}

/// Starts a program and attaches at `roots` with `--format ndjson` to a file; returns when the watch has started.
pub(crate) fn start_lines(clr: &Clr, app: &str, path: &Path) -> Result<(Target, Target)> {
    let mut program = Target::app(clr, app, &[], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    let mut gcwatch = Gcwatch::on(clr)
        .args("attach --level roots --format ndjson -o")
        .arg(path)
        .arg(program.pid().to_string())
        .spawn()?;
    wait_for_start(&mut gcwatch, path)?;
    Ok((program, gcwatch))
}

/// Lets such a program end, and returns all lines.
pub(crate) fn end_lines(mut program: Target, mut gcwatch: Target, path: &Path) -> Result<Vec<Value>> {
    program.send_line("exit")?;
    let status = program.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {program:?}");
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    lines(&std::fs::read(path)?)
}

/// The line of a collection, as soon as it is written.
pub(crate) fn line_of(document: &Path, number: u64) -> Result<Value> {
    let mut found = None;
    until("the collection's line", DEADLINE, || {
        let text = std::fs::read_to_string(document)?;
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        for line in whole.lines() {
            let line: Value = serde_json::from_str(line)?;
            if line["type"] == "gc" && line["number"] == number {
                found = Some(line);
            }
        }
        Ok(found.is_some())
    })?;
    found.context("no line")
}

/// Waits for the start of the watch: gcwatch then writes the beginning of the document.
pub(crate) fn wait_for_start(gcwatch: &mut Target, document: &Path) -> Result<()> {
    let begun = || Ok(std::fs::read(document).is_ok_and(|bytes| !bytes.is_empty()));
    until("the document to begin", DEADLINE, begun).with_context(|| format!("{gcwatch:?}"))
}

/// Attaches with options that end the watch, and returns its document.
pub(crate) fn attach_json(clr: &Clr, pid: u32, options: &str) -> Result<Document> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    Gcwatch::on(clr)
        .args("attach --format json")
        .args(options)
        .option("-o", &path)
        .arg(pid.to_string())
        .output()?
        .expect(0)?;
    Document::read(&path)
}
