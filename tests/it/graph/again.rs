//! Two graphs of a program that knows which of its objects are new, gone and the same.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use dotnet_heap_graph::format::{FrameBuffer, FrameKind, IdentityDecoder, Reader};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use super::taken::{collect_until, truth};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::repeated::again;
use crate::it::support::{DEADLINE, Gcwatch, HeapGraph, number};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("again::objects_are_followed", &[Need::Proc], followed);
    suite.once("again::not_followed", &[Need::Proc], not_followed);
    suite.once("again::the_program_ends_between", &[Need::Proc], ended);
}

/// How long gcwatch waits for its second graph. The program has to be done with its change before; a busy machine may need
/// another attempt with more time.
const TIMES: [Duration; 3] = [Duration::from_secs(6), Duration::from_secs(20), Duration::from_secs(60)];
/// Each moves what is left. The second graph comes after them.
const BETWEEN: [&str; 9] = [
    "collect 0",
    "collect 1",
    "collect 1",
    "collect 2",
    "collect 0",
    "collect 2",
    "collect 1",
    "collect 2",
    "collect 0",
];

fn program(clr: &Clr, heap: Heap) -> Result<Target> {
    let env = [("DOTNET_gcServer", if heap.server() { "1" } else { "0" })];
    let mut program = Target::app(clr, "growth", &[], &env)?;
    program.wait_line("ready ", DEADLINE)?;
    Ok(program)
}

fn followed(clr: &Clr, heap: Heap) -> Result<()> {
    for time in TIMES {
        if followed_within(clr, heap, time)? {
            return Ok(());
        }
        again();
    }
    bail!("the machine is too slow: the program was not done with its change within {TIMES:?}")
}

/// `false`: the program was not done with its change in time.
fn followed_within(clr: &Clr, heap: Heap, time: Duration) -> Result<bool> {
    let dir = tempfile::tempdir()?;
    let (before, after) = (dir.path().join("a-before.gcgraph"), dir.path().join("a.gcgraph"));
    let mut program = program(clr, heap)?;
    let mut gcwatch = Gcwatch::on(clr)
        .args("graph --within 2m --strings --format json --top 2000 --again")
        .arg(format!("{}s", time.as_secs()))
        .arg("-o")
        .arg(&after)
        .arg(program.pid().to_string())
        .spawn()?;
    while !before.exists() {
        program.ask("collect 0", "collected ", DEADLINE)?;
        ensure!(gcwatch.wait(Duration::from_millis(20)).is_err(), "{gcwatch:?}");
    }
    let began = Instant::now();
    program.ask("change", "changed", DEADLINE)?;
    for line in BETWEEN {
        program.ask(line, "collected ", DEADLINE)?;
    }
    let moved = program.ask("moved", "moved ", DEADLINE)?;
    if began.elapsed() >= time - Duration::from_secs(1) {
        return Ok(false);
    }
    collect_until(&mut program, &mut gcwatch, &after, 2)?;
    // The first of them has nothing below it that could go.
    let moved: u64 = moved.trim_start_matches("moved ").parse()?;
    ensure!(moved > 2000, "only {moved} of 3000 objects have moved");

    let found: Value = serde_json::from_str(&gcwatch.lines().join("\n"))?;
    check(&found, &program)?;
    check_each(&before, &after)?;
    let ended =
        Gcwatch::new().args("graph diff --format json --top 2000").arg(&before).arg(&after).output()?;
    let again: Value = serde_json::from_str(ended.expect(0)?.out()?)?;
    ensure!(again == found, "the files say something else:\n{again}\n{found}");
    let ended = Gcwatch::new().args("graph diff").arg(&before).arg(&after).output()?.expect(0)?;
    for words in ["each object was followed through", "static Service._log", "4000 Known.Fresh"] {
        ensure!(ended.out()?.contains(words), "{words} is not in\n{}", ended.out()?);
    }
    // The other way round nothing is known of single objects.
    let turned = Gcwatch::new().args("graph diff").arg(&after).arg(&before).output()?.expect(0)?;
    ensure!(turned.out()?.contains("by type and holder"), "{}", turned.out()?);
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(true)
}

/// Compares the report with what the program says.
fn check(found: &Value, program: &Target) -> Result<()> {
    let identity = &found["identity"];
    ensure!(identity["known"] == true, "{identity}");
    let collections = identity["collections"].as_u64().context("no collections")?;
    ensure!(collections >= BETWEEN.len() as u64, "{identity}");
    let types = found["types"].as_array().context("no types")?;
    for (class, rest) in truth(program, "class") {
        let (kept, gone, new) = (number(rest, "kept")?, number(rest, "gone")?, number(rest, "new")?);
        let row = types.iter().find(|row| row["type"] == format!("Known.{class}"));
        let Some(row) = row else {
            ensure!((gone, new) == (0, 0), "{class}: {rest}, but no row");
            continue;
        };
        let objects = |key: &str| row[key]["objects"].as_u64();
        let said = (objects("before"), objects("after"), objects("new"), objects("gone"));
        ensure!(
            said == (Some(kept + gone), Some(kept + new), Some(new), Some(gone)),
            "{class}: {rest}, but {row}"
        );
        let churns = class == "Churn";
        ensure!(row["noise"] == churns || new + gone < 100, "{row}");
    }
    // What was there all the time and what is new are all that is alive now; the same with what is gone, before.
    for what in ["objects", "bytes"] {
        let of = |side: &str| found["followed"][side][what].as_u64().with_context(|| format!("no {side}"));
        let alive = |side: &str| found[side]["reachable"][what].as_u64().context("nothing is alive");
        let (stayed, new, gone) = (of("survived")?, of("new")?, of("gone")?);
        ensure!(stayed + new == alive("after")? && stayed + gone == alive("before")?, "{found}");
        let sum = |key: &str| types.iter().filter_map(|row| row[key][what].as_u64()).sum::<u64>();
        ensure!((sum("new"), sum("gone")) == (new, gone), "{what}: {found}");
    }
    let rows = found["followed"]["grown_in"].as_array().context("no rows")?;
    let of = |class: &str| {
        let holds = |row: &&Value| {
            let mut mostly = row["mostly"].as_array().into_iter().flatten();
            mostly.any(|part| part["type"] == class)
        };
        let name = class.to_owned();
        rows.iter().find(holds).with_context(|| format!("nobody holds {name}"))
    };
    let fresh = of("Known.Fresh")?;
    ensure!(fresh["path"]["root"] == "static Known.Service._log", "{fresh}");
    ensure!(fresh["holder"] == "List<Known.Fresh>" && fresh["new"]["objects"] == 4001, "{fresh}");
    let churn = of("Known.Churn")?;
    ensure!(churn["path"]["root"] == "static Known.Service._ring", "{churn}");
    ensure!(churn["noise"] == true && churn["new"] == churn["gone"], "{churn}");
    let late = of("Known.Late")?;
    ensure!(late["holder"] == "Known.Old" && late["holders"] == 500, "{late}");
    ensure!(late["new"]["objects"] == 500 && late["gone"]["objects"] == 0, "{late}");
    Ok(())
}

/// Every object is the one that it is said to be: of the same class and size, with the same text.
fn check_each(before: &Path, after: &Path) -> Result<()> {
    let (first, second) = (HeapGraph::read(before)?, HeapGraph::read(after)?);
    let reader = Reader::open(after)?;
    let mut buffer = FrameBuffer::default();
    let (mut kept, mut elsewhere) = (0, 0);
    for frame in reader.frames_of(FrameKind::IDENTITY) {
        for record in IdentityDecoder::new(reader.payload(frame, &mut buffer)?)? {
            let record = record?;
            let (old, new) = (first.objects.get(&record.before), second.objects.get(&record.address));
            let (old, new) = old.zip(new).with_context(|| format!("no object: {record:?}"))?;
            ensure!(
                first.class_of(old) == second.class_of(new) && old.bytes == new.bytes,
                "{record:?}: {old:?} and {new:?}"
            );
            let texts = (first.texts.get(&record.before), second.texts.get(&record.address));
            ensure!(texts.0 == texts.1, "{record:?}: {texts:?}");
            if first.class_of(old) == "Known.Kept" {
                let name = |graph: &HeapGraph, address: u64| {
                    let (_, name) = *graph.objects.get(&address)?.references.first()?;
                    graph.texts.get(&name).cloned()
                };
                let names = (name(&first, record.before), name(&second, record.address));
                ensure!(names.0.is_some() && names.0 == names.1, "{record:?}: {names:?}");
                kept += 1;
                elsewhere += u64::from(record.before != record.address);
            }
        }
    }
    ensure!(kept == 3000 && elsewhere > 2000, "{kept} objects, {elsewhere} elsewhere");
    Ok(())
}

/// Two graphs between which nobody watched.
fn not_followed(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut program = program(clr, Heap::Workstation)?;
    let files = ["a", "b"].map(|name| dir.path().join(format!("{name}.gcgraph")));
    for (nth, path) in files.iter().enumerate() {
        if nth > 0 {
            program.ask("change", "changed", DEADLINE)?;
        }
        Gcwatch::on(clr)
            .args("graph --induce -o")
            .arg(path)
            .arg(program.pid().to_string())
            .output()?
            .expect(0)?;
    }
    let diff = || Gcwatch::new().args("graph diff").arg(&files[0]).arg(&files[1]);
    let text = diff().output()?.expect(0)?;
    for words in ["by type and holder", "--again", "Known.Fresh"] {
        ensure!(text.out()?.contains(words), "{words} is not in\n{}", text.out()?);
    }
    let ended = diff().args("--format json --top 2000").output()?.expect(0)?;
    let found: Value = serde_json::from_str(ended.out()?)?;
    ensure!(found["identity"]["known"] == false && found["followed"].is_null(), "{found}");
    let rows = found["types"].as_array().context("no types")?;
    let fresh = rows.iter().find(|row| row["type"] == "Known.Fresh").context("no Known.Fresh")?;
    ensure!(fresh["after"]["objects"] == 4000 && fresh["new"].is_null(), "{fresh}");
    Ok(())
}

fn ended(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let after = dir.path().join("a.gcgraph");
    let mut program = program(clr, Heap::Workstation)?;
    let mut gcwatch = Gcwatch::on(clr)
        .args("graph --induce --again 1h -o")
        .arg(&after)
        .arg(program.pid().to_string())
        .spawn()?;
    let before = dir.path().join("a-before.gcgraph");
    let began = Instant::now();
    while !before.exists() {
        ensure!(
            began.elapsed() < DEADLINE && gcwatch.wait(Duration::from_millis(20)).is_err(),
            "{gcwatch:?}"
        );
    }
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(!status.success() && !after.exists(), "{status}: {gcwatch:?}");
    // The first graph is there and can be read.
    HeapGraph::read(&before)?;
    Ok(())
}
