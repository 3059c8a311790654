//! What allocates, and who asks for collections: against a program that counts both itself.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::Suite;
use crate::it::support::{DEADLINE, Document, Gcwatch, Json, Signal, number, signal, start_attach, until};

/// How many standard errors an estimate may be off. Rows of [`MIN_BYTES`] have 200 samples and more: one that is drawn
/// fairly is further off once in some 10^8 runs.
const STANDARD_ERRORS: f64 = 7.0;
/// Of less there are too few samples.
const MIN_BYTES: u64 = 20_000_000;
/// What .NET 10 may miss of the program's largest objects: each is missed with a probability below 10^-5, so three of them
/// are once in some 10^8 runs.
const TWO_LARGEST_BYTES: f64 = 2.0 * 8.0 * 300_000.0;
/// By how much the runtime rounds the size of a large object up.
const ROUNDED_BYTES: u64 = 32;

pub(crate) fn register(suite: &mut Suite) {
    suite.each("allocations::known_objects_in_run", &[], |clr| in_run(clr, "basic"));
    suite.once("allocations::known_objects_at_roots", &[], |clr| in_run(clr, "roots"));
    suite.each("allocations::known_objects_in_attach", &[], in_attach);
    suite.each("allocations::large_objects_have_an_owner", &[], owner);
    suite.each("allocations::callers_in_run", &[], callers_in_run);
    suite.each("allocations::callers_in_attach", &[], callers_in_attach);
    suite.each("allocations::callers_of_a_killed_program", &[], killed);
}

/// What a method allocated of a type.
#[derive(Debug, Clone, Copy, Default)]
struct Made {
    objects: u64,
    bytes: u64,
}

/// What the program says of itself.
#[derive(Debug, Default)]
struct Truth {
    /// By method, type and heap.
    made: BTreeMap<(String, String, String), Made>,
    asked: BTreeMap<String, u64>,
    all_bytes: u64,
}

impl Truth {
    fn of<'l>(lines: impl Iterator<Item = &'l str>) -> Result<Truth> {
        let mut truth = Truth::default();
        for line in lines {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["made", method, type_name, heap, objects, bytes] => {
                    let made = Made { objects: objects.parse()?, bytes: bytes.parse()? };
                    truth.made.insert((method.into(), type_name.into(), heap.into()), made);
                }
                ["asked", method, count] => {
                    truth.asked.insert(method.replace('|', " "), count.parse()?);
                }
                ["done", ..] => truth.all_bytes = number(line, "all")?,
                _ => {}
            }
        }
        ensure!(truth.made.len() == 8 && truth.asked.len() == 3 && truth.all_bytes > 0, "{truth:?}");
        Ok(truth)
    }

    /// Added up by one part of the key.
    fn by(&self, part: impl Fn(&(String, String, String)) -> String) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for (key, made) in &self.made {
            *sums.entry(part(key)).or_default() += made.bytes;
        }
        sums.retain(|_, bytes| *bytes >= MIN_BYTES);
        sums
    }
}

/// Compares estimates, of which a name may have several rows, with the truth.
fn estimated(rows: &[Value], name: &str, truth: &BTreeMap<String, u64>) -> Result<()> {
    for (own, bytes) in truth {
        let (mut estimate, mut variance) = (0.0, 0.0);
        for row in rows.iter().filter(|row| row[name] == own.as_str()) {
            estimate += row.uint("/estimate/bytes")? as f64;
            variance += (row.uint("/estimate/standard_error_bytes")? as f64).powi(2);
        }
        let off = (estimate - *bytes as f64).abs();
        let allowed = STANDARD_ERRORS * variance.sqrt() + TWO_LARGEST_BYTES;
        ensure!(
            off <= allowed,
            "{own} allocated {bytes} bytes, the estimate is {estimate}, with an error of {}",
            variance.sqrt()
        );
    }
    Ok(())
}

fn agrees(clr: &Clr, document: &Document, truth: &Truth) -> Result<()> {
    document.nothing_lost()?;
    let allocations = document.0.place("/summary/allocations")?;
    let sampled = !["8.", "9."].iter().any(|old| clr.name.starts_with(old));
    ensure!(allocations["source"] == if sampled { "sampled" } else { "ticks" }, "{}", allocations["source"]);
    ensure!(allocations["methods_known"] == true, "no methods");

    // The runtime's start, the program's counting and its last lines allocate too.
    const REST_BYTES: f64 = 3e6;
    let all = allocations.uint("/all/bytes")? as f64;
    let error = allocations.uint("/all/standard_error_bytes")? as f64;
    let own = truth.all_bytes as f64;
    let slack = STANDARD_ERRORS * error + TWO_LARGEST_BYTES;
    ensure!(all >= own - slack && all <= own + slack + REST_BYTES, "{all} of {own}, error {error}");

    estimated(allocations.list("/types")?, "type", &truth.by(|(_, type_name, _)| type_name.clone()))?;
    estimated(allocations.list("/methods")?, "method", &truth.by(|(method, ..)| method.clone()))?;
    let methods = allocations.list("/methods")?;
    let by_list = methods
        .iter()
        .any(|row| row["method"] == "Allocations.Lists" && row["innermost"] == "List<long> (constructor)");
    ensure!(by_list, "the constructor of List allocates for the program: {methods:?}");

    for ((method, type_name, _), made) in truth.made.iter().filter(|((.., heap), _)| heap == "large") {
        let rows = allocations.list("/large_objects")?;
        let row =
            rows.iter().find(|row| row["method"] == method.as_str() && row["type"] == type_name.as_str());
        let row = row.with_context(|| format!("{method} is not among {rows:?}"))?;
        if sampled {
            let only = BTreeMap::from([(method.clone(), made.bytes)]);
            estimated(std::slice::from_ref(row), "method", &only)?;
        } else {
            // Each of these has a tick of its own.
            let seen = row.uint("/estimate/seen_bytes")?;
            ensure!(row.uint("/estimate/samples")? == made.objects, "{row} of {made:?}");
            ensure!(seen.abs_diff(made.bytes) <= ROUNDED_BYTES * made.objects, "{row} of {made:?}");
        }
    }
    before_collections(allocations)
}

/// What the runtime was asked for most before the collections that the budget for large objects caused.
fn before_collections(allocations: &Value) -> Result<()> {
    let before = allocations.list("/before")?;
    let large = before.iter().find(|row| row["generation"] == 2 && row["reason"] == "alloc_loh");
    let most = large.context("no collection because of large objects")?.place("/rows/0")?;
    ensure!(most["type"] == "double[]" && most["heap"] == "large", "{most}");
    ensure!(most["method"] == "Allocations.LargeNumbers", "{most}");
    Ok(())
}

/// The methods that called GC.Collect, as often as they counted themselves; and nobody is blamed for a budget that has
/// allocated nothing of its kind.
fn named(document: &Document, truth: &Truth) -> Result<()> {
    let mut seen = BTreeMap::new();
    for row in document.0.list("/summary/induced_by")? {
        seen.insert(row.text("/method")?.to_owned(), row.uint("/count")?);
    }
    ensure!(seen == truth.asked, "seen {seen:?}, the program's own count is {:?}", truth.asked);
    let due: Vec<&Value> = document.0.list("/summary/due_in")?.iter().collect();
    let large: Vec<&&Value> = due.iter().filter(|row| row["reason"] == "alloc_loh").collect();
    ensure!(!large.is_empty(), "{due:?}");
    for row in large {
        let method = row.text("/method")?;
        ensure!(["Allocations.LargeBytes", "Allocations.LargeNumbers"].contains(&method), "{due:?}");
    }
    let counted = due.iter().map(|row| row.uint("/count")).sum::<Result<u64>>()?;
    let others = document.complete()?.iter().filter(|gc| gc["induced"] == false).count() as u64;
    ensure!(counted <= others && counted * 2 >= others, "{counted} of {others} have a method");
    Ok(())
}

fn in_run(clr: &Clr, level: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("it.nettrace"));
    let ended = Gcwatch::on(clr)
        .args(&format!("run --alloc --format json --level {level}"))
        .option("-o", &path)
        .option("--record", &recording)
        .app(clr, "allocations", "")?
        .output()?
        .expect(0)?;
    let truth = Truth::of(ended.out()?.lines())?;
    let document = Document::read(&path)?;
    agrees(clr, &document, &truth)?;
    if level == "basic" {
        named(&document, &truth)?;
    }
    let replayed = replay(clr, &recording)?;
    for part in ["gcs", "summary", "findings"] {
        ensure!(document.0[part] == replayed.0[part], "a replay has other {part}");
    }
    Ok(())
}

fn replay(clr: &Clr, recording: &Path) -> Result<Document> {
    let ended = Gcwatch::on(clr).args("report --format json").arg(recording).output()?.expect(0)?;
    Document::parse(&ended.stdout)
}

/// Watches the program from before its work until after it.
fn attached(clr: &Clr, options: &str) -> Result<(Document, Truth)> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut target = Target::app(clr, "allocations", &["wait=1"], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let mut gcwatch = start_attach(clr, target.pid(), options, &path)?;
    target.send_line("go")?;
    let mut lines = Vec::new();
    loop {
        let line = target.wait_line("", DEADLINE)?;
        let done = line.starts_with("done ");
        lines.push(line);
        if done {
            break;
        }
    }
    let truth = Truth::of(lines.iter().map(String::as_str))?;
    signal(gcwatch.pid(), Signal::INT)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    target.close_stdin();
    let status = target.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {target:?}");
    Ok((Document::read(&path)?, truth))
}

fn in_attach(clr: &Clr) -> Result<()> {
    let (document, truth) = attached(clr, "--level basic --alloc")?;
    agrees(clr, &document, &truth)?;
    named(&document, &truth)
}

/// The finding about large objects names the type and the method.
fn owner(clr: &Clr) -> Result<()> {
    let ended = Gcwatch::on(clr)
        .envs([("DOTNET_gcServer", "0"), ("DOTNET_GCgen0size", "1000000")])
        .args("run --alloc --format json --level basic -o -")
        .app(clr, "diseases", "large")?
        .output()?
        .expect(0)?;
    let document = Document::parse(&ended.stdout)?;
    let found = document.0.list("/findings")?.iter().find(|finding| finding["id"] == "large-objects");
    let title = found.context("no such finding")?.text("/title")?;
    ensure!(title.contains("byte[] in Diseases.Large"), "{title}");
    Ok(())
}

fn callers_in_run(clr: &Clr) -> Result<()> {
    for level in ["basic", "moves"] {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("out.json");
        let ended = Gcwatch::on(clr)
            .args(&format!("run --format json --level {level}"))
            .option("-o", &path)
            .app(clr, "allocations", "rounds=100000")?
            .output()?
            .expect(0)?;
        let document = Document::read(&path)?;
        named(&document, &Truth::of(ended.out()?.lines())?)?;
        ensure!(document.0["summary"]["allocations"].is_null(), "samples nobody asked for");
    }
    Ok(())
}

fn callers_in_attach(clr: &Clr) -> Result<()> {
    let (document, truth) = attached(clr, "--level basic")?;
    named(&document, &truth)?;
    let (document, _) = attached(clr, "--level basic --no-names")?;
    ensure!(document.0["summary"]["induced_by"].is_null(), "names nobody asked for");
    Ok(())
}

/// A program that is killed lists no methods. Then nobody is named, and the samples are there all the same.
fn killed(clr: &Clr) -> Result<()> {
    // Enough that collections and samples are among it.
    const RECORDED_BYTES: u64 = 400_000;
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("it.nettrace"));
    let mut target = Target::app(clr, "allocations", &["wait=1", "rounds=2000000000"], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let options = format!("--level basic --alloc --record {}", recording.display());
    let mut gcwatch = start_attach(clr, target.pid(), &options, &path)?;
    target.send_line("go")?;
    until("the recording to grow", DEADLINE, || {
        Ok(std::fs::metadata(&recording).is_ok_and(|file| file.len() > RECORDED_BYTES))
    })?;
    signal(target.pid(), Signal::KILL)?;
    gcwatch.wait(DEADLINE)?;
    let document = Document::read(&path)?;
    let summary = &document.0["summary"];
    ensure!(summary["induced_by"].is_null() && summary["due_in"].is_null(), "{summary}");
    let allocations = &summary["allocations"];
    ensure!(allocations["methods_known"] == false, "{allocations}");
    ensure!(allocations.list("/types")?.iter().any(|row| row["type"] == "double[]"), "{allocations}");
    for row in allocations.list("/methods")? {
        ensure!(row["method"] == "(unknown)", "nobody told this name: {row}");
    }
    Ok(())
}
