//! Recordings in several files: each can be read alone, and together they hold the watch without repetition.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use dotnet_diagnostics_client::nettrace::{Item, Reader};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;
use xtask::Clr;

use crate::it::figures::trace_event;
use crate::it::lifecycle::attach::Churn;
use crate::it::recording::record::{blank, differences, untold};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    DEADLINE, Document, GCSTATS, GcFacts, Gcwatch, Json, Signal, brief, check_counts, gcstats, signal, until,
};

/// Each thread that collects has a buffer, and the runtime writes a sequence point after a number of buffers: with many
/// threads, several per second.
const WORK: &str = "work=160000 live=200 threads=64";
/// Begins a file at every sequence point.
const EACH_POINT: &str = "--rotate 1KiB,0";
/// How many collections at either end of a file may lack events that are in the next file.
const BORDER: usize = 2;

pub(crate) fn register(suite: &mut Suite) {
    let needs = [Need::Peer(GCSTATS)];
    suite.each("rotation::files_alone_and_together_at_roots", &needs, |clr| {
        alone_and_together(clr, "roots", 2).map(drop)
    });
    suite.once("rotation::files_alone_together_and_missing_at_moves", &needs, |clr| {
        let run = alone_and_together(clr, "moves", 3)?;
        compressed(&run).context("the second one compressed")?;
        missing(&run).context("without the one in the middle")?;
        later(&run).context("without the first")
    });
    suite.once("rotation::killed_amid_files", &needs, killed);
    suite.once("rotation::the_oldest_are_removed", &[], oldest);
    suite.each("rotation::windows_of_roots_over_files", &[], windows);
    suite.each("rotation::kept_around_a_collection", &[], kept);
    suite.plain("rotation::keep_recording_needs_a_rotation", keep_mistakes);
}

/// All files in a directory, the oldest first.
pub(crate) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    Ok(files)
}

/// `gcwatch report --format json` of files.
fn report<'f>(files: impl IntoIterator<Item = &'f PathBuf>, options: &str) -> Result<Document> {
    let gcwatch = Gcwatch::new().args("report --format json").args(options);
    let ended = files.into_iter().fold(gcwatch, |gcwatch, file| gcwatch.arg(file)).output()?.expect(0)?;
    Document::parse(&ended.stdout)
}

/// A run that was watched to its end: the program's output, the live document, and the files.
struct Run {
    _dir: TempDir,
    said: String,
    live: Document,
    files: Vec<PathBuf>,
}

fn run(clr: &Clr, options: &str) -> Result<Run> {
    let dir = tempfile::tempdir()?;
    fs::create_dir(dir.path().join("files"))?;
    let path = dir.path().join("out.json");
    let ended = Gcwatch::on(clr)
        .envs(Heap::Workstation.environment())
        .args("run --format json")
        .args(options)
        .option("--record", dir.path().join("files/it.nettrace"))
        .option("-o", &path)
        .app(clr, "churn", WORK)?
        .output()?
        .expect(0)?;
    let files = files(&dir.path().join("files"))?;
    Ok(Run { said: ended.out()?.to_owned(), live: Document::read(&path)?, files, _dir: dir })
}

/// Checks each file alone and all together; there must be at least `least` files.
fn alone_and_together(clr: &Clr, level: &str, least: usize) -> Result<Run> {
    let run = run(clr, &format!("--level {level} {EACH_POINT}"))?;
    ensure!(run.files.len() >= least, "{} files: the test needs a larger load", run.files.len());
    for (n, file) in run.files.iter().enumerate() {
        let name = format!("it.{:03}.nettrace", n + 1);
        ensure!(file.file_name().is_some_and(|own| *own == *name), "{} is not {name}", file.display());
    }
    let facts = GcFacts::of(&run.said)?;
    let mut seen = BTreeSet::new();
    for (n, file) in run.files.iter().enumerate() {
        let document =
            alone(&run, file, n).with_context(|| format!("file {} of {}", n + 1, run.files.len()))?;
        seen.extend(document.gcs()?.iter().filter_map(|gc| gc["number"].as_u64()));
    }
    let [counted, ..] = facts.at_least;
    let all: BTreeSet<u64> = (1..=counted.max(seen.last().copied().unwrap_or(0))).collect();
    ensure!(seen == all, "in no file: {:?}; only in files: {:?}", &all - &seen, &seen - &all);
    together(&run, facts).context("together")?;
    let twice = Gcwatch::new().arg("report").arg(&run.files[1]).arg(&run.files[0]).arg(&run.files[1]);
    twice.output()?.expect(2)?.says(&["same part", "it.002.nettrace"])?;
    Ok(run)
}

/// With windows, each collection has its level in every file that has it.
fn windows(clr: &Clr) -> Result<()> {
    let run = run(clr, &format!("--level roots --sample 1/1s {EACH_POINT}"))?;
    ensure!(run.files.len() >= 2, "{} files: the test needs a larger load", run.files.len());
    let (mut with_roots, mut without) = (BTreeSet::new(), BTreeSet::new());
    for file in &run.files {
        let document = report([file], "")?;
        document.nothing_lost()?;
        for gc in document.complete()? {
            let number = gc.uint("/number")?;
            let live = run.live.gc(number)?;
            ensure!(gc["level"] == live["level"], "{} in {}: {}", gc["level"], file.display(), brief(live));
            let roots = gc["level"] == "roots";
            ensure!(gc["roots"]["total"] == live["roots"]["total"], "{}, live {}", brief(gc), brief(live));
            let seen = if roots { &mut with_roots } else { &mut without };
            seen.insert(number);
        }
    }
    ensure!(!with_roots.is_empty() && !without.is_empty(), "roots of {with_roots:?}, none of {without:?}");
    let facts = GcFacts::of(&run.said)?;
    together(&run, facts).context("together")
}

/// TraceEvent and gcwatch read the file without losses, and find the same collections as the watch.
fn alone(run: &Run, file: &PathBuf, n: usize) -> Result<Document> {
    let document = report([file], "")?;
    document.nothing_lost()?;
    let target = &document.0["target"];
    ensure!(target["pid"] == run.live.0["target"]["pid"], "{target}");
    if run.live.0["watch"]["level"] == "roots" {
        // The stream has these once, at its start.
        ensure!(target["runtime"]["version"] == run.live.0["target"]["runtime"]["version"], "{target}");
        for key in ["level", "background_gc", "arming"] {
            ensure!(document.0["watch"][key] == run.live.0["watch"][key], "{}", document.0["watch"]);
        }
    }
    let complete = document.complete()?;
    let mut numbers = complete.iter().map(|gc| gc.uint("/number")).collect::<Result<Vec<_>>>()?;
    numbers.sort_unstable();
    let mut named = 0;
    for gc in &complete {
        let number = gc.uint("/number")?;
        let same = run.live.gc(number)?;
        if same["complete"] != true {
            continue;
        }
        // Where its stop overlaps one that only the previous file has, it has the time of both.
        let after_border =
            gc["kind"] != "blocking" && n > 0 && numbers.iter().position(|n| *n == number) < Some(BORDER);
        let pause = gc.uint("/pause_ns")?.cmp(&same.uint("/pause_ns")?);
        ensure!(
            pause == Ordering::Equal || after_border && pause == Ordering::Greater,
            "pause_ns is {} in the file: {}",
            gc["pause_ns"],
            brief(same)
        );
        let keys = ["generation", "kind", "heap_after_bytes", "promoted_bytes", "number"];
        for key in keys {
            ensure!(gc[key] == same[key], "{key} is {} in the file: {}", gc[key], brief(same));
        }
        ensure!(gc["moved"]["blocks"] == same["moved"]["blocks"], "moved in the file: {}", brief(gc));
        for key in ["methods", "types", "statics"] {
            let (alone, live) = (&gc["roots"][key], &same["roots"][key]);
            // On a busy machine names may be late: then they are in the next file, or the live record has none and the
            // file repeats them at its start.
            if unnamed(alone) || unnamed(live) {
                same_but_for_names(alone, live)
            } else {
                named += alone.as_array().map_or(0, Vec::len);
                ensure!(alone == live, "{alone} in the file, {live} live");
                Ok(())
            }
            .with_context(|| format!("{key} of GC {}", gc["number"]))?;
        }
    }
    // The program may end soon after the last file began.
    let last = n + 1 == run.files.len();
    ensure!(last || named > 0 || run.live.0["watch"]["level"] != "roots", "no names in file {n}");
    let edges = document.gcs()?.len() - complete.len();
    // At either end: a background collection, a foreground one in it, and one that the border cuts.
    ensure!(edges <= 6, "{edges} collections are cut off");
    ensure!(last || complete.len() > 2, "{} collections in file {n}", complete.len());

    let answer = gcstats(file)?;
    ensure!(answer.totals["lost"] == 0, "TraceEvent: {}", answer.totals);
    agree(&document, &answer.gcs)?;
    Ok(document)
}

/// Whether something in a list has no name.
fn unnamed(list: &Value) -> bool {
    let rows = list.as_array().map_or(&[][..], Vec::as_slice);
    rows.iter().any(|row| row["name"] == "(unnamed)" || row["type"] == "(unnamed)")
}

/// The sum of roots is the same: only the names are known in one place and missing in the other.
fn same_but_for_names(alone: &Value, live: &Value) -> Result<()> {
    let all = |list: &Value| {
        let rows = list.as_array().map_or(&[][..], Vec::as_slice);
        let roots = |row: &Value| row["slots"].as_u64().or(row["count"].as_u64()).unwrap_or(1);
        rows.iter().map(roots).sum::<u64>()
    };
    ensure!(all(alone) == all(live), "{alone} in the file, {live} live");
    Ok(())
}

/// TraceEvent has the same collections with the same figures.
fn agree(document: &Document, theirs: &[Value]) -> Result<()> {
    let complete = document.complete()?;
    let known = |gc: &&Value| complete.iter().any(|own| own["number"] == gc["number"]);
    let (both, only_theirs): (Vec<&Value>, Vec<&Value>) = theirs.iter().partition(known);
    let own: BTreeMap<u64, &Value> =
        complete.iter().map(|gc| Ok((gc.uint("/number")?, *gc))).collect::<Result<_>>()?;
    // A collection that only TraceEvent has is cut off at one of the ends.
    for gc in only_theirs {
        let number = gc.uint("/number")?;
        let inside = own.range(..number).count() > BORDER && own.range(number..).count() > BORDER;
        let cut_off = document.gc(number).is_ok_and(|own| own["complete"] == false);
        ensure!(!inside || cut_off, "only TraceEvent has GC {number}: {gc}");
    }
    // TraceEvent drops collections that it saw in part, sometimes a neighbour, and foreground ones that begin too soon.
    let shared: BTreeSet<u64> = both.iter().map(|gc| gc.uint("/number")).collect::<Result<_>>()?;
    let plain = |number: u64| own.get(&number).is_some_and(|gc| gc["kind"] == "blocking");
    for (n, (number, gc)) in own.iter().enumerate() {
        let inside = n >= BORDER && n + BORDER < own.len();
        let alone = (number - 1..=number + 1).all(plain);
        ensure!(!inside || !alone || shared.contains(number), "TraceEvent has no GC {number}: {}", brief(gc));
    }
    // TraceEvent reports partial collections at the borders, and mixes up nested ones: leave them out.
    for gc in both.get(BORDER..both.len().saturating_sub(BORDER)).unwrap_or_default() {
        let own = document.gc(gc.uint("/number")?)?;
        if own["kind"] == "blocking" {
            trace_event::blocking(own, gc)?;
        }
    }
    Ok(())
}

/// Files in any order give exactly the live document.
fn together(run: &Run, facts: GcFacts) -> Result<()> {
    let mut mixed: Vec<&PathBuf> = run.files.iter().skip(1).step_by(2).collect();
    mixed.extend(run.files.iter().step_by(2).rev());
    let document = report(mixed, "")?;
    check_counts(&document, facts)?;
    document.nothing_lost()?;
    // If the runtime is preempted while it writes, the live reader does not wait for the rest, and cuts off collections
    // that the recording has.
    let cut_off = run.live.gcs()?.len() - run.live.complete()?.len();
    ensure!(cut_off * 20 <= run.live.gcs()?.len(), "{cut_off} collections were cut off live");
    let mut found = Vec::new();
    if cut_off == 0 {
        let (mut live, mut replayed) = (run.live.0.clone(), document.0);
        for path in untold()? {
            blank(&mut live, &path);
            blank(&mut replayed, &path);
        }
        differences("", &live, &replayed, &mut found);
    } else {
        for gc in run.live.complete()? {
            let number = gc.uint("/number")?;
            differences(&format!("/gcs/{number}"), gc, document.gc(number)?, &mut found);
        }
    }
    ensure!(found.is_empty(), "{} differences: {:#?}", found.len(), &found[..found.len().min(20)]);
    Ok(())
}

/// From plain files, large payloads are read when they are needed. From a compressed file, which is read front to back,
/// they cannot be.
fn compressed(run: &Run) -> Result<()> {
    let packed = run.files[1].with_extension("gz");
    let mut encoder = GzEncoder::new(fs::File::create(&packed)?, Compression::fast());
    encoder.write_all(&fs::read(&run.files[1])?)?;
    encoder.finish()?.sync_all()?;
    let plain = report(&run.files, "--blocks")?;
    ensure!(plain.complete()?.iter().any(|gc| gc["moved"]["blocks"] != 0), "no ranges");
    let files = [&run.files[0], &packed].into_iter().chain(&run.files[2..]);
    let mut found = Vec::new();
    differences("", &plain.0, &report(files, "--blocks")?.0, &mut found);
    fs::remove_file(packed)?;
    ensure!(found.is_empty(), "{} differences: {:#?}", found.len(), &found[..found.len().min(20)]);
    Ok(())
}

/// A missing file is reported: by sequence numbers, by GC numbers, and by `--strict`.
fn missing(run: &Run) -> Result<()> {
    let rest = || run.files.iter().enumerate().filter(|(n, _)| *n != 1).map(|(_, file)| file);
    let strict = Gcwatch::new().args("report --strict --format json");
    let ended = rest().fold(strict, |gcwatch, file| gcwatch.arg(file)).output()?.expect(11)?;
    let document = Document::parse(&ended.stdout)?;
    let gone = gcstats(&run.files[1])?.totals.uint("/events")?;
    let lost = document.0.uint("/lost/events")?;
    let (_, repeated) = whole(&fs::read(&run.files[1])?)?;
    ensure!(
        lost + repeated == gone,
        "{lost} events are lost, {gone} are in the file that is missing, of which it repeats {repeated}"
    );
    for gc in document.complete()? {
        let same = run.live.gc(gc.uint("/number")?)?;
        let cut_off = same["complete"] != true;
        ensure!(cut_off || gc["pause_ns"] == same["pause_ns"], "{}, live {}", brief(gc), brief(same));
    }
    Ok(())
}

/// Files that a rotation has removed are no loss, and the report mentions them.
fn later(run: &Run) -> Result<()> {
    let strict = Gcwatch::new().args("report --strict");
    let ended = run.files[1..].iter().fold(strict, |gcwatch, file| gcwatch.arg(file)).output()?.expect(0)?;
    ensure!(ended.out()?.contains("begins in the middle of a watch"), "{}", ended.out()?);
    Ok(())
}

/// Reads a file at some instant: it must be complete with an end tag. Returns how many events it has, and how many of
/// them repeat events of earlier files.
fn whole(bytes: &[u8]) -> Result<(u64, u64)> {
    let mut reader = Reader::new();
    reader.feed(bytes);
    reader.finish();
    let (mut events, mut repeated) = (0, 0);
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Event(event) => {
                events += 1;
                repeated += u64::from(event.capture_thread_id == 0);
            }
            Item::End(end) if end.clean => return Ok((events, repeated)),
            Item::End(end) => bail!("after {events} events: {end:?}"),
            _ => {}
        }
    }
    bail!("no end after {events} events")
}

/// Reads the files while gcwatch writes them, and after it was killed.
fn killed(clr: &Clr) -> Result<()> {
    let arguments = "live=1000 threads=16";
    let churn = Churn::start(clr, Heap::Workstation, arguments)?;
    let dir = tempfile::tempdir()?;
    let mut gcwatch = Gcwatch::on(clr)
        .args("attach -q --level moves --rotate 1KiB,0 --record")
        .arg(dir.path().join("{pid}-{n}.nettrace"))
        .arg(churn.pid().to_string())
        .spawn()?;
    let mut looked = 0;
    let enough = || {
        let files = files(dir.path())?;
        // A new file has another name until it is complete, and the first one is empty until the stream begins.
        let begun = |file: &&PathBuf| {
            file.extension().is_some_and(|end| end == "nettrace")
                && fs::metadata(file).is_ok_and(|m| m.len() > 0)
        };
        for file in files.iter().filter(begun).rev().take(2) {
            whole(&fs::read(file)?).with_context(|| format!("{} at some instant", file.display()))?;
            looked += 1;
        }
        Ok(files.len() >= 4)
    };
    until("four files", DEADLINE, enough)?;
    ensure!(looked >= 5, "looked at files only {looked} times");
    signal(gcwatch.pid(), Signal::KILL)?;
    gcwatch.wait(DEADLINE)?;
    let mut files = files(dir.path())?;
    files.retain(|file| file.extension().is_some_and(|end| end == "nettrace"));
    let mut events = 0;
    for (n, file) in files.iter().enumerate() {
        let name = format!("{}-{:03}.nettrace", churn.pid(), n + 1);
        ensure!(file.file_name().is_some_and(|own| *own == *name), "{} is not {name}", file.display());
        events += whole(&fs::read(file)?)?.0;
        let answer = gcstats(file)?;
        ensure!(answer.totals["lost"] == 0, "TraceEvent: {}", answer.totals);
        let document = report([file], "")?;
        // The flush in which gcwatch was killed has only some threads' events; gcwatch leaves out what that cuts off.
        if n + 1 < files.len() {
            agree(&document, &answer.gcs)?;
        }
    }
    let document = report(files.iter().rev(), "--strict")?;
    document.nothing_lost()?;
    let mut numbered = Vec::new();
    for gc in document.gcs()? {
        let why = &gc["incomplete"];
        let edge = why.is_null() || why == "began-before" || why == "ended-after";
        ensure!(edge, "{why} in the middle: {}", brief(gc));
        // A background collection that began before the watch has a lower number than some that ended before it.
        if why != "began-before" {
            numbered.extend(gc["number"].as_u64().map(|number| (number, gc)));
        }
    }
    // The cut flush lacks other threads' collections, and has no complete one.
    let last = document.complete()?.iter().filter_map(|gc| gc["number"].as_u64()).max();
    numbered.retain(|(number, _)| Some(*number) <= last);
    numbered.sort_by_key(|(number, _)| *number);
    let gap = numbered.windows(2).find(|pair| pair[1].0 != pair[0].0 + 1);
    if let Some([(_, before), (_, after)]) = gap {
        bail!("a gap between two records:\n{}\n{}", brief(before), brief(after));
    }
    ensure!(events > 0 && document.complete()?.len() > 20, "{} collections", document.complete()?.len());
    let mut program = churn.target;
    program.ask("stop", "done ", DEADLINE)?;
    let status = program.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {program:?}");
    Ok(())
}

fn oldest(clr: &Clr) -> Result<()> {
    let run = run(clr, "--level moves --rotate 1KiB,2")?;
    let names: Vec<String> =
        run.files.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned())).collect();
    let numbers: Vec<u64> = names.iter().filter_map(|name| name.split('.').nth(1)?.parse().ok()).collect();
    let [before, last] = numbers[..] else { bail!("not two files: {names:?}") };
    ensure!(last == before + 1 && last >= 3, "{names:?}");
    let document = report(&run.files, "--strict")?;
    document.nothing_lost()?;
    // The files include the end of the watch.
    let newest = |document: &Document| -> Result<Option<u64>> {
        Ok(document.complete()?.iter().filter_map(|gc| gc["number"].as_u64()).max())
    };
    ensure!(newest(&document)? == newest(&run.live)?, "the newest collection is missing");
    ensure!(
        document.0["target"]["command_line"] == run.live.0["target"]["command_line"],
        "{}",
        document.0["target"]
    );
    ensure!(document.complete()?.len() < run.live.complete()?.len(), "nothing was removed");
    Ok(())
}

/// With a condition that every collection meets, and room for three times: the first files are kept, the watch goes on,
/// and the rotation removes all other files but three.
fn kept(clr: &Clr) -> Result<()> {
    const TIMES: usize = 3;
    let dir = tempfile::tempdir()?;
    fs::create_dir(dir.path().join("files"))?;
    let path = dir.path().join("out.json");
    let ended = Gcwatch::on(clr)
        .envs(Heap::Workstation.environment())
        .args("run --format json --level moves --rotate 1KiB,3")
        .option("--stop-on", "pause > 0ns")
        .arg(format!("--keep-recording={TIMES}"))
        .option("--record", dir.path().join("files/it.nettrace"))
        .option("-o", &path)
        .app(clr, "churn", "work=480000 live=200 threads=64")?
        .output()?
        .expect(10)?;
    let live = Document::read(&path)?;
    ensure!(live.0["exit"]["reason"] == "target-ended", "the watch ended early: {}", live.0["exit"]);
    ensure!(live.0["assertions"][0]["holds"] == false, "{}", live.0["assertions"]);
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.contains(" met pause > 0ns")).collect();
    let [keeping @ .., over] = lines.as_slice() else { bail!("no line says it: {}", ended.stderr) };
    ensure!(keeping.len() == TIMES && over.contains("kept 3 times already"), "{lines:#?}");
    let all = files(&dir.path().join("files"))?;
    let (kept, last): (Vec<PathBuf>, Vec<PathBuf>) = all
        .into_iter()
        .partition(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("kept-")));
    ensure!((3..=3 * TIMES).contains(&kept.len()) && last.len() == 3, "{kept:?} {last:?}");
    let newest = last.last().context("no file")?.display().to_string();
    ensure!(!newest.contains(".005."), "the test needs a larger load, to rotate more often: {newest}");
    for file in kept.iter().chain(&last) {
        ensure!(fs::metadata(file)?.mode() & 0o777 == 0o600, "{} is not private", file.display());
    }
    for line in keeping {
        let (number, names) = line.split_once(" met pause > 0ns: keeping ").context("no files")?;
        let number: u64 = number.rsplit('#').next().unwrap_or_default().parse()?;
        let named: Vec<PathBuf> = names.split(", ").map(PathBuf::from).collect();
        ensure!(named.iter().all(|file| kept.contains(file)), "{named:?} {kept:?}");
        let document = report(&named, "--strict")?;
        let there = |of: &Document| -> Result<Vec<u64>> {
            Ok(of.complete()?.iter().filter_map(|gc| gc["number"].as_u64()).collect())
        };
        let there = there(&document)?;
        ensure!(there.contains(&number), "{number} is not in {there:?}");
        ensure!(there.iter().any(|after| *after > number), "nothing after {number} in {there:?}");
        // The first file has none before it.
        ensure!(number <= 2 || there.iter().any(|before| *before < number), "{number} in {there:?}");
    }
    Ok(())
}

fn keep_mistakes() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let record = dir.path().join("it.nettrace");
    let with = |options: &str| -> Result<()> {
        let gcwatch = Gcwatch::new().args("run --keep-recording").args(options).option("--record", &record);
        gcwatch.args("-- x").output()?.expect(2).map(drop)
    };
    with("--stop-on=pause>1s")?;
    with("--rotate 1MiB,3")?;
    let few = Gcwatch::new().args("run --keep-recording --stop-on=pause>1s --rotate 1MiB,2");
    few.option("--record", &record)
        .args("-- x")
        .output()?
        .expect(2)?
        .says(&["at least 3 files", "SIZE,3"])?;
    Ok(())
}
