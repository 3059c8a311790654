//! What a graph says of objects that the program knows.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, HeapGraph, number};

pub(crate) fn register(suite: &mut Suite) {
    for (name, test) in [
        ("taken::at_gen0", (|clr, heap| known(clr, heap, 0)) as fn(&Clr, Heap) -> Result<()>),
        ("taken::at_gen1", |clr, heap| known(clr, heap, 1)),
        ("taken::at_gen2", |clr, heap| known(clr, heap, 2)),
    ] {
        suite.each_heap(name, &[Need::Proc], test);
    }
    suite.each("taken::induced", &[Need::Proc], induced);
    suite.once("taken::strings_only_if_wanted", &[Need::Proc], strings);
    suite.once("taken::no_collection", &[Need::Proc], no_collection);
}

/// Starts the program that knows its objects.
pub(crate) fn program(clr: &Clr, heap: Heap, more: u32) -> Result<Target> {
    program_with(clr, heap, more, &[])
}

/// The same, with variables in its environment.
pub(crate) fn program_with(clr: &Clr, heap: Heap, more: u32, variables: &[(&str, &str)]) -> Result<Target> {
    let server = [("DOTNET_gcServer", if heap.server() { "1" } else { "0" })];
    let env = [&server, variables].concat();
    let mut program = Target::app(clr, "objects", &[&format!("more={more}")], &env)?;
    program.wait_line("ready ", DEADLINE)?;
    Ok(program)
}

/// Takes a graph while the program collects `generation`, again and again until one was used.
pub(crate) fn take(clr: &Clr, program: &mut Target, path: &Path, generation: u32) -> Result<()> {
    let mut gcwatch =
        Gcwatch::on(clr).args("graph --within 2m -o").arg(path).arg(program.pid().to_string()).spawn()?;
    collect_until(program, &mut gcwatch, path, generation)
}

/// Collects until gcwatch has written its file, and has ended.
pub(crate) fn collect_until(
    program: &mut Target,
    gcwatch: &mut Target,
    path: &Path,
    generation: u32,
) -> Result<()> {
    let began = Instant::now();
    while !path.exists() {
        program.ask(&format!("collect {generation}"), "collected ", DEADLINE)?;
        ensure!(began.elapsed() < DEADLINE, "no graph: {gcwatch:?}");
        if let Ok(status) = gcwatch.wait(Duration::from_millis(20)) {
            ensure!(status.success(), "{status}: {gcwatch:?}");
        }
    }
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    Ok(())
}

/// The words behind `first second` in the lines of the program, by the third one.
pub(crate) fn truth<'t>(program: &'t Target, first: &str) -> Vec<(&'t str, &'t str)> {
    let lines = program.lines().iter().filter_map(|line| line.split_once(' '));
    lines.filter(|(word, _)| *word == first).filter_map(|(_, rest)| rest.split_once(' ')).collect()
}

fn known(clr: &Clr, heap: Heap, generation: u32) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = program(clr, heap, 20_000)?;
    let full = |program: &Target| program.fact("gc2").map(str::to_owned);
    let full_before = full(&program);
    let before = program.ask("check", "sum=", DEADLINE)?;
    take(clr, &mut program, &path, generation)?;
    let graph = HeapGraph::read(&path)?;
    ensure!(program.ask("check", "sum=", DEADLINE)? == before, "the program computes something else now");
    check(&graph, &program)?;
    let made = made_of(&program, &graph)?.unwrap_or(generation.into());
    ensure!(graph.info["generation"] == made, "{} but gen{made}", graph.info);

    // What is old is only collected in gen2.
    let reachable = graph.reachable(None);
    let known = |address: &&u64| graph.class_of(&graph.objects[address]).starts_with("Known.");
    let mut garbage = BTreeMap::new();
    for address in graph.objects.keys().filter(known).filter(|address| !reachable.contains(address)) {
        *garbage.entry(graph.class_of(&graph.objects[address])).or_insert(0) += 1;
    }
    // The runtime may make more of a collection than the program has asked for.
    let none_full = full(&program) == full_before;
    let dead = if none_full { BTreeMap::from([("Known.Dead", 123)]) } else { BTreeMap::new() };
    ensure!(none_full || generation == 2 || heap.server(), "{program:?}");
    let weak = garbage.remove("Known.Weak").unwrap_or(0);
    ensure!(garbage == dead && (weak == 0 || generation < 2), "{garbage:?}, {weak} weak");
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// Which generation the graph's collection collected, by the program's own counts before and after it: the runtime may
/// make more of a collection than the program has asked for. `None`: there was more than one collection in between.
fn made_of(program: &Target, graph: &HeapGraph) -> Result<Option<u64>> {
    let mut before = None;
    for (gen0, rest) in truth(program, "collected") {
        let after = [number(gen0, "gc0")?, number(rest, "gc1")?, number(rest, "gc2")?];
        if graph.info["gc_number"] == after[0] {
            let [gen0, gen1, gen2] = before.unwrap_or(after);
            let oldest = u64::from(after[1] > gen1) + u64::from(after[2] > gen2);
            return Ok((after[0] == gen0 + 1).then_some(oldest));
        }
        before = Some(after);
    }
    Ok(None)
}

/// Compares a graph with what the program says.
pub(crate) fn check(graph: &HeapGraph, program: &Target) -> Result<()> {
    let end = graph.end;
    ensure!(
        (end.objects_of_two_minds, end.objects_of_another_size, end.lost_roots) == (0, 0, 0),
        "something was lost: {end:?}"
    );
    let references: usize = graph.objects.values().map(|object| object.references.len()).sum();
    let bytes: u64 = graph.objects.values().map(|object| object.bytes).sum();
    ensure!(
        (end.objects, end.references, end.object_bytes)
            == (graph.objects.len() as u64, references as u64, bytes),
        "{end:?} but {} objects, {references} references, {bytes} bytes",
        graph.objects.len()
    );
    let unknown = graph.objects.values().flat_map(|object| &object.references);
    let unknown = unknown.filter(|(_, target)| !graph.objects.contains_key(target)).count();
    ensure!(unknown == 0, "{unknown} references to objects that are not there");

    for (class, rest) in truth(program, "class") {
        let objects = graph.objects_of(&format!("Known.{class}"));
        let found = (objects.len() as u64, graph.bytes(&objects));
        ensure!(found == (number(rest, "count")?, number(rest, "bytes")?), "{class}: {rest}, but {found:?}");
    }
    let reachable = graph.reachable(None);
    for (field, rest) in truth(program, "static") {
        let slot = graph.statics.get(&format!("Known.{field}"));
        let slot = *slot.with_context(|| format!("{field} is not among {:?}", graph.statics.keys()))?;
        let without = graph.reachable(Some(slot));
        let only: Vec<u64> = reachable.difference(&without).copied().collect();
        let bytes = graph.bytes(&only);
        ensure!(bytes == number(rest, "retains")?, "{field}: {rest}, but {bytes} bytes");
    }
    for (_, rest) in truth(program, "strings") {
        let mut by_hash: BTreeMap<u64, u64> = BTreeMap::new();
        for object in graph.objects.values().filter(|object| graph.class_of(object) == "string") {
            *by_hash.entry(object.hash).or_default() += 1;
        }
        let same = number(rest, "count")?;
        ensure!(by_hash.values().any(|count| *count == same), "no {same} equal strings");
    }
    check_fields(graph)
}

/// Every reference is in the field that the program's source says.
fn check_fields(graph: &HeapGraph) -> Result<()> {
    for (class, names) in [
        ("Known.Order", &["Name", "Content", "Customer"][..]),
        ("Known.Left", &["Right"]),
        ("Known.Right", &["Left"]),
        ("Known.HolderOne", &["Shared"]),
    ] {
        for address in graph.objects_of(class) {
            let found = graph.field_names(&graph.objects[&address]);
            ensure!(
                found.iter().eq(names
                    .iter()
                    .copied()
                    .map(str::to_owned)
                    .collect::<std::collections::BTreeSet<_>>()
                    .iter()),
                "{class}: {found:?}"
            );
        }
    }
    for address in graph.objects_of("Known.Customer") {
        let customer = &graph.objects[&address];
        let [(_, order)] = customer.references[..] else { bail!("{customer:?}") };
        let of_order = &graph.objects[&order];
        ensure!(graph.class_of(of_order) == "Known.Order", "{of_order:?}");
        ensure!(of_order.references.iter().any(|(_, target)| *target == address), "{of_order:?}");
    }
    let arrays = graph.objects_of("Known.Node[]");
    let largest = arrays.iter().map(|address| graph.objects[address].references.len()).max();
    ensure!(largest == Some(100_000), "{largest:?} references in the largest array");
    let large = arrays.iter().find(|address| graph.objects[*address].references.len() == 100_000);
    let offsets = large.map(|address| graph.objects[address].references.iter().map(|(offset, _)| *offset));
    let expected = (0..100_000_u64).map(|nth| 16 + 16 * nth);
    ensure!(offsets.is_some_and(|offsets| offsets.eq(expected)), "wrong places in the large array");
    Ok(())
}

/// Without waiting for the program.
fn induced(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = program(clr, Heap::Workstation, 0)?;
    Gcwatch::on(clr)
        .args("graph --induce -o")
        .arg(&path)
        .arg(program.pid().to_string())
        .output()?
        .expect(0)?;
    let graph = HeapGraph::read(&path)?;
    check(&graph, &program)?;
    ensure!(graph.info["generation"] == 2, "{}", graph.info);
    ensure!(graph.objects_of("Known.Dead").is_empty(), "garbage is left");
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// The text of a string leaves the process only if that is wanted, and the file is its owner's only.
fn strings(clr: &Clr) -> Result<()> {
    const TEXT: &str = "a text that is there forty times";
    let dir = tempfile::tempdir()?;
    let mut program = program(clr, Heap::Workstation, 0)?;
    for (option, there) in [(None, false), (Some("--strings"), true)] {
        let path = dir.path().join(format!("{there}.gcgraph"));
        let gcwatch = Gcwatch::on(clr).args("graph --induce -o").arg(&path);
        let gcwatch = option.into_iter().fold(gcwatch, Gcwatch::arg);
        gcwatch.arg(program.pid().to_string()).output()?.expect(0)?;
        let graph = HeapGraph::read(&path)?;
        ensure!(graph.texts.values().any(|text| text == TEXT) == there, "{option:?}");
        let bytes = std::fs::read(&path)?;
        let found = bytes.windows(TEXT.len()).any(|window| window == TEXT.as_bytes());
        ensure!(there || !found, "the text is in the file");
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path)?.permissions());
        ensure!(mode & 0o077 == 0, "{mode:o}");
    }
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

fn no_collection(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let program = program(clr, Heap::Workstation, 0)?;
    Gcwatch::on(clr)
        .args("graph --within 1s -o")
        .arg(&path)
        .arg(program.pid().to_string())
        .output()?
        .expect(11)?
        .says(&["no garbage collection within 1 s", "--within", "--induce"])?;
    ensure!(!path.exists(), "there is a file");
    Ok(())
}
