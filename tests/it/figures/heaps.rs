//! Server GC: the figures of each heap, and numbers of heaps that change.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    Document, GcEvents, Gcwatch, HeapInfo, Json, brief, fact, own_environment, read_gcs,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("heaps::as_the_runtime_has_them", &[], |clr, heap| {
        let run = HeapInfo::run(clr, heap, false, "basic", &[])?;
        compare(&run.document, &run.own)?;
        asked_for(&run)
    });
    suite.each("heaps::fixed_number_without_background", &[Need::TwoProcessors], fixed);
    suite.each("heaps::server_on_one_processor", &[], one_processor);
    suite.each("heaps::number_adapts", &[Need::TwoProcessors], adapts);
}

type Own = std::collections::BTreeMap<u64, GcEvents>;

/// Compares every heap of every collection, and the sums over heaps.
fn compare(document: &Document, own: &Own) -> Result<()> {
    let mut cut = 0;
    for gc in document.complete()? {
        let Some(events) = own.get(&gc.uint("/number")?) else {
            // The runtime closes its own file before gcwatch's session, which can cut off a background collection.
            ensure!(gc["kind"] == "background", "the runtime has no {}", brief(gc));
            cut += 1;
            continue;
        };
        one(gc, events).with_context(|| format!("{}\n{} {events:?}", brief(gc), gc["heaps"]))?;
    }
    ensure!(cut <= 1, "{cut} background collections are not in the runtime's file");
    Ok(())
}

fn one(gc: &Value, own: &GcEvents) -> Result<()> {
    ensure!(gc["heap_count"] == own.heaps, "heap count");
    let heaps = gc.list("/heaps")?;
    ensure!(heaps.len() == own.heaps as usize && heaps.len() == own.per_heap.len(), "{} heaps", heaps.len());
    let background = own.mechanisms & 1 == 1 && own.heaps > 1;
    // The runtime sends the histories in the order of the heaps.
    for (n, (heap, events)) in heaps.iter().zip(&own.per_heap).enumerate() {
        let headless = background && events.headless();
        ensure!(heap["index"] == n && (headless || events.index as usize == n), "not in order");
        let before = if headless { Value::Null } else { events.sum(&[0]).into() };
        ensure!(heap["size_before_bytes"] == before, "before");
        let whole = |value: u64| if own.torn() { Value::Null } else { value.into() };
        ensure!(heap["size_after_bytes"] == whole(events.sum(&[3])), "after");
        ensure!(heap["promoted_bytes"] == whole(events.sum(&[7, 8])), "promoted");
        let reasons = events.reasons(own.generation);
        let unknown = background && events.condemned == [0, 0];
        let due = if unknown { Value::Null } else { serde_json::json!(reasons) };
        ensure!(heap["condemned_reasons"] == due, "reasons: {reasons:?}");
    }
    let sum = |list: &str, key: &str| gc.list(list)?.iter().map(|x| x.uint(key)).sum::<Result<u64>>();
    if own.headless() {
        ensure!(gc["heap_before_bytes"].is_null(), "heap before");
    } else {
        let before = sum("/heaps", "/size_before_bytes")?;
        let generations = sum("/generations", "/size_before_bytes")?;
        ensure!(gc["heap_before_bytes"] == before && before == generations, "before");
    }
    ensure!(gc["heap_after_bytes"] == sum("/generations", "/size_after_bytes")?, "heap after");
    if own.torn() {
        return Ok(());
    }
    // A background collection's histories and its statistics may differ: the program goes on in between. `generations::`
    // compares both with the runtime's.
    if gc["kind"] == "background" {
        return Ok(());
    }
    let promoted = sum("/generations", "/promoted_bytes")?;
    ensure!(promoted == sum("/heaps", "/promoted_bytes")?, "promoted by heap");
    ensure!(gc["heap_after_bytes"] == sum("/heaps", "/size_after_bytes")?, "after by heap");
    Ok(())
}

/// A collection that the program asked for has that as its reason.
fn asked_for(run: &HeapInfo) -> Result<()> {
    for asked in run.asked.iter().filter(|asked| asked.first == asked.last) {
        let gc = run.document.gc(asked.first)?;
        let due = match asked.what.as_str() {
            "2" | "compact" | "loh" => Some("induced_fullgc"),
            "background" => Some("induced_noforce"),
            _ => None,
        };
        for heap in gc.list("/heaps")?.iter().filter(|heap| !heap["condemned_reasons"].is_null()) {
            let reasons = heap.list("/condemned_reasons")?;
            let induced = reasons.iter().find(|r| r.as_str().is_some_and(|r| r.starts_with("induced")));
            ensure!(induced.and_then(Value::as_str) == due, "{}: {heap}, {}", asked.what, brief(gc));
        }
    }
    Ok(())
}

/// With settings for two heaps and no background collections, target and collections show both.
fn fixed(clr: &Clr) -> Result<()> {
    let environment = [("DOTNET_GCHeapCount", "2"), ("DOTNET_gcConcurrent", "0")];
    let run = HeapInfo::run(clr, Heap::Server, false, "basic", &environment)?;
    let gc = run.settings();
    ensure!(gc["server"] == true && gc["concurrent"] == false && gc["heaps"] == 2, "{gc}");
    ensure!(
        fact(&run.ready, "server")? == "True" && fact(&run.ready, "concurrent")? == "False",
        "{}",
        run.ready
    );
    ensure!(run.document.0["watch"]["background_gc"] == "none", "{}", run.document.0["watch"]);
    for gc in run.document.complete()? {
        ensure!(gc["heap_count"] == 2 && gc["kind"] == "blocking", "{}", brief(gc));
    }
    compare(&run.document, &run.own)
}

/// With one processor the runtime uses workstation GC, even if server GC is configured.
fn one_processor(clr: &Clr) -> Result<()> {
    let run = HeapInfo::run(clr, Heap::Server, false, "basic", &[("DOTNET_PROCESSOR_COUNT", "1")])?;
    let gc = run.settings();
    ensure!(fact(&run.ready, "server")? == "False", "the runtime does not use workstation GC: {}", run.ready);
    ensure!(gc["server"] == false && gc["heaps"] == 1 && gc["source"] == "events", "{gc}");
    compare(&run.document, &run.own)
}

/// A number of heaps that adapts: one at first; from .NET 9 on a second one when several threads allocate.
fn adapts(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, own) = (dir.path().join("out.json"), dir.path().join("own.nettrace"));
    let own_name = own.to_string_lossy().into_owned();
    Gcwatch::on(clr)
        .envs([("DOTNET_gcServer", "1"), ("DOTNET_GCDynamicAdaptationMode", "1")])
        .envs([("DOTNET_GCgen0size", "100000")])
        .envs(own_environment(&own_name))
        .args("run --level basic --format json -o")
        .arg(&path)
        .app(clr, "churn", "work=300000 threads=4")?
        .output()?
        .expect(0)?;
    let document = Document::read(&path)?;
    document.nothing_lost()?;
    let own = read_gcs(&own)?;
    compare(&document, &own)?;
    let gcs = document.complete()?;
    let counts = gcs.iter().map(|gc| gc.uint("/heap_count")).collect::<Result<Vec<_>>>()?;
    ensure!(document.0["target"]["gc"]["server"] == true, "{}", document.0["target"]);
    ensure!(counts.first() == Some(&1), "heaps: {counts:?}");
    // .NET 8 stays with one heap for this load.
    ensure!(clr.name.starts_with('8') || counts.contains(&2), "the test needs another load: {counts:?}");
    let reasons = gcs.iter().flat_map(|gc| gc["heaps"].as_array().into_iter().flatten());
    let natural = reasons.filter(|heap| heap["condemned_reasons"][0].is_string()).count();
    ensure!(natural > 0, "no heap had a reason: the test needs another load");
    Ok(())
}
