//! Compares roots with a program that knows its own: known numbers of handles, finalizable objects and threads make
//! exactly the difference between two collections.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Heap, Suite};
use crate::it::support::{By, Document, Json, NULL, Scripted, Tally, number};

const MANY: u64 = 120;
const THREADS: u64 = 8;

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("roots::known_differences_in_run", &[], |clr, heap| differences(clr, heap, By::Run));
    suite
        .each_heap("roots::known_differences_in_attach", &[], |clr, heap| differences(clr, heap, By::Attach));
}

/// The collections after each step of the program.
#[derive(Default)]
struct Done {
    collected: BTreeMap<&'static str, u64>,
    /// The program's handles and the addresses of their objects after the collection `strong`.
    handles: BTreeSet<(u64, u64)>,
}

fn differences(clr: &Clr, heap: Heap, by: By) -> Result<()> {
    let mut program = Scripted::start(clr, heap, by, "roots", "--blocks", &[])?;
    let done = act(&mut program)?;
    check(&program.end()?, &done)
}

/// Makes all changes, and a collection after each.
fn act(program: &mut Scripted) -> Result<Done> {
    // Starting a watch also makes finalizable objects in the runtime: wait until they are finalized.
    for turn in 0.. {
        ensure!(turn < 20, "the program always has pending finalizers");
        program.ask("release", "released ")?;
        if number(&program.ask("collect 2", "collected ")?, "finalization_pending")? == 0 {
            break;
        }
    }
    let mut done = Done::default();
    let mut collect = |program: &mut Scripted, label, generation: &str| {
        let answer = program.ask(&format!("collect {generation}"), "collected ")?;
        done.collected.insert(label, number(&answer, "index")?);
        anyhow::Ok(number(&answer, "gc0")?)
    };
    collect(program, "nothing", "2")?;
    for kind in ["pinned", "weak", "weaklong"] {
        program.ask(&format!("handles {kind} {MANY}"), "handles ")?;
        collect(program, kind, "2")?;
    }
    program.ask(&format!("handles strong {MANY}"), "handles ")?;
    let collections = collect(program, "strong", "2")?;
    let places = program.ask("where", "where ")?;
    ensure!(number(&places, "gc0")? == collections, "the program's objects moved again: {places}");
    // A collection of any generation reports all roots.
    collect(program, "gen0", "0")?;
    collect(program, "compacting", "2 compacting")?;
    program.ask("free", "freed ")?;
    collect(program, "freed", "2")?;
    program.ask("finalizable 0", "finalizable ")?;
    collect(program, "finalizer held", "2")?;
    program.ask(&format!("finalizable {MANY}"), "finalizable ")?;
    collect(program, "finalizable", "2")?;
    let released = program.ask("release", "released ")?;
    ensure!(number(&released, "finalized")? >= MANY, "{released}");
    collect(program, "released", "2")?;
    program.ask(&format!("threads {THREADS}"), "threads ")?;
    collect(program, "threads", "2")?;
    program.ask("join", "joined ")?;
    collect(program, "joined", "2")?;
    // With server GC, another thread writes a collection's end, so an exit may come before it: collect once more.
    collect(program, "last", "0")?;
    let pairs = places.split(' ').filter_map(|word| word.split_once(':'));
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).context("no address");
    done.handles = pairs.map(|(id, at)| Ok((number(id)?, number(at)?))).collect::<Result<_>>()?;
    Ok(done)
}

fn check(document: &Document, done: &Done) -> Result<()> {
    let gc = |label: &str| {
        let index = done.collected.get(label).with_context(|| format!("no collection {label:?}"))?;
        let gc = document.gc(*index)?;
        ensure!(gc["complete"] == true && gc["moved"].is_object(), "GC {index} ({label}) is incomplete");
        anyhow::Ok(gc)
    };
    let tally = |label: &str| Tally::of(gc(label)?);
    for gc in document.complete()? {
        Tally::of(gc)?;
    }
    // Between successive collections only one number changes, by as much as the program changed it. The stack roots of
    // the finalizer thread vary, so they are left out.
    let many = i64::try_from(MANY)?;
    for (before, after, changed, by) in [
        ("nothing", "pinned", "handle pinning", many),
        ("pinned", "weak", "handle weak", many),
        ("weak", "weaklong", "handle weak", many),
        ("weaklong", "strong", "handle", many),
        ("strong", "gen0", "handle", 0),
        ("gen0", "compacting", "handle", 0),
        ("finalizer held", "finalizable", "finalizer", many),
    ] {
        let change = tally(after)?.since(&tally(before)?).without(&["stack", NULL]);
        let expected = Tally::default().with(changed, by);
        ensure!(change == expected, "{before} -> {after}: {change} instead of {expected}");
    }
    let freed = tally("freed")?.since(&tally("compacting")?).without(&["stack", "finalizer", NULL]);
    let expected = Tally::from([("handle pinning", -many), ("handle weak", -2 * many), ("handle", -many)]);
    ensure!(freed == expected, "freed: {freed} instead of {expected}");
    ensure!(gc("gen0")?["generation"] == 0 && gc("compacting")?["generation"] == 2, "generations");
    ensure!(gc("compacting")?["compacting"] == true, "{}", gc("compacting")?["compacting"]);
    listed(gc("strong")?, &done.handles)?;
    // Ended threads hold nothing; running ones hold at least their own object each.
    let stack = |label| gc(label)?.uint("/roots/by_kind/stack");
    let (without, with, after) = (stack("released")?, stack("threads")?, stack("joined")?);
    ensure!(with >= without + THREADS, "{without} stack roots, {with} with {THREADS} more threads");
    ensure!(with >= after + THREADS, "{with} stack roots, {after} after {THREADS} threads ended");
    Ok(())
}

/// Each handle is in the list once, with its id and the address of its object after the collection.
fn listed(gc: &Value, handles: &BTreeSet<(u64, u64)>) -> Result<()> {
    ensure!(handles.len() as u64 == 4 * MANY, "the program has {} handles", handles.len());
    let mut found = Vec::new();
    for root in gc.list("/roots/list")? {
        let pair = (root.address("/id")?, root.address("/object")?);
        if root["kind"] == "handle" && handles.iter().any(|(id, _)| *id == pair.0) {
            found.push(pair);
        }
    }
    ensure!(found.len() == handles.len(), "{} of {} handles are in the list", found.len(), handles.len());
    let missing: Vec<_> = handles.iter().filter(|pair| !found.contains(pair)).collect();
    ensure!(missing.is_empty(), "not in the list with the program's addresses: {missing:x?}");
    Ok(())
}
