//! Roots in frames, by method: compared with the program's own FunctionIDs and addresses.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{By, Document, Json, Scripted, Tally, fact, number};

const MANY: usize = 24;
/// Fewer frames, to see how many roots one more frame adds.
const FEW: usize = 9;

pub(crate) fn register(suite: &mut Suite) {
    // Run and attach alternate with the kind of GC. The program needs /proc to see that its threads wait.
    suite.each_heap("roots_frames::in_frames", &[Need::Proc], |clr, heap| {
        frames(clr, heap, if heap.server() { By::Run } else { By::Attach })
    });
}

/// A kind of frame, and the flags of the roots in it.
const KINDS: [(&str, &[&str]); 6] = [
    ("local", &[]),
    ("null", &[]),
    ("fixed", &["pinning"]),
    ("ref", &["interior"]),
    ("span", &["interior"]),
    ("native", &[]),
];

/// One collection while such frames existed.
struct Seen {
    kind: &'static str,
    flags: &'static [&'static str],
    method: u64,
    frames: usize,
    generation: u64,
    number: u64,
    /// The addresses that the program found for its objects after it.
    places: BTreeSet<u64>,
}

fn frames(clr: &Clr, heap: Heap, by: By) -> Result<()> {
    let mut program = Scripted::start(clr, heap, by, "frames", "--blocks", &[])?;
    let mut seen = Vec::new();
    for (kind, flags) in KINDS {
        for (frames, collections) in [(FEW, &["2"][..]), (MANY, &["2", "2 compacting", "0", "1"])] {
            let held = program.ask(&format!("hold {kind} {frames}"), "held ")?;
            let method = address(fact(&held, "method")?)?;
            for collection in collections {
                let answer = program.ask(&format!("collect {collection}"), "collected ")?;
                let list = fact(&answer, kind).unwrap_or_default().split(',').filter(|text| !text.is_empty());
                seen.push(Seen {
                    kind,
                    flags,
                    method,
                    frames,
                    generation: collection[..1].parse()?,
                    number: number(&answer, "index")?,
                    places: list.map(address).collect::<Result<_>>()?,
                });
            }
            program.ask(&format!("let {kind}"), "gone ")?;
        }
    }
    let document = program.end()?;
    for one in &seen {
        check(&document, one).with_context(|| {
            format!("{} frames of {:?}, GC {} (gen{})", one.frames, one.kind, one.number, one.generation)
        })?;
    }
    for (few, many) in seen.iter().zip(&seen[1..]).filter(|(few, _)| few.frames == FEW) {
        slots(document.gc(few.number)?, document.gc(many.number)?, few)?;
    }
    Ok(())
}

/// The method has as many distinct objects as frames, each at the program's address.
fn check(document: &Document, one: &Seen) -> Result<()> {
    let gc = document.gc(one.number)?;
    ensure!(gc["complete"] == true && gc["generation"] == one.generation, "not the expected collection");
    Tally::of(gc)?;
    let mut found: BTreeMap<u64, usize> = BTreeMap::new();
    for root in gc.list("/roots/list")? {
        if root.address("/id")? == one.method && root["kind"] == "stack" {
            ensure!(root["flags"] == serde_json::json!(one.flags), "{root}");
            *found.entry(root.address("/object")?).or_default() += 1;
        }
    }
    if one.kind == "null" {
        ensure!(found.keys().eq([&0]) && found[&0] >= one.frames, "not only null: {found:x?}");
        return Ok(());
    }
    // The runtime resolves interior pointers within the collected generations only, and these objects are in gen2 by
    // then.
    let interior = one.flags.contains(&"interior");
    if interior && one.generation < 2 {
        ensure!(found.is_empty(), "interior roots of old objects: {found:x?}");
        return Ok(());
    }
    ensure!(one.places.len() == one.frames, "the program holds {} objects", one.places.len());
    ensure!(
        found.keys().copied().collect::<BTreeSet<_>>() == one.places,
        "the list has {found:x?}, the program {:x?}",
        one.places
    );
    Ok(())
}

/// More frames make as many more roots, not counting those of other methods: the runtime's own threads keep running.
fn slots(few: &Value, many: &Value, one: &Seen) -> Result<()> {
    let more = i64::try_from(MANY - FEW)?;
    let mut name = "stack".to_owned();
    one.flags.iter().for_each(|flag| name.extend([" ", flag]));
    let name = if one.kind == "null" { "null".to_owned() } else { name };
    let change = Tally::of(many)?.since(&Tally::of(few)?);
    // Each native frame is on a thread of its own, which has other roots, too.
    let exact = one.kind != "native";
    let got = change.get(&name) - (others(many, one)? - others(few, one)?);
    ensure!(if exact { got == more } else { got >= more }, "{:?}: {change} for {more} more frames", one.kind);
    Ok(())
}

/// Roots of the same kind in frames of other methods.
fn others(gc: &Value, one: &Seen) -> Result<i64> {
    let mut count = 0;
    for root in gc.list("/roots/list")? {
        let alike = match (one.kind, root.address("/object")?) {
            ("null", object) => object == 0,
            (_, object) => {
                object != 0 && root["kind"] == "stack" && root["flags"] == serde_json::json!(one.flags)
            }
        };
        count += i64::from(alike && root.address("/id")? != one.method);
    }
    Ok(count)
}

fn address(text: &str) -> Result<u64> {
    let digits = text.strip_prefix("0x").with_context(|| format!("{text} is no address"))?;
    Ok(u64::from_str_radix(digits, 16)?)
}
