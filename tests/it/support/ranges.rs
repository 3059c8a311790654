//! Computes every figure about blocks again, from the single ranges alone.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Json;

const GENERATIONS: [&str; 5] = ["gen0", "gen1", "gen2", "loh", "poh"];
/// Upper bounds of the histogram's rows; the last row has none.
const ROWS: [u64; 8] = [64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];

/// The generation in which an object lies, by the kind of heap and `GC.GetGeneration`.
pub(crate) fn generation_of(heap: &str, generation: u64) -> &str {
    match (heap, generation) {
        ("soh", 0) => "gen0",
        ("soh", 1) => "gen1",
        ("soh", _) => "gen2",
        (other, _) => other,
    }
}

/// Blocks and bytes.
type Count = (u64, u64);

fn add(count: &mut Count, bytes: u64) {
    *count = (count.0 + 1, count.1 + bytes);
}

/// Every figure about blocks in the record follows from its ranges.
pub(crate) fn check_ranges(gc: &Value) -> Result<()> {
    let (mut moved, mut stayed, mut surviving) = ((0, 0), (0, 0), (0, 0));
    let (mut sizes, mut kept_sizes, mut distances) = (Vec::new(), Vec::new(), Vec::new());
    let mut transitions: BTreeMap<(usize, usize), Count> = BTreeMap::new();
    let mut by_generation = [((0, 0), (0, 0)); 5];
    let index = |name: &Value| GENERATIONS.iter().position(|g| name == g);
    for range in gc.list("/moved/ranges")? {
        let (old, new, bytes) = (range.address("/old")?, range.address("/new")?, range.uint("/bytes")?);
        let (from, to) = (index(&range["from"]), index(&range["to"]));
        if let (Some(from), Some(to)) = (from, to) {
            add(transitions.entry((from, to)).or_default(), bytes);
        }
        if old == new {
            add(&mut stayed, bytes);
            continue;
        }
        add(&mut moved, bytes);
        sizes.push(bytes);
        distances.push(old.abs_diff(new));
        if let Some(from) = from {
            add(&mut by_generation[from].0, bytes);
        }
    }
    for range in gc.list("/surviving/ranges")? {
        let bytes = range.uint("/bytes")?;
        add(&mut surviving, bytes);
        kept_sizes.push(bytes);
        if let Some(generation) = index(&range["generation"]) {
            add(&mut by_generation[generation].1, bytes);
        }
    }
    let part = &gc["moved"];
    same("moved", &json!([part["blocks"], part["bytes"]]), &json!([moved.0, moved.1]))?;
    same("stayed", &json!([part["stayed_blocks"], part["stayed_bytes"]]), &json!([stayed.0, stayed.1]))?;
    same("moved.bytes_at_least", &part["bytes_at_least"], &json!(false))?;
    same("moved.block_bytes", &part["block_bytes"], &distribution(&mut sizes))?;
    same("moved.distance_bytes", &part["distance_bytes"], &distribution(&mut distances))?;
    same("moved.histogram", &part["histogram"], &rows(&sizes))?;
    let transitions: Vec<Value> = transitions
        .iter()
        .map(|(&(from, to), &(blocks, bytes))| {
            json!({"from": GENERATIONS[from], "to": GENERATIONS[to], "blocks": blocks, "bytes": bytes})
        })
        .collect();
    same("moved.transitions", &part["transitions"], &json!(transitions))?;
    let part = &gc["surviving"];
    same("surviving", &json!([part["blocks"], part["bytes"]]), &json!([surviving.0, surviving.1]))?;
    same("surviving.bytes_at_least", &part["bytes_at_least"], &json!(false))?;
    same("surviving.block_bytes", &part["block_bytes"], &distribution(&mut kept_sizes))?;
    same("surviving.histogram", &part["histogram"], &rows(&kept_sizes))?;
    for (generation, (moved, kept)) in gc.list("/generations")?.iter().zip(by_generation) {
        let keys = ["moved_blocks", "moved_bytes", "surviving_blocks", "surviving_bytes"];
        let got = keys.map(|key| generation[key].clone());
        same(generation.text("/name")?, &json!(got), &json!([moved.0, moved.1, kept.0, kept.1]))?;
    }
    Ok(())
}

fn same(what: &str, got: &Value, expected: &Value) -> Result<()> {
    ensure!(got == expected, "{what} is {got}; the ranges make {expected}");
    Ok(())
}

/// Nearest rank. Each value counts as the upper end of its step: exact to 16, above that 16 steps per power of two.
fn distribution(values: &mut [u64]) -> Value {
    values.sort_unstable();
    let Some(max) = values.last() else {
        return json!({"min": null, "p50": null, "p90": null, "p99": null, "max": null});
    };
    let percentile = |percent: usize| {
        let value = values[(values.len() * percent).div_ceil(100).max(1) - 1];
        let mut width = 1;
        while width * 32 < value {
            width *= 2;
        }
        value.next_multiple_of(width).min(*max)
    };
    json!({"min": values[0], "p50": percentile(50), "p90": percentile(90), "p99": percentile(99), "max": max})
}

fn rows(values: &[u64]) -> Value {
    let mut below = 0;
    let mut all = Vec::new();
    for bound in ROWS.into_iter().map(Some).chain([None]) {
        let inside = |value: &&u64| **value > below && bound.is_none_or(|bound| **value <= bound);
        let of: Vec<u64> = values.iter().filter(inside).copied().collect();
        all.push(json!({"le_bytes": bound, "blocks": of.len(), "bytes": of.iter().sum::<u64>()}));
        below = bound.unwrap_or(0);
    }
    json!(all)
}
