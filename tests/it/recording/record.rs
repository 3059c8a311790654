//! A replay gives the document that was written live, except for the fields that the schema marks as missing in a
//! recording.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::lifecycle::attach::Churn;
use crate::it::suite::{Heap, Suite};
use crate::it::support::{DEADLINE, Document, Gcwatch, Json, attach_json, lines, schema, start_attach};

const WORK: &str = "live=8000 seed=3";

pub(crate) fn register(suite: &mut Suite) {
    suite.each("record::replay_equals_live::run_roots_blocks", &[], |clr| of_run(clr, "roots --blocks"));
    suite
        .each("record::replay_equals_live::attach_roots_blocks", &[], |clr| of_attach(clr, "roots --blocks"));
    for options in ["basic", "moves", "moves --blocks", "roots"] {
        let name = options.replace(" --", "_");
        suite.with(&format!("record::replay_equals_live::run_{name}"), &[], move |clr| of_run(clr, options));
        suite.with(&format!("record::replay_equals_live::attach_{name}"), &[], move |clr| {
            of_attach(clr, options)
        });
    }
    suite.once("record::replay_as_text_and_ndjson", &[], other_formats);
    suite.once("record::replay_from_stdin", &[], from_stdin);
    suite.once("record::blocks_can_be_left_out_of_a_replay", &[], without_blocks);
}

/// A recording and the document that was written while it was made.
pub(crate) struct Recorded {
    pub(crate) live: Document,
    pub(crate) recording: PathBuf,
    pub(crate) _dir: TempDir,
}

/// `gcwatch run --record` of a program that ends.
pub(crate) fn record_run(clr: &Clr, heap: Heap, level_and_blocks: &str, arguments: &str) -> Result<Recorded> {
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("run.nettrace"));
    Gcwatch::on(clr)
        .envs(heap.environment())
        .args(&format!("run --format json --level {level_and_blocks}"))
        .option("--record", &recording)
        .option("-o", &path)
        .app(clr, "churn", arguments)?
        .output()?
        .expect(0)?;
    Ok(Recorded { live: Document::read(&path)?, recording, _dir: dir })
}

/// `gcwatch attach --record --blocks` to a program that collects on command: one that collects all the time would fill
/// screens and disks.
fn record_blocks(clr: &Clr, level_and_blocks: &str) -> Result<Recorded> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("attach.nettrace"));
    let options = format!("--gcs 6 --level {level_and_blocks} --record {}", recording.display());
    let mut gcwatch = start_attach(clr, target.pid(), &options, &path)?;
    for collect in ["0", "1", "2", "2 compacting", "0", "1"] {
        target.ask(&format!("handles strong 500\ncollect {collect}"), "collected ", DEADLINE)?;
    }
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    Ok(Recorded { live: Document::read(&path)?, recording, _dir: dir })
}

/// `gcwatch attach --record` to a program that runs on.
pub(crate) fn record_attach(clr: &Clr, heap: Heap, level_and_blocks: &str, gcs: u32) -> Result<Recorded> {
    let churn = Churn::start(clr, heap, WORK)?;
    let dir = tempfile::tempdir()?;
    let recording = dir.path().join("attach.nettrace");
    let options = format!("--gcs {gcs} --level {level_and_blocks} --record {}", recording.display());
    let live = attach_json(clr, churn.pid(), &options)?;
    churn.stop(clr, WORK)?;
    Ok(Recorded { live, recording, _dir: dir })
}

/// `gcwatch report --format json`.
pub(crate) fn replay(recording: &Path, options: &str) -> Result<Document> {
    let ended =
        Gcwatch::new().args("report --format json").args(options).arg(recording).output()?.expect(0)?;
    Document::parse(&ended.stdout)
}

fn of_run(clr: &Clr, options: &str) -> Result<()> {
    let recorded = record_run(clr, Heap::Workstation, options, "work=120000 live=8000")?;
    ensure!(recorded.live.complete()?.len() >= 5, "{} collections", recorded.live.complete()?.len());
    compare(&recorded, blocks(options))
}

fn of_attach(clr: &Clr, options: &str) -> Result<()> {
    let recorded = if options.contains("--blocks") {
        let recorded = record_blocks(clr, options)?;
        ensure!(recorded.live.complete()?.len() == 6, "{} of 6 collections", recorded.live.complete()?.len());
        recorded
    } else {
        record_attach(clr, Heap::Workstation, options, 12)?
    };
    compare(&recorded, blocks(options))
}

fn blocks(options: &str) -> &'static str {
    if options.contains("--blocks") { "--blocks" } else { "" }
}

/// Compares every figure.
fn compare(recorded: &Recorded, options: &str) -> Result<()> {
    compare_but(recorded, options, &untold()?)
}

/// Compares every figure except those at these paths.
pub(crate) fn compare_but(recorded: &Recorded, options: &str, but: &[Vec<String>]) -> Result<()> {
    let mut live = recorded.live.0.clone();
    let mut replayed = replay(&recorded.recording, options)?.0;
    for path in but {
        blank(&mut live, path);
        blank(&mut replayed, path);
    }
    let mut found = Vec::new();
    differences("", &live, &replayed, &mut found);
    let some = found.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    ensure!(found.is_empty(), "{} differences, live and replayed:\n{some}", found.len());
    Ok(())
}

/// The sentence that marks a field of the schema.
const NOT_RECORDED: &str = "A recording cannot tell this.";
/// The sentence that marks fields from the end of a stream.
const RECORDED_LAST: &str = "A recording whose target was killed has no end that tells it.";

/// Paths of all fields that no recording has, `*` for the items of a list.
pub(crate) fn untold() -> Result<Vec<Vec<String>>> {
    marked(NOT_RECORDED, 10)
}

/// The paths missing from the recording of a killed target.
pub(crate) fn told_last() -> Result<Vec<Vec<String>>> {
    Ok([untold()?, marked(RECORDED_LAST, 4)?].concat())
}

fn marked(sentence: &str, most: usize) -> Result<Vec<Vec<String>>> {
    let schema = &schema()?.json;
    let mut found = Vec::new();
    mark(schema, schema, sentence, &mut Vec::new(), &mut found);
    ensure!(!found.is_empty(), "the schema marks no field: {sentence}");
    // Nearly everything must be compared.
    ensure!(found.len() <= most, "too many fields are marked: {found:?}");
    Ok(found)
}

fn mark(root: &Value, part: &Value, sentence: &str, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let said = part["description"].as_str().unwrap_or_default();
    if !path.is_empty() && said.split_whitespace().collect::<Vec<_>>().join(" ").contains(sentence) {
        found.push(path.clone());
        return;
    }
    if let Some(target) = part["$ref"].as_str().and_then(|name| root.pointer(name.trim_start_matches('#'))) {
        mark(root, target, sentence, path, found);
    }
    for choice in ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| part[*key].as_array()).flatten() {
        mark(root, choice, sentence, path, found);
    }
    for (name, property) in part["properties"].as_object().into_iter().flatten() {
        path.push(name.clone());
        mark(root, property, sentence, path, found);
        path.pop();
    }
    if part["items"].is_object() {
        path.push("*".to_owned());
        mark(root, &part["items"], sentence, path, found);
        path.pop();
    }
}

pub(crate) fn blank(value: &mut Value, path: &[String]) {
    match path {
        [] => *value = Value::Null,
        [first, rest @ ..] if first == "*" => {
            value.as_array_mut().into_iter().flatten().for_each(|item| blank(item, rest));
        }
        [first, rest @ ..] => {
            if let Some(inner) = value.get_mut(first) {
                blank(inner, rest);
            }
        }
    }
}

pub(crate) fn differences(path: &str, live: &Value, replayed: &Value, found: &mut Vec<String>) {
    match (live, replayed) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            for (key, value) in a {
                differences(&format!("{path}/{key}"), value, &b[key], found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (n, (x, y)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{n}"), x, y, found);
            }
        }
        (a, b) if a != b => {
            let short = |value: &Value| value.to_string().chars().take(200).collect::<String>();
            found.push(format!("{path}: {}, {}", short(a), short(b)));
        }
        _ => {}
    }
}

/// The other formats of a replay have the same collections.
fn other_formats(clr: &Clr) -> Result<()> {
    let recorded = record_run(clr, Heap::Workstation, "roots", "work=120000 live=8000")?;
    let json = replay(&recorded.recording, "")?;
    let ended = Gcwatch::new().args("report --format ndjson").arg(&recorded.recording).output()?.expect(0)?;
    let lines = lines(&ended.stdout)?;
    let (first, rest) = lines.split_first().context("no lines")?;
    let (last, gcs) = rest.split_last().context("no lines")?;
    ensure!(gcs.len() == json.gcs()?.len(), "{} lines, {} records", gcs.len(), json.gcs()?.len());
    for (line, gc) in gcs.iter().zip(json.gcs()?) {
        for (key, value) in gc.as_object().context("not an object")? {
            ensure!(
                line[key] == *value,
                "GC {}: {key} is {} in ndjson, {value} in json",
                gc["number"],
                line[key]
            );
        }
    }
    for key in ["target", "watch", "summary", "lost", "exit"] {
        ensure!(last[key] == json.0[key], "{key} is {} in ndjson, {} in json", last[key], json.0[key]);
    }
    ensure!(first["schema"] == json.0["schema"], "{first}");
    let text = Gcwatch::new().arg("report").arg(&recorded.recording).output()?.expect(0)?;
    let text = text.out()?;
    let count = format!("{} ", json.0["summary"]["gcs"]);
    let summed_up = text.lines().any(|line| line.starts_with(&count) && line.contains("collections in"));
    ensure!(summed_up, "no summary of {count}collections:\n{text}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    ensure!(widest <= 80, "{widest} columns:\n{text}");
    Ok(())
}

fn from_stdin(clr: &Clr) -> Result<()> {
    let recorded = record_run(clr, Heap::Workstation, "basic", "work=50000")?;
    let from_file = replay(&recorded.recording, "")?;
    let bytes = std::fs::read(&recorded.recording)?;
    let ended = Gcwatch::new().args("report --format json -").feed(bytes)?.expect(0)?;
    // A pipe is read only once, and most facts about the target come at the end of the stream.
    let nameless = |mut document: Document| {
        let pid = document.0["target"]["pid"].take();
        document.0["target"] = pid;
        document
    };
    let piped = nameless(Document::parse(&ended.stdout)?);
    ensure!(piped == nameless(from_file), "stdin and file give different documents");
    Ok(())
}

fn without_blocks(clr: &Clr) -> Result<()> {
    let recorded = record_run(clr, Heap::Workstation, "roots --blocks", "work=50000")?;
    let with = replay(&recorded.recording, "--blocks")?;
    let mut without = replay(&recorded.recording, "")?;
    for (n, gc) in with.gcs()?.iter().enumerate() {
        let other = &mut without.0["gcs"][n];
        // The transitions follow from the ranges.
        other["moved"]["transitions"] = gc["moved"]["transitions"].clone();
        for (part, list) in [("moved", "ranges"), ("surviving", "ranges"), ("roots", "list")] {
            ensure!(gc[part].list(&format!("/{list}")).is_ok(), "no {part} {list}: {}", gc[part]);
            ensure!(other[part][list].is_null(), "{part} {list} without --blocks");
            other[part][list] = gc[part][list].clone();
        }
    }
    ensure!(with == without, "the totals differ");
    Ok(())
}
