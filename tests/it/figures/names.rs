//! Compares names with a program that knows them: which methods, fields and handles hold which objects, what pins them,
//! who called `GC.Collect`, which types and fields grow.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::hostile::hostile_output::{FORMATS, harmless};
use crate::it::suite::{Heap, Suite};
use crate::it::support::{
    DEADLINE, Gcwatch, Guard, Json, fact, lines, no_estimate, number, repeated, until, wait_for_start,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("names::known_holders_in_run", &[], in_run);
    suite.each_heap("names::known_holders_in_attach", &[], in_attach);
    suite.each("names::hostile_names_and_unloading", &[], hostile);
    suite.once("names::survive_a_storm_of_handles", &[], storm);
    suite.once("names::can_be_left_out", &[], left_out);
}

/// The program, and gcwatch with one line per collection in a file.
struct Program {
    talk: Target,
    gcwatch: Option<Target>,
    dir: TempDir,
    emulated: bool,
    _guard: Option<Guard>,
}

fn lines_of(dir: &Path) -> PathBuf {
    dir.join("lines.ndjson")
}

impl Program {
    fn run(clr: &Clr, heap: Heap, options: &str) -> Result<Program> {
        let dir = tempfile::tempdir()?;
        let mut talk = Gcwatch::on(clr)
            .envs(heap.environment())
            .args("run --format ndjson -o")
            .arg(lines_of(dir.path()))
            .option("--record", dir.path().join("all.nettrace"))
            .args(options)
            .app(clr, "named", "")?
            .spawn()?;
        let ready = talk.wait_line("ready ", DEADLINE)?;
        let guard = Guard(fact(&ready, "pid")?.parse()?);
        Ok(Program { talk, gcwatch: None, dir, emulated: clr.is_emulated(), _guard: Some(guard) })
    }

    fn alone(clr: &Clr, heap: Heap) -> Result<Program> {
        let mut talk = Target::app(clr, "named", &[], &heap.environment())?;
        talk.wait_line("ready ", DEADLINE)?;
        let dir = tempfile::tempdir()?;
        Ok(Program { talk, gcwatch: None, dir, emulated: clr.is_emulated(), _guard: None })
    }

    fn attach(&mut self, clr: &Clr) -> Result<()> {
        let path = lines_of(self.dir.path());
        let mut gcwatch = Gcwatch::on(clr)
            .args("attach --format ndjson -o")
            .arg(&path)
            .args(no_estimate(clr))
            .option("--record", self.dir.path().join("all.nettrace"))
            .arg(self.talk.pid().to_string())
            .spawn()?;
        wait_for_start(&mut gcwatch, &path)?;
        self.gcwatch = Some(gcwatch);
        Ok(())
    }

    fn ask(&mut self, line: &str, answer: &str) -> Result<String> {
        self.talk.ask(line, answer, DEADLINE)
    }

    /// Makes the program collect; returns the collection's number.
    fn collect(&mut self, how: &str) -> Result<u64> {
        number(&self.ask(how, "collected ")?, "index")
    }

    /// Collects until `shows` accepts a collection's line: the runtime or gcwatch may need several collections for it.
    /// Collections beyond `least` count as repetitions.
    fn settle(&mut self, how: &str, least: usize, mut shows: impl FnMut(&Value) -> bool) -> Result<Vec<u64>> {
        let mut all = Vec::new();
        let path = lines_of(self.dir.path());
        until("the expected line of a collection", DEADLINE, || {
            let index = self.collect(how)?;
            all.push(index);
            let mut found = None;
            until("the collection's line", DEADLINE, || {
                let text = fs::read_to_string(&path)?;
                let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
                for line in whole.lines().rev() {
                    let line: Value = serde_json::from_str(line)?;
                    if line["type"] == "gc" && line["number"] == index {
                        found = Some(shows(&line));
                        return Ok(true);
                    }
                }
                Ok(false)
            })?;
            if found != Some(true) && all.len() >= least {
                repeated::again();
            }
            Ok(found == Some(true))
        })?;
        Ok(all)
    }

    /// Ends it and returns all lines; the last one has the summary.
    fn end(&mut self) -> Result<Vec<Value>> {
        self.talk.send_line("exit")?;
        let status = self.talk.wait(DEADLINE)?;
        ensure!(status.success(), "{status}: {:?}", self.talk);
        if let Some(gcwatch) = &mut self.gcwatch {
            let status = gcwatch.wait(DEADLINE)?;
            ensure!(status.success(), "{status}: {gcwatch:?}");
        }
        lines(&fs::read(lines_of(self.dir.path()))?)
    }

    /// A replay of the recording gives the same lines.
    fn replay(&self, live: &[Value]) -> Result<()> {
        let again = Gcwatch::new()
            .args("report --format ndjson")
            .arg(self.dir.path().join("all.nettrace"))
            .output()?
            .expect(0)?;
        let again = lines(&again.stdout)?;
        ensure!(again.len() == live.len(), "{} lines live, {} replayed", live.len(), again.len());
        for (live, again) in live.iter().zip(&again).filter(|(line, _)| line["type"] == "gc") {
            ensure!(
                live["roots"] == again["roots"],
                "live:\n{}\nreplayed:\n{}",
                live["roots"],
                again["roots"]
            );
            ensure!(live["triggered_by"] == again["triggered_by"], "GC {}", live["number"]);
        }
        let (live, again) = (live.last(), again.last());
        for part in ["roots", "growth", "induced_by"] {
            let of = |line: Option<&Value>| line.map(|line| line["summary"][part].clone());
            ensure!(of(live) == of(again), "{part}: {:?}, replayed {:?}", of(live), of(again));
        }
        Ok(())
    }
}

fn gc(lines: &[Value], number: u64) -> Result<&Value> {
    let found = lines.iter().find(|line| line["type"] == "gc" && line["number"] == number);
    let gc = found.with_context(|| format!("no line of GC {number}"))?;
    ensure!(gc["complete"] == true, "GC {number} is {}", gc["incomplete"]);
    Ok(gc)
}

fn rows<'v>(gc: &'v Value, list: &str, is: impl Fn(&Value) -> bool) -> Result<Vec<&'v Value>> {
    Ok(gc.list(&format!("/roots/{list}"))?.iter().filter(|row| is(row)).collect())
}

fn sum(rows: &[&Value], key: &str) -> Result<u64> {
    rows.iter().map(|row| row.uint(&format!("/{key}"))).sum()
}

/// What the program printed about its own objects.
struct Facts {
    local: u64,
    items: u64,
    index: u64,
    session: u64,
    first: u64,
    second: u64,
    /// The numbers of the collections that `sweep` and `tidy` made. The last ones of each have all their names.
    sweeps: Vec<u64>,
    tidies: Vec<u64>,
    seen_at_attach: bool,
    /// The class of asynchronous tasks is not the class library's own.
    other_tasks: bool,
}

const FEW: u64 = 10;
const MANY: u64 = 25;
const WEAK: u64 = 7;

fn in_run(clr: &Clr, heap: Heap) -> Result<()> {
    let mut program = Program::run(clr, heap, "")?;
    act(&mut program, None)
}

fn in_attach(clr: &Clr, heap: Heap) -> Result<()> {
    let mut program = Program::alone(clr, heap)?;
    act(&mut program, Some(clr))
}

/// Gives the program all commands; with `attach`, gcwatch attaches after the first few.
fn act(program: &mut Program, attach: Option<&Clr>) -> Result<()> {
    let local = number(&program.ask("hold", "holding ")?, "local")?;
    let first = number(&program.ask("pin First", "pinned ")?, "bytes")?;
    program.ask("async", "waiting")?;
    let session = number(&program.ask(&format!("leak {FEW}"), "leaked ")?, "session")?;
    if let Some(clr) = attach {
        program.attach(clr)?;
    }
    let mut sweeps = program.settle("sweep", 1, |gc| {
        let fields = gc["roots"]["statics"].as_array();
        ["Demo.Cache.s_items", "Demo.Cache.Index", "Demo.Orders.s_pending"]
            .iter()
            .all(|name| fields.is_some_and(|fields| fields.iter().any(|f| f["field"] == *name)))
    })?;
    let second = number(&program.ask("pin Second", "pinned ")?, "bytes")?;
    program.ask(&format!("weak {WEAK}"), "watched ")?;
    program.ask(&format!("leak {MANY}"), "leaked ")?;
    let statics = program.ask("statics", "statics ")?;
    let (items, index) = (number(&statics, "items")?, number(&statics, "index")?);
    // The profiler has a time budget for names; on a busy machine it is sometimes used up, and the figures say so.
    let mut typed = None;
    sweeps.extend(program.settle("sweep", 2, |gc| {
        let number = gc["number"].as_u64().filter(|_| gc["roots"]["untyped"] == 0 && !is_unnamed(gc));
        let twice = typed.is_some() && typed == number.map(|number| number - 1);
        typed = number;
        twice
    })?);
    let tidies = program.settle("tidy", 1, |gc| !is_unnamed(gc))?;
    program.ask("release", "released")?;
    let lines = program.end()?;
    let (seen_at_attach, other_tasks) = (attach.is_some(), program.emulated);
    let facts =
        Facts { local, items, index, session, first, second, sweeps, tidies, seen_at_attach, other_tasks };
    check(&lines, &facts)?;
    program.replay(&lines)
}

fn check(lines: &[Value], facts: &Facts) -> Result<()> {
    let [.., before, last] = facts.sweeps[..] else { bail!("fewer than two collections") };
    let (before, last) = (gc(lines, before)?, gc(lines, last)?);
    let shown = || format!("GC {}: {}", last["number"], last["roots"]);
    frames(last, facts).with_context(shown)?;
    statics(last, facts).with_context(shown)?;
    handles(last, facts).with_context(shown)?;
    pinned(before, last, facts).with_context(shown)?;
    let origin = |of: &str| last.uint(&format!("/roots/by_origin/{of}"));
    let all = origin("app")? + origin("runtime")? + origin("unknown")?;
    ensure!(all == last.uint("/roots/total")?, "{all} by origin");
    ensure!(origin("app")? >= FEW + MANY + WEAK, "{} roots of the program", origin("app")?);
    ensure!(last.uint("/roots/untyped")? == 0);
    ensure!(last.uint("/cost/naming_ns")? > 0);
    asked(lines, facts)?;
    let summary = &lines.last().context("no last line")?["summary"];
    summed(summary, facts).with_context(|| summary.to_string())
}

/// The objects that frames hold, by method and by type.
fn frames(gc: &Value, facts: &Facts) -> Result<()> {
    for (method, local, objects) in [
        ("Demo.Frames.Outer", "OuterLocal", 1),
        ("Demo.Frames.Middle", "MiddleLocal", 1),
        ("Demo.Frames.Inner", "InnerLocal", 3),
        ("Demo.Workers.StartLambda (lambda)", "LambdaLocal", 1),
        ("Demo.Workers.StartFunction.Work (local function)", "FunctionLocal", 1),
        ("Demo.Workers.Numbers (iterator)", "IteratorLocal", 1),
        ("Demo.Workers.Keep<int>", "GenericLocal", 2),
        ("Demo.Workers.Keep<T>", "GenericLocal", 2),
        ("Demo.Slow (constructor)", "ConstructorLocal", 1),
        ("Demo.Orders.RunAsync (async)", "AsyncLocal", 1),
        ("Demo.Orders.StartAsyncLambda (async lambda)", "AsyncLambdaLocal", 1),
        ("Demo.Clock.Tick", "TickLocal", 1),
        ("(dynamic method)", "DynamicLocal", 1),
    ] {
        let found = rows(gc, "methods", |row| row["name"] == method)?;
        ensure!(found.len() == 1, "{} rows of {method}", found.len());
        let name = format!("Demo.{local}");
        let held = rows(gc, "types", |row| row["name"] == name.as_str())?;
        ensure!(held.iter().all(|row| row["kind"] == "stack"), "{name}: {held:?}");
        ensure!(sum(&held, "bytes")? == objects * facts.local, "{name}: {held:?}");
        ensure!(sum(&held, "count")? >= objects, "{name}: {held:?}");
        let least = if name == "Demo.InnerLocal" { objects } else { 1 };
        ensure!(found[0].uint("/slots")? >= least, "{method}: {}", found[0]);
    }
    ensure!(!rows(gc, "methods", |row| row["name"] == "Demo.Table<TRow>.Walk")?.is_empty());
    // Type names as C# writes them.
    for name in [
        "Demo.ArrayLocal[,]",
        "Demo.ArrayLocal[][,]",
        "Dictionary<string, Demo.ArrayLocal>",
        "Demo.Table<string>",
    ] {
        let found = rows(gc, "types", |row| row["name"] == name && row["kind"] == "stack")?;
        ensure!(!found.is_empty(), "no {name}");
    }
    Ok(())
}

fn statics(gc: &Value, facts: &Facts) -> Result<()> {
    for (field, type_name, bytes) in [
        ("Demo.Cache.s_items", "Demo.Item[]", Some(facts.items)),
        ("Demo.Cache.Index", "Dictionary<string, Demo.Item>", Some(facts.index)),
        (
            "Demo.Orders.s_pending",
            if facts.other_tasks { "Task<int>" } else { "Demo.Orders.LoadAsync (async)" },
            None,
        ),
        ("Demo.Clock.timer", "Timer", None),
    ] {
        let found = rows(gc, "statics", |row| row["field"] == field)?;
        let [row] = found[..] else { bail!("{} rows of {field}", found.len()) };
        ensure!(row["type"] == type_name && row["thread_static"] == false, "{row}");
        ensure!(bytes.is_none_or(|bytes| row["bytes"] == bytes), "{row}, not {bytes:?}");
    }
    Ok(())
}

fn handles(gc: &Value, facts: &Facts) -> Result<()> {
    let no_flags = serde_json::json!([]);
    let of = |flags: &Value| {
        rows(gc, "types", |row| {
            row["name"] == "Demo.Session" && row["kind"] == "handle" && row["flags"] == *flags
        })
    };
    let strong = of(&no_flags)?;
    ensure!(sum(&strong, "count")? == FEW + MANY, "{strong:?}");
    ensure!(sum(&strong, "bytes")? == (FEW + MANY) * facts.session, "{strong:?}");
    let weak = of(&serde_json::json!(["weak"]))?;
    ensure!(sum(&weak, "count")? == WEAK, "{weak:?}");
    ensure!(sum(&weak, "bytes")? == facts.session, "all refer to one object: {weak:?}");
    Ok(())
}

fn pinned(before: &Value, gc: &Value, facts: &Facts) -> Result<()> {
    let made_by = |gc: &'_ Value, method: &str| -> Result<Value> {
        let found = rows(gc, "pinned", |row| row["created_by"] == method)?;
        let [row] = found[..] else { bail!("{} rows of pins by {method}", found.len()) };
        Ok(row.clone())
    };
    let mut named = vec![("Demo.Native.OpenSecond", facts.second)];
    if facts.seen_at_attach {
        // gcwatch did not see who made it, but it sees the object.
        let found = rows(gc, "pinned", |row| {
            row["type"] == "byte[]" && row["by"] == "handle" && row["created_by"].is_null()
        })?;
        ensure!(sum(&found, "bytes")? >= facts.first, "{found:?}");
        ensure!(found.iter().all(|row| row["handle_type"].is_null()), "{found:?}");
        ensure!(rows(gc, "pinned", |row| row["created_by"] == "Demo.Native.OpenFirst")?.is_empty());
    } else {
        named.push(("Demo.Native.OpenFirst", facts.first));
    }
    for (method, bytes) in named {
        let (old, row) = (made_by(before, method)?, made_by(gc, method)?);
        ensure!(row["type"] == "byte[]" && row["by"] == "handle" && row["handle_type"] == "pinned", "{row}");
        ensure!(row["count"] == 1 && row["bytes"] == bytes, "{row}, not {bytes}");
        let apart = gc.uint("/number")? - before.uint("/number")?;
        ensure!(row.uint("/seen_in_gcs")? == old.uint("/seen_in_gcs")? + apart, "{old} then {row}");
    }
    let local = made_by(gc, "Demo.Native.Parse")?;
    ensure!(local["by"] == "fixed local" && local["type"] == "byte[]" && local["count"] == 1, "{local}");
    let parse = rows(gc, "methods", |row| row["name"] == "Demo.Native.Parse")?;
    ensure!(sum(&parse, "pinned_slots")? >= 1, "{parse:?}");
    Ok(())
}

/// Whether a method has no name: on a busy machine the names may come after the line is written.
fn is_unnamed(gc: &Value) -> bool {
    gc["triggered_by"].to_string().contains("(unnamed)")
}

/// Who called `GC.Collect`.
fn asked(lines: &[Value], facts: &Facts) -> Result<()> {
    let asked = facts.sweeps.iter().map(|&n| (n, "Demo.Janitor.Sweep", "Demo.Program.Do"));
    let tidied = facts.tidies.iter().map(|&n| (n, "Demo.Janitor.Tidy (lambda)", "Demo.Janitor.Tidy"));
    let named = |numbers: &[u64]| -> Result<Vec<u64>> {
        let named = numbers.iter().map(|&n| Ok((n, is_unnamed(gc(lines, n)?))));
        let named = named.collect::<Result<Vec<_>>>()?;
        Ok(named.into_iter().filter(|(_, unnamed)| !unnamed).map(|(n, _)| n).collect())
    };
    let (sweeps, tidies) = (named(&facts.sweeps)?, named(&facts.tidies)?);
    for (number, asker, caller) in asked.chain(tidied) {
        let gc = gc(lines, number)?;
        if !sweeps.contains(&number) && !tidies.contains(&number) {
            repeated::again();
            continue;
        }
        let frames = gc.list("/triggered_by/frames")?;
        let own = frames.iter().position(|frame| frame == asker);
        let own = own.with_context(|| format!("GC {number}: no {asker} in {frames:?}"))?;
        let above = frames[..own].iter().all(|f| f.as_str().is_some_and(|f| f.starts_with("GC.")));
        ensure!(above && frames.get(own + 1).is_some_and(|frame| frame == caller), "GC {number}: {frames:?}");
    }
    for gc in lines.iter().filter(|line| line["type"] == "gc" && line["induced"] == false) {
        ensure!(gc["triggered_by"].is_null(), "GC {}: {}", gc["number"], gc["triggered_by"]);
    }
    let induced = lines.last().context("no last line")?.list("/summary/induced_by")?;
    let of = |method: &str| induced.iter().find(|row| row["method"] == method).context("no such method");
    let (sweep, tidy) = (of("Demo.Janitor.Sweep")?, of("Demo.Janitor.Tidy (lambda)")?);
    for (row, named, all) in [(sweep, &sweeps, &facts.sweeps), (tidy, &tidies, &facts.tidies)] {
        // Only the frame that called may have its name.
        let count = row.uint("/count")?;
        ensure!((named.len() as u64..=all.len() as u64).contains(&count), "{induced:?}");
        let pauses = named.iter().map(|&n| gc(lines, n)?.uint("/pause_ns")).sum::<Result<u64>>()?;
        let least = row.uint("/pause_ns")?;
        ensure!(least >= pauses && (least == pauses || count > named.len() as u64), "{induced:?}");
    }
    Ok(())
}

fn summed(summary: &Value, facts: &Facts) -> Result<()> {
    let grown = summary.list("/growth")?;
    let leak = grown.iter().find(|row| row["what"] == "handle" && row["type"] == "Demo.Session");
    let leak = leak.context("the leak did not grow")?;
    ensure!(leak.uint("/count/first")? <= FEW && leak["count"]["last"] == FEW + MANY, "{leak}");
    ensure!(leak["bytes"]["last"] == (FEW + MANY) * facts.session && leak["field"].is_null(), "{leak}");
    let field =
        grown.iter().find(|row| row["field"] == "Demo.Cache.s_items").context("the field did not grow")?;
    ensure!(field["what"] == "static" && field["type"] == "Demo.Item[]", "{field}");
    ensure!(field["bytes"]["last"] == facts.items, "{field}");
    let has = |list: &str, key: &str, name: &str| -> Result<bool> {
        Ok(summary.list(&format!("/roots/{list}"))?.iter().any(|row| row[key] == name))
    };
    ensure!(has("methods", "name", "Demo.Frames.Inner")?);
    ensure!(has("types", "name", "Demo.Session")?);
    ensure!(has("pinned", "created_by", "Demo.Native.OpenSecond")?);
    Ok(())
}

/// Types whose names would control a terminal or fill it; then they are unloaded, and their ids are void.
fn hostile(clr: &Clr) -> Result<()> {
    let mut program = Program::run(clr, Heap::Workstation, "")?;
    program.ask("hold", "holding ")?;
    program.ask("hostile", "hostile ")?;
    let shows = |gc: &Value, list: &str, name: &str| {
        gc["roots"][list].as_array().is_some_and(|rows| {
            rows.iter().any(|row| row["name"].as_str().is_some_and(|it| it.starts_with(name)))
        })
    };
    // On a busy machine a collection may lack names.
    let with =
        program.settle("sweep", 1, |gc| ["evil", "longxxx"].iter().all(|name| shows(gc, "types", name)))?;
    program.ask("unload", "unloaded")?;
    // Methods in other modules keep their names.
    let methods = ["Demo.Frames.Inner", "Demo.Clock.Tick", "Demo.Workers.Keep<T>"];
    let after = program.settle("sweep", 1, |gc| {
        gc["roots"]["untyped"] == 0 && methods.iter().all(|name| shows(gc, "methods", name))
    })?;
    let last = |numbers: Vec<u64>| numbers.last().copied().context("no collection");
    let (with, after) = (last(with)?, last(after)?);
    program.ask("release", "released")?;
    let lines = program.end()?;
    let held = |number| rows(gc(&lines, number)?, "types", |row| row["kind"] == "handle");
    let names: Vec<&str> = held(with)?.iter().filter_map(|row| row["name"].as_str()).collect();
    ensure!(names.contains(&"evil\\u{1b}[31m\\n\\u{9b}\\u{7f}\\u{202e}\\u{2066}"), "{names:?}");
    let long = names.iter().find(|name| name.starts_with("longxxx")).context("no long name")?;
    ensure!(long.chars().count() <= 1000 && long.ends_with('…'), "{long}");
    let names: Vec<&str> = held(after)?.iter().filter_map(|row| row["name"].as_str()).collect();
    ensure!(!names.iter().any(|name| name.starts_with("evil") || name.starts_with("longx")), "{names:?}");
    for method in methods {
        ensure!(!rows(gc(&lines, after)?, "methods", |row| row["name"] == method)?.is_empty(), "no {method}");
    }
    let report = |format: &str| {
        let gcwatch = Gcwatch::new().args("report --format").arg(format);
        gcwatch.arg(program.dir.path().join("all.nettrace")).output()?.expect(0)
    };
    for format in FORMATS {
        harmless(format, &report(format)?.stdout)?;
    }
    let text = report("text")?;
    let text = text.out()?;
    let widest = text.lines().map(|line| line.chars().count()).max();
    ensure!(widest <= Some(80), "{widest:?} columns:\n{text}");
    program.replay(&lines)
}

/// When a program makes handles too fast for the profiler to look up who makes them, it gives up looking; all other
/// figures continue.
fn storm(clr: &Clr) -> Result<()> {
    let mut program = Program::run(clr, Heap::Workstation, "")?;
    program.ask("pin First", "pinned ")?;
    let before = program.collect("sweep")?;
    let stormed = program.ask("storm 4000", "stormed ")?;
    ensure!(number(&stormed, "handles")? > 40_000, "{stormed}");
    program.ask("pin Second", "pinned ")?;
    // None of these have been named before.
    program.ask("hold", "holding ")?;
    let named = |gc: &Value, method: &str| {
        gc["roots"]["methods"].as_array().is_some_and(|rows| rows.iter().any(|row| row["name"] == method))
    };
    // While the profiler gives up, which takes a moment, it names nothing.
    let methods = ["Demo.Frames.Inner", "Demo.Clock.Tick", "Demo.Workers.Keep<T>"];
    let after = program.settle("tidy", 1, |gc| methods.iter().all(|method| named(gc, method)))?;
    let after = *after.last().context("no collection")?;
    program.ask("release", "released")?;
    let lines = program.end()?;
    let made_by =
        |number, method: &str| rows(gc(&lines, number)?, "pinned", |row| row["created_by"] == method);
    ensure!(made_by(before, "Demo.Native.OpenFirst")?.len() == 1);
    for method in ["Demo.Native.OpenFirst", "Demo.Native.OpenSecond"] {
        let found = made_by(after, method)?;
        ensure!(found.is_empty(), "{method} must be unknown: {found:?}");
    }
    let after = gc(&lines, after)?;
    ensure!(after["triggered_by"]["frames"][1] == "Demo.Janitor.Tidy (lambda)", "{}", after["triggered_by"]);
    Ok(())
}

/// With `--no-names`, all figures with names are null.
fn left_out(clr: &Clr) -> Result<()> {
    let mut program = Program::run(clr, Heap::Workstation, "--no-names")?;
    let index = program.collect("sweep")?;
    let lines = program.end()?;
    let gc = gc(&lines, index)?;
    for key in ["by_origin", "untyped", "methods", "types", "statics", "pinned", "lists_cut"] {
        ensure!(gc.place(&format!("/roots/{key}"))?.is_null(), "{key}: {}", gc["roots"][key]);
    }
    ensure!(gc["triggered_by"].is_null() && gc["cost"]["naming_ns"].is_null(), "{gc}");
    ensure!(gc.uint("/roots/total")? > 0);
    Ok(())
}
