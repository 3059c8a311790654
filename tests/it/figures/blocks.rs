//! Compares `--blocks` with the runtime's own file of the same run: each collection has the same ranges.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Heap, Suite};
use crate::it::support::{
    Document, GcFacts, Gcwatch, Json, Ranges, check_counts, own_environment, read_ranges,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("blocks::same_ranges_as_the_runtime_itself", &[], |clr, heap| {
        same(clr, heap, "roots", None)
    });
    suite.once("blocks::same_ranges_at_level_moves", &[], |clr| same(clr, Heap::Workstation, "moves", None));
}

/// Runs with the profiler that gcwatch carries, or with another build of it.
pub(crate) fn same(clr: &Clr, heap: Heap, level: &str, profiler: Option<&Path>) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let own = dir.path().join("own.nettrace");
    let own_name = own.to_string_lossy();
    // Without background collections every range belongs to the collection that started last.
    let ended = Gcwatch::on(clr)
        .envs(heap.environment())
        .envs(own_environment(&own_name))
        .envs([("DOTNET_gcConcurrent", "0")])
        .args(&format!("run --blocks --format json --level {level}"))
        .options(profiler.into_iter().flat_map(|path| [OsStr::new("--profiler-path"), path.as_os_str()]))
        .option("-o", &path)
        .app(clr, "churn", "work=120000 live=8000")?
        .output()?
        .expect(0)?;
    let document = Document::read(&path)?;
    document.nothing_lost()?;
    check_counts(&document, GcFacts::of(ended.out()?)?)?;
    let expected = read_ranges(&own)?;
    ensure!(
        expected.values().any(|gc| !gc.moved.is_empty()),
        "the runtime moved nothing: the test needs another load"
    );
    ensure!(
        expected.values().any(|gc| !gc.surviving.is_empty()),
        "nothing survived in place: the test needs another load"
    );
    ensure!(
        document.gcs()?.len() == expected.len(),
        "{} records, {} in the runtime's file",
        document.gcs()?.len(),
        expected.len()
    );
    for (number, runtime) in &expected {
        let gc = document.gc(*number)?;
        compare(gc, runtime).with_context(|| format!("GC {number}"))?;
    }
    Ok(())
}

fn compare(gc: &Value, runtime: &Ranges) -> Result<()> {
    let mut ours = Ranges { generation: u32::try_from(gc.uint("/generation")?)?, ..Ranges::default() };
    for range in gc.list("/moved/ranges")? {
        ours.moved.push((range.address("/old")?, range.address("/new")?, range.uint("/bytes")?));
    }
    for range in gc.list("/surviving/ranges")? {
        ours.surviving.push((range.address("/start")?, range.uint("/bytes")?));
    }
    let ours = ours.sorted();
    ensure!(
        ours == *runtime,
        "generation {}, {} moved, {} surviving; the runtime: generation {}, {} moved, {} surviving; first difference: {:?}, {:?}",
        ours.generation,
        ours.moved.len(),
        ours.surviving.len(),
        runtime.generation,
        runtime.moved.len(),
        runtime.surviving.len(),
        ours.moved.iter().zip(&runtime.moved).find(|(a, b)| a != b),
        ours.surviving.iter().zip(&runtime.surviving).find(|(a, b)| a != b),
    );
    // The totals are the sums of the ranges.
    let sum = |moved: bool| {
        let of = runtime.moved.iter().filter(|(old, new, _)| (old != new) == moved);
        of.fold((0, 0), |(blocks, bytes), (_, _, length)| (blocks + 1, bytes + length))
    };
    let moved = &gc["moved"];
    ensure!((moved.uint("/blocks")?, moved.uint("/bytes")?) == sum(true), "moved: {:?}", sum(true));
    ensure!(
        (moved.uint("/stayed_blocks")?, moved.uint("/stayed_bytes")?) == sum(false),
        "stayed: {:?}",
        sum(false)
    );
    let bytes = runtime.surviving.iter().map(|(_, length)| length).sum::<u64>();
    let surviving = &gc["surviving"];
    ensure!(
        surviving.uint("/blocks")? == runtime.surviving.len() as u64 && surviving.uint("/bytes")? == bytes,
        "surviving"
    );
    let distances =
        runtime.moved.iter().filter(|(old, new, _)| old != new).map(|(old, new, _)| old.abs_diff(*new));
    ensure!(
        moved["distance_bytes"]["max"].as_u64() == distances.max(),
        "distance: {}",
        moved["distance_bytes"]
    );
    Ok(())
}
