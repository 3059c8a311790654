//! Graphs to and from other tools: the program's own truth, and Microsoft's own classes for `.gcdump` files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use dotnet_diagnostics_client::nettrace::{Item, Reader as EventReader};
use dotnet_diagnostics_client::{Client, Keywords, Level, Provider, Rundown, SessionConfig, discovery};
use dotnet_heap_graph::exchange::{gcdump, snapshot};
use dotnet_heap_graph::format::{GraphWriter, Reader, RootRecord};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use xtask::Clr;
use xtask::testkit::Target;

use super::taken::program;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, HeapDump, HeapGraph, MONITORING, number, write_gcdump};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("exchange::snapshot", &[], snapshot_of);
    suite.each("exchange::gcdump_of_snapshot", &[Need::Peer(MONITORING)], gcdump_of_snapshot);
    suite.each("exchange::gcdump_of_graph", &[Need::Proc, Need::Peer(MONITORING)], gcdump_of_graph);
}

/// A recording of a heap snapshot.
fn record(pid: u32) -> Result<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::new(discovery::find(pid)?).with_timeout(DEADLINE);
        let heap = Provider::new(Provider::RUNTIME, Level::Verbose).keywords(Keywords(snapshot::KEYWORDS));
        let config = SessionConfig::new([heap]).circular_buffer_mb(1024).rundown(Rundown::Default);
        let mut session = client.collect_tracing(&config).await?;
        let id = session.id();
        let (mut events, mut recording) = (EventReader::new(), Vec::new());
        let (mut has_objects, mut stopping) = (false, None);
        let mut chunk = Vec::with_capacity(1 << 20);
        while timeout(DEADLINE, session.read_buf(&mut chunk)).await.context("no event")?? > 0 {
            events.feed(&chunk);
            recording.append(&mut chunk);
            // The last events are held until it is sure that no earlier ones follow. Order does not matter here.
            events.release_held();
            while let Some(item) = events.next_item()? {
                let Item::Event(event) = item else { continue };
                has_objects |= event.metadata.event_id == 18;
                if has_objects && event.metadata.event_id == 2 && stopping.is_none() {
                    let client = client.clone();
                    stopping = Some(tokio::spawn(async move { client.stop_tracing(id).await }));
                }
            }
        }
        stopping.context("no snapshot")?.await??;
        Ok(recording)
    })
}

/// The graph in a recording. The events must all be there.
fn import(recording: &[u8], path: &Path) -> Result<HeapGraph> {
    let mut writer = GraphWriter::new(BufWriter::new(File::create(path)?))?;
    let (taken, _) = snapshot::read(recording, 0, &snapshot::type_name, &mut writer)?;
    ensure!(taken.is_whole() && taken.snapshots == 1, "{taken:?}");
    writer.info(&json!({}))?;
    writer.finish()?;
    HeapGraph::read(path)
}

/// The words behind `first second` in the lines of the program.
fn truth<'t>(program: &'t Target, first: &str) -> Vec<(&'t str, &'t str)> {
    let lines = program.lines().iter().filter_map(|line| line.split_once(' '));
    lines.filter(|(word, _)| *word == first).filter_map(|(_, rest)| rest.split_once(' ')).collect()
}

fn check_classes(graph: &HeapGraph, program: &Target) -> Result<()> {
    for (class, rest) in truth(program, "class") {
        let objects = graph.objects_of(&format!("Known.{class}"));
        let found = (objects.len() as u64, graph.bytes(&objects));
        ensure!(found == (number(rest, "count")?, number(rest, "bytes")?), "{class}: {rest}, but {found:?}");
    }
    ensure!(graph.objects_of("Known.Dead").is_empty(), "garbage is left");
    Ok(())
}

fn snapshot_of(clr: &Clr, heap: Heap) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut program = program(clr, heap, 20_000)?;
    let graph = import(&record(program.pid())?, &dir.path().join("a.gcgraph"))?;
    check_classes(&graph, &program)?;
    let reachable = graph.reachable(None);
    for (field, rest) in truth(&program, "static") {
        // The runtime does not tell which class has the field.
        let slot = graph.statics.get(field.rsplit('.').next().unwrap_or_default());
        let slot = *slot.with_context(|| format!("{field} is not among {:?}", graph.statics.keys()))?;
        let without = graph.reachable(Some(slot));
        let only: Vec<u64> = reachable.difference(&without).copied().collect();
        let bytes = graph.bytes(&only);
        ensure!(bytes == number(rest, "retains")?, "{field}: {rest}, but {bytes} bytes");
    }
    let large =
        graph.objects_of("Known.Node[]").into_iter().map(|array| graph.objects[&array].references.len());
    ensure!(large.max() == Some(100_000), "not all references of the large array");
    let values = graph.objects_of("Known.Value");
    let held = graph.edges.iter().filter(|edge| values.contains(&edge.to)).count();
    ensure!(held == 70, "{held} dependent handles");
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// Both ways of a recording into a `.gcdump` file, and both readers of both files.
fn gcdump_of_snapshot(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name);
    let mut program = program(clr, Heap::Workstation, 1000)?;
    let recording = record(program.pid())?;
    std::fs::write(path("a.nettrace"), &recording)?;
    let graph = import(&recording, &path("a.gcgraph"))?;

    write_gcdump(&path("a.nettrace"), &path("theirs.gcdump"))?;
    let mut writer = GraphWriter::new(BufWriter::new(File::create(path("theirs.gcgraph"))?))?;
    let (_, counts) = gcdump::read(File::open(path("theirs.gcdump"))?, &mut writer)?;
    writer.info(&json!({}))?;
    writer.finish()?;
    ensure!((counts.impossible, counts.references_to_nowhere) == (0, 0), "{counts:?}");
    let read = HeapGraph::read(&path("theirs.gcgraph"))?;
    check_classes(&read, &program)?;
    ensure!(read.objects.keys().eq(graph.objects.keys()), "other objects");
    for (address, object) in &graph.objects {
        let other = &read.objects[address];
        let targets = |object: &[(u64, u64)]| object.iter().map(|(_, target)| *target).collect::<Vec<_>>();
        ensure!(
            (object.bytes, graph.class_of(object), targets(&object.references))
                == (other.bytes, read.class_of(other), targets(&other.references)),
            "{address:x}: {object:?}, but {other:?}"
        );
    }
    check_written(&path("a.gcgraph"), &graph)?;

    // The groups of roots are those of their file. Dependent handles are references in ours.
    let theirs = HeapDump::read(&path("theirs.gcdump"))?;
    let ours = HeapDump::read(&path("a.gcdump"))?;
    let groups = |dump: &HeapDump| {
        let is_static = |name: &str| name.starts_with("[static var ");
        let mut groups: BTreeMap<_, _> = dump.roots.iter().filter(|(name, _)| !is_static(name)).collect();
        groups.remove(&"[Dependent Handles]".to_owned());
        let statics = dump.roots.iter().filter(|(name, _)| is_static(name)).flat_map(|(_, objects)| objects);
        let mut statics: Vec<u64> = statics.copied().collect();
        statics.sort_unstable();
        (
            groups.into_iter().map(|(name, objects)| (name.clone(), objects.clone())).collect::<Vec<_>>(),
            statics,
        )
    };
    ensure!(groups(&ours) == groups(&theirs), "{:?}, but {:?}", ours.roots, theirs.roots);
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// A graph that gcwatch took becomes a `.gcdump` file that Microsoft's classes read.
fn gcdump_of_graph(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = program(clr, Heap::Workstation, 1000)?;
    Gcwatch::on(clr)
        .args("graph --induce -o")
        .arg(&path)
        .arg(program.pid().to_string())
        .output()?
        .expect(0)?;
    let graph = HeapGraph::read(&path)?;
    let dump = check_written(&path, &graph)?;
    ensure!(
        dump.segments.len() == graph.ranges.iter().filter(|range| range.generation <= 4).count(),
        "ranges"
    );
    let orders = dump.roots.get("[static var Known.Service._orders]").context("no root of _orders")?;
    let [orders] = orders[..] else { anyhow::bail!("{orders:?}") };
    ensure!(dump.objects[&orders].class.contains("List<"), "{:?}", dump.objects[&orders]);
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// Writes a `.gcdump` file beside a graph, and compares what Microsoft's classes read with the graph.
fn check_written(path: &Path, graph: &HeapGraph) -> Result<HeapDump> {
    let file = path.with_extension("gcdump");
    let output = BufWriter::new(File::create(&file)?);
    let (_, counts) = gcdump::write(&Reader::open(path)?, &gcdump::Description::default(), output)?;
    let dump = HeapDump::read(&file)?;
    ensure!(dump.objects.keys().eq(graph.objects.keys()), "other objects");
    ensure!(dump.total_bytes == counts.object_bytes, "{} bytes, but {counts:?}", dump.total_bytes);
    let mut edges: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for edge in graph.edges.iter().filter(|edge| graph.objects.contains_key(&edge.to)) {
        edges.entry(edge.from).or_default().push(edge.to);
    }
    for (address, object) in &graph.objects {
        let found = &dump.objects[address];
        let mut references: Vec<u64> = object.references.iter().map(|(_, target)| *target).collect();
        let mut own = edges.remove(address).unwrap_or_default();
        own.sort_unstable();
        references.extend(own);
        ensure!(
            (found.bytes, found.class.as_str(), &found.references)
                == (object.bytes, graph.class_of(object), &references),
            "{address:x}: {object:?}, but {found:?}"
        );
    }
    let stack = graph.roots.iter().filter(|root| {
        root.kind == RootRecord::STACK
            && root.flags & RootRecord::WEAK == 0
            && (graph.objects.contains_key(&root.address) || root.flags & RootRecord::INTERIOR != 0)
    });
    let locals = dump.roots.get("[local vars]").map_or(0, Vec::len);
    ensure!(locals == stack.count(), "{locals} local variables: {:?}", dump.roots.keys());
    Ok(dump)
}
