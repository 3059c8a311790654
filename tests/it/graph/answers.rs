//! What gcwatch says of a graph, against what the program says of its objects.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use xtask::Clr;
use xtask::testkit::Target;

use super::taken::{program, take, truth};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, HeapGraph, number, run_to_end, schema};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("answers::of_a_whole_heap", &[Need::Proc], whole);
    suite.each("answers::static_fields_of_the_framework", &[Need::Proc], framework);
    suite.each("answers::garbage", &[Need::Proc], garbage);
    suite.once("answers::of_a_type_and_an_object", &[Need::Proc], one);
    suite.once("answers::what_has_grown", &[Need::Proc], grown);
    suite.once("answers::when_a_condition_is_met", &[Need::Proc], condition);
    suite.once("answers::as_gcdump", &[Need::Proc], gcdump);
    suite.once("answers::named_like_a_process", &[Need::Proc], named_like_a_process);
    suite.once("answers::options_that_do_nothing", &[Need::Proc], usage);
    suite.once("answers::cut_and_foreign_files", &[Need::Proc], cut);
}

pub(super) fn json(path: &Path, more: &str) -> Result<Value> {
    let ended =
        Gcwatch::new().args("graph").arg(path).args("--format json --top 2000").args(more).output()?;
    checked(ended.expect(0)?.out()?)
}

/// A document that is valid by the schema.
fn checked(json: &str) -> Result<Value> {
    let document = serde_json::from_str(json)?;
    schema()?.check_graph(&document)?;
    Ok(document)
}

/// Takes a graph with a full collection.
pub(super) fn induced(clr: &Clr) -> Result<(TempDir, PathBuf, Target)> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let program = program(clr, Heap::Workstation, 20_000)?;
    let pid = program.pid().to_string();
    Gcwatch::on(clr).args("graph --induce -o").arg(&path).arg(&pid).output()?.expect(0)?;
    Ok((dir, path, program))
}

pub(super) fn row<'j>(rows: &'j Value, key: &str, name: &str) -> Result<&'j Value> {
    let rows = rows.as_array().context("no rows")?;
    rows.iter().find(|row| row[key] == name).with_context(|| format!("no {name}"))
}

/// The runtime makes one event source of its own in each process, which a static field of its class keeps.
fn framework(clr: &Clr) -> Result<()> {
    const CLASS: &str = "System.Diagnostics.Tracing.NativeRuntimeEventSource";
    let (_dir, path, _program) = induced(clr)?;
    let ended = Gcwatch::new().args("graph").arg(&path).args("--format json --type").arg(CLASS).output()?;
    let found: Value = serde_json::from_str(ended.expect(0)?.out()?)?;
    let objects = found["objects"].as_array().context("no objects")?;
    ensure!(objects.len() == 1, "{objects:?}");
    let root = &objects[0]["path"]["root"];
    ensure!(*root == format!("static {CLASS}.Log"), "{root}");
    Ok(())
}

fn whole(clr: &Clr) -> Result<()> {
    let (_dir, path, mut program) = induced(clr)?;
    let found = json(&path, "")?;
    ensure!(found["missing"]["nothing"] == true, "{}", found["missing"]);
    // A full collection leaves nothing that cannot be reached.
    ensure!(found["reachable"] == found["all"], "{} but {}", found["reachable"], found["all"]);
    let graph = HeapGraph::read(&path)?;
    ensure!(found["all"]["objects"] == graph.objects.len() as u64, "{}", found["all"]);
    let references = graph.end.references + graph.end.edges;
    ensure!(found["references"] == references, "{} but {references}", found["references"]);
    for (class, rest) in truth(&program, "class") {
        let all = &row(&found["types"], "type", &format!("Known.{class}"))?["all"];
        ensure!(all["objects"] == number(rest, "count")?, "{class}: {rest}, but {all}");
        ensure!(all["bytes"] == number(rest, "bytes")?, "{class}: {rest}, but {all}");
    }
    for (field, rest) in truth(&program, "static") {
        let holders = found["holders"].as_array().context("no holders")?;
        let root = format!("static Known.{field}");
        // What two fields hold together is an object of its own, whose way may lead through either.
        let of_field = holders.iter().filter(|holder| holder["path"]["root"] == root.as_str());
        let retained: Vec<_> = of_field.map(|holder| &holder["retained"]["bytes"]).collect();
        let expected = number(rest, "retains")?;
        ensure!(retained.iter().any(|bytes| **bytes == expected), "{field}: {rest}, but {retained:?}");
    }
    let groups = found["waste"]["strings"]["groups"].as_array().context("no groups")?;
    ensure!(groups.iter().any(|group| group["strings"] == 41), "{groups:?}");
    let keys = row(&found["waste"]["dependent_handles"]["types"], "type", "Known.Value")?;
    ensure!(keys["own"]["objects"] == 70, "{keys}");
    let text = Gcwatch::new().args("graph").arg(&path).args("--top 20").output()?.expect(0)?;
    for words in ["static Service._orders", "List<Order>._items", "what may be a leak"] {
        ensure!(text.out()?.contains(words), "{words} is not in\n{}", text.out()?);
    }
    let widest = text.out()?.lines().map(|line| line.chars().count()).max();
    ensure!(widest.is_some_and(|width| width <= 80), "{widest:?} columns");
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

fn garbage(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = program(clr, Heap::Workstation, 0)?;
    take(clr, &mut program, &path, 0)?;
    let found = json(&path, "")?;
    let dead = row(&found["types"], "type", "Known.Dead")?;
    ensure!(dead["all"]["objects"] == 123 && dead["reachable"]["objects"] == 0, "{dead}");
    let text = Gcwatch::new().args("graph").arg(&path).output()?.expect(0)?;
    ensure!(text.out()?.contains("garbage that was not collected yet"), "{}", text.out()?);
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

fn one(clr: &Clr) -> Result<()> {
    let (_dir, path, _program) = induced(clr)?;
    let found = json(&path, "--type Known.Customer")?;
    let customers = &found["types"][0]["all"];
    ensure!(customers["objects"] == 1000, "{found}");
    let orders = row(&found["referrers"], "type", "Known.Order")?;
    ensure!(orders["objects"] == 1000 && orders["references"] == 1000, "{orders}");
    let address = found["objects"][0]["address"].as_str().context("no address")?.to_owned();
    let object = json(&path, &format!("--object {address}"))?;
    ensure!(object["type"] == "Known.Customer" && object["address"] == address.as_str(), "{object}");
    let path_of = &object["path"];
    ensure!(path_of["root"] == "static Known.Service._orders", "{path_of}");
    let steps: Vec<_> =
        path_of["steps"].as_array().context("no steps")?.iter().map(|step| &step["type"]).collect();
    ensure!(steps == ["List<Known.Order>", "Known.Order[]", "Known.Order", "Known.Customer"], "{steps:?}");
    ensure!(path_of["steps"][3]["by"] == ".Customer", "{path_of}");
    Gcwatch::new()
        .args("graph")
        .arg(&path)
        .args("--type NoSuch")
        .output()?
        .expect(2)?
        .says(&["NoSuch", "--top"])?;
    for near in ["customer", "Known.Custmer"] {
        let ended = Gcwatch::new().args("graph").arg(&path).option("--type", near).output()?;
        ended.expect(2)?.says(&[near, "did you mean Known.Customer"])?;
    }
    Gcwatch::new().args("graph").arg(&path).args("--object 0x8").output()?.expect(2)?.says(&["0x8"])?;
    Ok(())
}

/// The second program has more objects of one type.
fn grown(clr: &Clr) -> Result<()> {
    let (_before_dir, before, program_before) = induced(clr)?;
    let dir = tempfile::tempdir()?;
    let after = dir.path().join("b.gcgraph");
    let second = program(clr, Heap::Workstation, 25_000)?;
    let pid = second.pid().to_string();
    Gcwatch::on(clr).args("graph --induce -o").arg(&after).arg(&pid).output()?.expect(0)?;
    let ended = Gcwatch::new()
        .args("graph diff")
        .arg(&before)
        .arg(&after)
        .args("--format json")
        .output()?
        .expect(0)?;
    let found = checked(ended.out()?)?;
    let first = &found["types"][0];
    ensure!(first["type"] == "Known.Filler", "{found}");
    ensure!(first["before"]["objects"] == 20_000 && first["after"]["objects"] == 25_000, "{first}");
    ensure!(found["holders"][0]["holder"] == "Known.Filler[]", "{found}");
    for (side, file, pid) in [("before", &before, program_before.pid()), ("after", &after, second.pid())] {
        let (side, alone) = (&found[side], json(file, "")?);
        ensure!(side["file"] == file.to_str().context("no text")?, "{side}");
        ensure!(side["taken"] == alone["taken"] && side["taken"]["pid"] == pid, "{side}");
        ensure!(side["all"] == alone["all"] && side["reachable"] == alone["reachable"], "{side}");
        ensure!(side["whole"] == true, "{side}");
    }
    let kept = |side: &str, what: &str| found[side]["reachable"][what].as_i64().context("no number");
    for what in ["objects", "bytes"] {
        let growth = kept("after", what)? - kept("before", what)?;
        ensure!(found["growth"][what] == growth && growth > 0, "{}", found["growth"]);
    }
    let text = Gcwatch::new().args("graph diff").arg(&before).arg(&after).output()?.expect(0)?;
    let pids = [format!("pid {}", program_before.pid()), format!("pid {}", second.pid())];
    let words =
        ["before: ", "a.gcgraph", "after: ", "b.gcgraph", "are kept alive", "change: +", &pids[0], &pids[1]];
    let head = text.out()?.split("what has grown most").next().unwrap_or_default();
    ensure!(words.iter().all(|word| head.contains(word)), "{head}");
    let again = Gcwatch::on(clr).args("graph --induce --again 100ms").arg(&pid).output()?.expect(0)?;
    ensure!(again.out()?.contains("what has grown most"), "{}", again.out()?);
    Ok(())
}

fn condition(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = program(clr, Heap::Workstation, 20_000)?;
    let mut gcwatch = Gcwatch::on(clr)
        .args("graph --within 2m -o")
        .arg(&path)
        .option("--at", "heap.after > 1KiB")
        .arg(program.pid().to_string())
        .spawn()?;
    super::taken::collect_until(&mut program, &mut gcwatch, &path, 0)?;
    HeapGraph::read(&path)?;
    Ok(())
}

/// A file that has the name of a process is read, and the user is told.
fn named_like_a_process(clr: &Clr) -> Result<()> {
    let (dir, path, program) = induced(clr)?;
    let named = ["objects".to_owned(), program.pid().to_string()];
    for name in named.iter().chain([&"nobody".to_owned()]) {
        std::fs::copy(&path, dir.path().join(name))?;
        let mut command = Gcwatch::new().args("graph").arg(name).command();
        command.current_dir(dir.path());
        let ended = run_to_end(command, Vec::new())?.expect(0)?;
        let is_process = named.contains(name);
        ensure!(ended.stderr.contains("is a file here") == is_process, "{name}: {}", ended.stderr);
        ensure!(ended.stderr.contains("--name") == is_process, "{name}: {}", ended.stderr);
    }
    // As in /proc, the number of a process may be a directory.
    let pid = program.pid().to_string();
    std::fs::remove_file(dir.path().join(&pid))?;
    std::fs::create_dir(dir.path().join(&pid))?;
    let mut command = Gcwatch::on(clr).args("graph --induce").arg(&pid).command();
    command.current_dir(dir.path());
    let ended = run_to_end(command, Vec::new())?.expect(0)?;
    ensure!(ended.out()?.contains(&format!("pid {pid}")), "{ended:?}");
    Ok(())
}

/// Options that would do nothing are refused, before anything is done.
fn usage(clr: &Clr) -> Result<()> {
    let (dir, path, mut program) = induced(clr)?;
    let pid = program.pid().to_string();
    let counts = program.ask("collect 0", "collected ", DEADLINE)?;
    for (line, code, words) in [
        ("diff a.gcgraph a.gcgraph --browse", 2, "--browse"),
        ("PID --induce --again 1s --browse", 2, "--browse"),
        ("diff a.gcgraph a.gcgraph -o b.gcgraph", 2, "-o"),
        ("diff a.gcgraph a.gcgraph --induce", 2, "two files"),
        ("a.gcgraph --pause-ok", 2, "is a file"),
        ("PID --induce -o no-such/", 1, "no-such/"),
    ] {
        std::fs::copy(&path, dir.path().join("a.gcgraph")).ok();
        let mut command = Gcwatch::on(clr).args("graph").args(&line.replace("PID", &pid)).command();
        command.current_dir(dir.path());
        run_to_end(command, Vec::new())?.expect(code)?.says(&[words])?;
    }
    let now = program.ask("collect 0", "collected ", DEADLINE)?;
    let gen2 = |counts: &str| number(counts, "gc2");
    ensure!(gen2(&counts)? == gen2(&now)?, "{counts}, then {now}: a collection was induced");
    Ok(())
}

/// Written as the file of another tool and read again, it has the same objects.
fn gcdump(clr: &Clr) -> Result<()> {
    let (dir, path, program) = induced(clr)?;
    let file = dir.path().join("a.gcdump");
    Gcwatch::new().args("graph").arg(&path).arg("-o").arg(&file).output()?.expect(0)?;
    let (ours, theirs) = (json(&path, "")?, json(&file, "")?);
    ensure!(ours["all"] == theirs["all"], "{} but {}", ours["all"], theirs["all"]);
    for (class, _) in truth(&program, "class") {
        let name = format!("Known.{class}");
        let (ours, theirs) = (row(&ours["types"], "type", &name)?, row(&theirs["types"], "type", &name)?);
        ensure!(ours["all"] == theirs["all"], "{ours} but {theirs}");
    }
    Ok(())
}

/// A file that is not whole is read as what it is, and other files are refused.
fn cut(clr: &Clr) -> Result<()> {
    let (dir, path, _program) = induced(clr)?;
    let bytes = std::fs::read(&path)?;
    let file = dir.path().join("cut.gcgraph");
    std::fs::write(&file, &bytes[..bytes.len() - 10])?;
    let ended = Gcwatch::new().args("graph").arg(&file).output()?.expect(11)?;
    ensure!(ended.out()?.contains("the file is not whole"), "{}", ended.out()?);
    std::fs::write(&file, b"something else")?;
    Gcwatch::new()
        .args("graph")
        .arg(&file)
        .output()?
        .expect(12)?
        .says(&["cut.gcgraph", "gcwatch graph -o"])?;
    let gone = dir.path().join("no-such-file.gcgraph");
    Gcwatch::new().args("graph").arg(&gone).output()?.expect(12)?.says(&["no-such-file"])?;
    Ok(())
}
