//! The figures of a graph's JSON, against a simple reader of the same file.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::Clr;

use super::answers::{induced, json as document, row};
use crate::it::suite::{Need, Suite};
use crate::it::support::HeapGraph;

pub(crate) fn register(suite: &mut Suite) {
    suite.each("figures::are_those_of_the_file", &[Need::Proc], sums);
}

const WEAK: u8 = 2;
const GENERATIONS: [&str; 6] = ["gen0", "gen1", "gen2", "loh", "poh", "frozen"];
/// Objects here are never freed, whether something refers to them or not.
const FROZEN: u8 = 5;

fn amounts<'o>(objects: impl Iterator<Item = &'o u64>) -> Value {
    let (mut count, mut bytes) = (0_u64, 0);
    for size in objects {
        count += 1;
        bytes += size;
    }
    json!({ "objects": count, "bytes": bytes })
}

fn sums(clr: &Clr) -> Result<()> {
    let (_dir, path, program) = induced(clr)?;
    let found = document(&path, "")?;
    let graph = HeapGraph::read(&path)?;
    ensure!(found["taken"] == graph.info && found["taken"]["pid"] == program.pid(), "{}", found["taken"]);
    let sizes = || graph.objects.values().map(|object| &object.bytes);
    ensure!(found["all"] == amounts(sizes()), "{}", found["all"]);
    let nothing = json!({
        "nothing": true, "cut": null, "references": 0, "roots": found["missing"]["roots"], "lost_roots": 0,
        "names": false, "differences": [], "doubtful_objects": 0
    });
    ensure!(found["missing"] == nothing, "{}", found["missing"]);

    for (number, name) in (0..).zip(GENERATIONS) {
        let here = |address: &u64| {
            let range = graph.ranges.iter().find(|range| {
                let bytes = range.used_bytes.max(range.reserved_bytes);
                (range.start..range.start + bytes).contains(address)
            });
            range.is_some_and(|range| range.generation == number)
        };
        let objects = graph.objects.iter().filter(|(address, _)| here(address));
        let expected = amounts(objects.map(|(_, object)| &object.bytes));
        let rows = found["generations"].as_array().context("no generations")?;
        match rows.iter().find(|row| row["generation"] == name) {
            Some(row) => ensure!(row["all"] == expected && row["reachable"] == expected, "{row}: {expected}"),
            None => ensure!(expected["objects"] == 0, "{name}: {expected}"),
        }
        if number == FROZEN {
            let frozen = found["roots"].as_array().context("no roots")?;
            let frozen = frozen.iter().find(|row| row["kind"] == "frozen heap");
            let objects = frozen.map_or(0, |row| row["strong"].as_u64().unwrap_or(0));
            ensure!(expected["objects"] == objects, "{frozen:?}: {expected}");
        }
    }

    // Kinds of handles are told apart by flags; here they are added up.
    let mut expected: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for root in graph.roots.iter().filter(|root| graph.objects.contains_key(&root.address)) {
        let kind = match root.kind {
            1 => "local variables",
            2 => "finalizer queue",
            3 => "handles",
            _ => "other roots",
        };
        let counts = expected.entry(kind).or_default();
        if root.flags & WEAK == 0 { counts.0 += 1 } else { counts.1 += 1 }
    }
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for row in found["roots"].as_array().context("no roots")? {
        let kind = row["kind"].as_str().context("no kind")?;
        let kind = if kind.ends_with(" handles") { "handles" } else { kind };
        let sums = counts.entry(kind).or_default();
        sums.0 += row["strong"].as_u64().context("no number")?;
        sums.1 += row["weak"].as_u64().context("no number")?;
    }
    counts.remove("frozen heap");
    // Interior roots of local variables refer to places in objects.
    for kind in ["handles", "finalizer queue"] {
        ensure!(counts.get(kind) == expected.get(kind), "{kind}: {counts:?} but {expected:?}");
    }

    let classes: BTreeSet<u32> = graph.objects.values().map(|object| object.class).collect();
    ensure!(found["types_in_all"] == classes.len(), "{}", found["types_in_all"]);
    let customers = row(&found["types"], "type", "Known.Customer")?;
    ensure!(customers["module"] == "objects.dll", "{customers}");
    let strings = &found["waste"]["strings"];
    let hashes: BTreeSet<u64> =
        graph.objects.values().filter(|object| graph.class_of(object) == "string").map(|o| o.hash).collect();
    let of_strings = graph.objects_of("string");
    let expected = json!({ "objects": of_strings.len(), "bytes": graph.bytes(&of_strings) });
    ensure!(strings["all"] == expected && strings["contents"] == hashes.len(), "{strings}: {expected}");
    Ok(())
}
