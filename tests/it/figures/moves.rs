//! Compares moved and surviving ranges with a program that knows the address of each of its objects before and after a
//! collection, and which of them it dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::{Skip, Target};

use crate::it::suite::{Heap, Suite};
use crate::it::support::{
    DEADLINE, Document, Gcwatch, Guard, Json, Signal, brief, check_ranges, fact, generation_of, number,
    own_environment, read_mechanisms, repeated, signal, start_attach,
};

/// No pinned objects; three ages; more plugs than one batch of the runtime holds (512).
const MOVING: &str = "objects=2500 ages=3 drop=4 threads=2 sample=1000000";
/// Few dead objects, so that the runtime may choose to sweep; every kind of heap, and pinned objects.
const STAYING: &str = "objects=12000 ages=3 drop=100 dense=100 pin=7 large=40 poh=60 threads=2 sample=4000";
/// Pinned objects, and many dead ones between and beside them.
const PINNING: &str = "objects=2500 ages=3 drop=4 pin=5 large=40 poh=60 threads=2 sample=1000000";
/// Regions full of survivors.
const FULL: &str = "objects=40000 ages=3 drop=100 dense=1000 large=20 poh=30 sample=5000";

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("moves::every_address_maps", &[], |clr, heap| {
        let lines = ["move 0", "move 1", "move 2", "keep 0", "keep 1", "keep 2", "move 1", "move 0"];
        let seen = run(clr, heap, "roots", MOVING, &[], &lines)?;
        seen.met(heap.server().then_some("two heaps"))?;
        seen.met(["moved gen0", "moved gen1", "moved gen2", "older", "died", "batches"])
    });
    suite.each_heap("moves::every_address_maps_at_level_moves", &[], |clr, heap| {
        let seen = run(clr, heap, "moves", MOVING, &[], &["move 0", "move 1", "move 2", "keep 0", "move 1"])?;
        seen.met(["moved gen0", "moved gen1", "moved gen2", "older", "batches"])
    });
    suite.each_heap("moves::every_address_maps_in_attach", &[], in_attach);
    suite.each("moves::pinned_objects_in_regions", &[], |clr| pinned(clr, &[]));
    // The GC with segments comes with the runtime.
    suite.each("moves::pinned_objects_in_segments", &[], |clr| {
        pinned(clr, &[("DOTNET_GCName", "libclrgc.so")])
    });
    suite.each_heap("moves::survivors_of_sweeping_and_compacting", &[], sweeping_and_compacting);
    suite.once("moves::survivors_at_level_moves", &[], |clr| {
        let lines = ["keep 2", "keep 2", "keep 2 loh", "keep 2"];
        let seen = run(clr, Heap::Workstation, "moves", STAYING, &[], &lines)?;
        seen.met(["swept loh", "swept poh", "moved loh", "pinned stayed", "died", "compacting true"])
    });
    suite.each("moves::conserving_memory_compacts_large_objects", &[], |clr| {
        // Every third object is dropped and not replaced: a third of the LOH is free.
        let options = "objects=3000 ages=3 drop=3 dense=100 large=60 poh=30 refill=0 sample=1000000";
        let variable = [("DOTNET_GCConserveMemory", "9")];
        let seen = run(clr, Heap::Workstation, "roots", options, &variable, &["keep 2", "keep 2"])?;
        seen.met(["moved loh", "swept loh", "compacting true"])
    });
    suite.each("moves::regions_swept_in_plan", &[], swept_in_plan);
}

/// Which cases a run met.
#[derive(Debug, Default)]
struct Seen(BTreeSet<String>);

impl Seen {
    fn saw(&mut self, what: impl Into<String>) {
        self.0.insert(what.into());
    }

    /// A test that did not meet the cases that it is for has shown nothing.
    fn met<'w>(&self, all: impl IntoIterator<Item = &'w str>) -> Result<()> {
        for what in all {
            ensure!(self.0.contains(what), "no case {what:?} occurred, only {:?}", self.0);
        }
        Ok(())
    }
}

/// One object, as the program saw it.
#[derive(Debug)]
struct Object {
    old: u64,
    /// `None`: the program dropped it, and it is gone.
    new: Option<u64>,
    bytes: u64,
    heap: String,
    from: u64,
    to: Option<u64>,
}

/// One collection, as the program saw it.
#[derive(Debug)]
struct Collected {
    index: u64,
    generation: u64,
    compacted: bool,
    large_too: bool,
    objects: Vec<Object>,
}

/// Makes the program collect; repeats that if another collection came between its two looks.
fn collect(talk: &mut Target, line: &str) -> Result<Collected> {
    for attempt in 0..10 {
        if attempt > 0 {
            repeated::again();
        }
        let begun = talk.lines().len();
        let answer = talk.ask(line, "collected ", DEADLINE)?;
        if number(&answer, "gcs")? != 1 {
            continue;
        }
        let objects = talk.lines()[begun..].iter().filter_map(|line| object(line).transpose());
        return Ok(Collected {
            index: number(&answer, "index")?,
            generation: number(&answer, "generation")?,
            compacted: fact(&answer, "compacted")? == "True",
            large_too: line.ends_with("loh"),
            objects: objects.collect::<Result<_>>()?,
        });
    }
    bail!("never exactly one collection between two looks: {line}")
}

fn object(line: &str) -> Result<Option<Object>> {
    let address =
        |text: &str| Ok::<_, anyhow::Error>(u64::from_str_radix(text.trim_start_matches("0x"), 16)?);
    Ok(match line.split(' ').collect::<Vec<_>>()[..] {
        ["pair", old, new, bytes, heap, from, to] => Some(Object {
            old: address(old)?,
            new: Some(address(new)?),
            bytes: bytes.parse()?,
            heap: heap.to_owned(),
            from: from.parse()?,
            to: Some(to.parse()?),
        }),
        ["dead", old, bytes, heap, from] => Some(Object {
            old: address(old)?,
            new: None,
            bytes: bytes.parse()?,
            heap: heap.to_owned(),
            from: from.parse()?,
            to: None,
        }),
        _ => None,
    })
}

fn run(
    clr: &Clr,
    heap: Heap,
    level: &str,
    options: &str,
    variables: &[(&str, &str)],
    lines: &[&str],
) -> Result<Seen> {
    let dir = tempfile::tempdir()?;
    let (path, own) = (dir.path().join("out.json"), dir.path().join("own.nettrace"));
    let own_name = own.to_string_lossy();
    let mut talk = Gcwatch::on(clr)
        .envs(heap.environment())
        .envs(own_environment(&own_name))
        // A fixed number of heaps: .NET 9 and later start with one.
        .envs([("DOTNET_gcConcurrent", "0"), ("DOTNET_GCHeapCount", "2")])
        .envs(variables.iter().copied())
        .args(&format!("run --blocks --format json --level {level}"))
        .option("-o", &path)
        .app(clr, "moves", options)?
        .spawn()?;
    let ready = talk.wait_line("ready ", DEADLINE)?;
    let _guard = Guard(fact(&ready, "pid")?.parse()?);
    let collected = lines.iter().map(|line| collect(&mut talk, line)).collect::<Result<Vec<_>>>()?;
    talk.send_line("exit")?;
    let status = talk.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {talk:?}");
    check(&path, &collected, level, Some(&own))
}

fn sweeping_and_compacting(clr: &Clr, heap: Heap) -> Result<()> {
    let lines = ["keep 2", "keep 2", "keep 0", "move 1", "move 2", "keep 2 loh", "move 2 loh", "keep 2"];
    let mut seen = run(clr, heap, "roots", STAYING, &[], &lines)?;
    // Whether to sweep is the runtime's decision.
    for _ in 0..10 {
        if seen.met(["swept soh"]).is_err() {
            repeated::again();
            seen.0.extend(run(clr, heap, "roots", STAYING, &[], &lines)?.0);
        }
    }
    let kinds = ["swept soh", "swept loh", "swept poh", "moved loh", "pinned stayed", "died"];
    seen.met(kinds.into_iter().chain(["compacting false", "compacting true", "compacting mixed"]))
}

fn pinned(clr: &Clr, variables: &[(&str, &str)]) -> Result<()> {
    let lines = ["move 0", "keep 1", "move 1", "move 2", "keep 0", "keep 2", "move 2 loh"];
    let seen = run(clr, Heap::Workstation, "roots", PINNING, variables, &lines)?;
    let kinds = ["moved gen0", "moved gen1", "moved gen2", "moved loh", "pinned stayed", "swept poh", "died"];
    seen.met(kinds)
}

fn in_attach(clr: &Clr, heap: Heap) -> Result<()> {
    let variables: Vec<_> = heap.environment().into_iter().chain([("DOTNET_gcConcurrent", "0")]).collect();
    let options: Vec<&str> = MOVING.split(' ').collect();
    let mut talk = Target::app(clr, "moves", &options, &variables)?;
    talk.wait_line("ready ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    for level in ["moves", "roots"] {
        let path = dir.path().join(level);
        let mut gcwatch = start_attach(clr, talk.pid(), &format!("--blocks --level {level}"), &path)?;
        let mut collected = Vec::new();
        for line in ["move 0", "move 1", "move 2", "move 2"] {
            collected.push(collect(&mut talk, line)?);
        }
        signal(gcwatch.pid(), Signal::INT)?;
        let status = gcwatch.wait(DEADLINE)?;
        ensure!(status.success(), "{status}: {gcwatch:?}");
        check(&path, &collected, level, None)?.met(["moved gen0", "moved gen1", "moved gen2"])?;
    }
    Ok(())
}

/// With `GCEnableSpecialRegions`, which is off by default, the runtime sweeps full regions in the plan phase of a
/// compacting collection.
fn swept_in_plan(clr: &Clr) -> Result<()> {
    if !clr.name.starts_with("8.") {
        let reason = "this runtime crashes with GCEnableSpecialRegions, watched or not (.NET 9 and 10 do)";
        return Err(Skip::because(reason).into());
    }
    let variable = [("DOTNET_GCEnableSpecialRegions", "1")];
    let seen =
        run(clr, Heap::Workstation, "roots", FULL, &variable, &["move 2", "move 2", "move 1", "move 2"])?;
    seen.met(["moved soh", "kept beside moved", "compacting mixed"])
}

fn check(path: &Path, collected: &[Collected], level: &str, own: Option<&Path>) -> Result<Seen> {
    let document = Document::read(path)?;
    document.nothing_lost()?;
    let mechanisms = own.map(read_mechanisms).transpose()?;
    for gc in document.complete()? {
        check_ranges(gc).with_context(|| format!("GC {}", gc["number"]))?;
    }
    let mut seen = Seen::default();
    for truth in collected {
        let gc = document.gc(truth.index)?;
        let context = || format!("GC {}, generation {}", truth.index, truth.generation);
        ensure!(gc["complete"] == true && gc["level"] == level, "{}: {}", context(), brief(gc));
        ensure!(gc["generation"] == truth.generation, "{}: {}", context(), gc["generation"]);
        let busy = gc.list("/heaps")?.iter().filter(|heap| heap["promoted_bytes"].as_u64() > Some(50_000));
        if busy.count() > 1 {
            seen.saw("two heaps");
        }
        map(gc, truth, &mut seen).with_context(context)?;
        compacting(gc, truth, &mut seen).with_context(context)?;
        if let Some(own) = &mechanisms {
            let own = own.get(&truth.index).with_context(context)?;
            ensure!(own.compacting == truth.compacted, "{}: the runtime contradicts itself", context());
            ensure!(own.compacting == (own.heaps_compacting > 0), "{own:?}");
            let large = &gc["generations"][3]["compacted"];
            ensure!(truth.generation < 2 || *large == own.loh_compacted, "{}: LOH {large}", context());
        }
    }
    Ok(seen)
}

/// Where a block is after the collection.
#[derive(Debug, Clone, Copy)]
struct Block<'d> {
    new: u64,
    bytes: u64,
    range: &'d Value,
    moved: bool,
}

/// Every object is where the ranges put it.
fn map(gc: &Value, truth: &Collected, seen: &mut Seen) -> Result<()> {
    let mut blocks = BTreeMap::new();
    for range in gc.list("/moved/ranges")? {
        let block = Block { new: range.address("/new")?, bytes: range.uint("/bytes")?, range, moved: true };
        ensure!(blocks.insert(range.address("/old")?, block).is_none(), "the same range twice: {range}");
    }
    for range in gc.list("/surviving/ranges")? {
        let start = range.address("/start")?;
        let block = Block { new: start, bytes: range.uint("/bytes")?, range, moved: false };
        ensure!(blocks.insert(start, block).is_none(), "the same range twice: {range}");
    }
    disjoint(blocks.iter().map(|(old, block)| (*old, block.bytes)).collect())?;
    disjoint(blocks.values().map(|block| (block.new, block.bytes)).collect())?;
    if blocks.len() > 512 {
        seen.saw("batches");
    }
    for object in &truth.objects {
        let generation = generation_of(&object.heap, object.from);
        let condemned = truth.generation == 2 || (object.heap == "soh" && object.from <= truth.generation);
        let found = blocks.range(..=object.old).next_back();
        let found = found.filter(|(old, block)| object.old - **old < block.bytes);
        let Some(new) = object.new else {
            ensure!(condemned, "{object:?} died in a collection of generation {}", truth.generation);
            ensure!(found.is_none(), "{object:?} is dead, and in {found:?}");
            seen.saw("died");
            continue;
        };
        let Some((old, block)) = found else {
            ensure!(!condemned, "{object:?} lives, and is in no range");
            ensure!(new == object.old, "{object:?} moved, and no range says so");
            seen.saw("older");
            continue;
        };
        ensure!(condemned, "{object:?} was not collected, and is in {block:?}");
        ensure!(
            object.old + object.bytes <= old + block.bytes,
            "{object:?} reaches out of {old:#x} {block:?}"
        );
        ensure!(new == block.new + (object.old - old), "{object:?} is not where {old:#x} {block:?} puts it");
        let from = if block.moved { &block.range["from"] } else { &block.range["generation"] };
        ensure!(from == generation, "{object:?} lay in {generation}, not in {from}");
        let to = object.to.map(|to| generation_of(&object.heap, to));
        if block.moved {
            ensure!(
                block.range["to"].as_str() == to,
                "{object:?} lies in {to:?}, not in {}",
                block.range["to"]
            );
        }
        match (block.moved, new == object.old) {
            (true, false) => {
                seen.saw(format!("moved {generation}"));
                seen.saw(format!("moved {}", object.heap));
            }
            (true, true) => seen.saw("pinned stayed"),
            (false, _) => {
                seen.saw(format!("swept {}", object.heap));
                if truth.compacted && object.heap == "soh" {
                    seen.saw("kept beside moved");
                }
            }
        }
    }
    Ok(())
}

fn disjoint(mut blocks: Vec<(u64, u64)>) -> Result<()> {
    blocks.sort_unstable();
    let overlap = blocks.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0);
    ensure!(overlap.is_none(), "blocks overlap: {overlap:x?}");
    Ok(())
}

/// `compacting` of the collection and `compacted` of each generation agree with what the program's runtime told it, and
/// with what happened to its objects.
fn compacting(gc: &Value, truth: &Collected, seen: &mut Seen) -> Result<()> {
    let live = |heap: &'static str| truth.objects.iter().filter(move |o| o.heap == heap && o.new.is_some());
    let full = truth.generation == 2;
    let large = full && (truth.large_too || live("loh").any(|object| object.new != Some(object.old)));
    for (index, generation) in gc.list("/generations")?.iter().enumerate() {
        let expected = match index {
            0..=2 => (index as u64 <= truth.generation).then_some(truth.compacted),
            3 => full.then_some(large),
            _ => full.then_some(false),
        };
        ensure!(generation["compacted"].as_bool() == expected, "{}: {expected:?}", generation["compacted"]);
    }
    // The collected parts that hold something: small objects, and in a gen2 collection large objects.
    let small_kept = gc
        .list("/surviving/ranges")?
        .iter()
        .any(|range| ["gen0", "gen1", "gen2"].iter().any(|generation| range["generation"] == *generation));
    let large_held = full && live("loh").next().is_some();
    let expected = match (truth.compacted, large) {
        (true, false) if large_held || small_kept => Some("mixed"),
        (false, true) if large_held => Some("mixed"),
        (true, _) if small_kept => Some("mixed"),
        (true, false) if full && gc["generations"][3]["size_before_bytes"] != 0 => None,
        (compacted, _) => Some(if compacted { "true" } else { "false" }),
    };
    let got = gc["compacting"].to_string();
    if let Some(expected) = expected {
        ensure!(got.trim_matches('"') == expected, "compacting is {got}, expected {expected}");
        seen.saw(format!("compacting {expected}"));
    }
    Ok(())
}
