//! Computes a document's sums again from their parts: exact values from the single blocks, nearest ranks from sorted
//! lists.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use dotnet_diagnostics_client::nettrace::Item;
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Heap, Suite};
use crate::it::support::{Document, Gcwatch, Json, RUNTIME, brief, each_item};

/// With server GC, the number of collections depends on the runtime: budgets grow with what it measures.
const WORK: &str = "work=100000 gcs=8 live=8000 seed=9 threads=2";

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("sums::of_roots_and_blocks", &[], |clr, heap| of(clr, heap, "roots --blocks"));
    suite.each_heap("sums::of_moves_and_blocks", &[], |clr, heap| of(clr, heap, "moves --blocks"));
}

fn of(clr: &Clr, heap: Heap, options: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("it.nettrace"));
    Gcwatch::on(clr)
        .envs(heap.environment())
        .args(&format!("run --format json --level {options}"))
        .option("--record", &recording)
        .option("-o", &path)
        .app(clr, "churn", WORK)?
        .output()?
        .expect(0)?;
    let document = Document::read(&path)?;
    document.nothing_lost()?;
    let complete = document.complete()?;
    ensure!(
        complete.len() >= 3,
        "{} complete collections of {}: {}",
        complete.len(),
        document.gcs()?.len(),
        document.gcs()?.iter().map(brief).collect::<Vec<_>>().join("; ")
    );
    let summary = &document.0["summary"];
    let all = document.gcs()?.len() as u64;
    ensure!(summary["gcs"] == complete.len() as u64, "{}", summary["gcs"]);
    ensure!(summary["incomplete"] == all - complete.len() as u64, "{}", summary["incomplete"]);
    for gc in &complete {
        blocks_of(gc, &[gc], gc).with_context(|| brief(gc))?;
    }
    blocks_of(summary, &complete, summary).context("summary")?;
    let paused = pauses(summary, &complete)?;
    let percent = paused as f64 / document.0.uint("/watch/duration_ns")? as f64 * 100.0;
    let said = summary["pause_percent"].as_f64().context("no pause_percent")?;
    ensure!((said - percent).abs() <= 0.0005, "pause_percent {said}, not {percent}");
    own_share(&document, &complete)?;
    roots(summary, &complete)?;
    heap_after(summary, &complete)?;
    cost(summary, &complete, heap)?;
    stops(summary, &document, &recording)
}

/// The nearest-rank percentile: the least value that this percentage of the values does not exceed.
fn nearest_rank(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (percent * sorted.len()).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

fn blocks_of(of: &Value, gcs: &[&Value], place: &Value) -> Result<()> {
    let (mut moved, mut stayed, mut distances, mut surviving) = (vec![], vec![], vec![], vec![]);
    for gc in gcs {
        for range in gc.list("/moved/ranges")? {
            let (old, new) = (range.address("/old")?, range.address("/new")?);
            let bytes = range.uint("/bytes")?;
            if old == new {
                stayed.push(bytes);
            } else {
                moved.push(bytes);
                distances.push(old.abs_diff(new));
            }
        }
        for range in gc.list("/surviving/ranges")? {
            surviving.push(range.uint("/bytes")?);
        }
    }
    for (name, sizes) in [("moved", &mut moved), ("surviving", &mut surviving)] {
        let part = &place[name];
        let bytes: u64 = sizes.iter().sum();
        ensure!(part["blocks"] == sizes.len() as u64 && part["bytes"] == bytes, "{name}: {part}");
        ensure!(part["bytes_at_least"] == false, "{name}: {part}");
        distribution(&part["block_bytes"], sizes).with_context(|| format!("{name}.block_bytes"))?;
        histogram(part.list("/histogram")?, sizes).with_context(|| format!("{name}.histogram"))?;
    }
    distribution(&of["moved"]["distance_bytes"], &mut distances).context("distance_bytes")?;
    let part = &of["moved"];
    let bytes: u64 = stayed.iter().sum();
    ensure!(part["stayed_blocks"] == stayed.len() as u64 && part["stayed_bytes"] == bytes, "stayed: {part}");
    Ok(())
}

fn distribution(said: &Value, values: &mut [u64]) -> Result<()> {
    values.sort_unstable();
    let same = |key: &str, value: Option<&u64>| said[key].as_u64() == value.copied();
    ensure!(same("min", values.first()) && same("max", values.last()), "{said}");
    for (key, percent) in [("p50", 50), ("p90", 90), ("p99", 99)] {
        match (nearest_rank(values, percent), said[key].as_u64()) {
            (None, None) => {}
            // A percentile is the upper end of its step; 16 steps make a power of two.
            (Some(exact), Some(said)) if exact <= said && said as f64 <= exact as f64 * 1.0625 => {}
            (exact, said) => anyhow::bail!("{key} is {said:?}, exactly it is {exact:?}"),
        }
    }
    Ok(())
}

fn histogram(rows: &[Value], sorted: &[u64]) -> Result<()> {
    let mut above = 0;
    for (n, row) in rows.iter().enumerate() {
        let last = n + 1 == rows.len();
        ensure!(row["le_bytes"].is_null() == last, "bounds: {rows:?}");
        let bound = row["le_bytes"].as_u64().unwrap_or(u64::MAX);
        let inside = sorted.iter().filter(|size| (above + 1..=bound).contains(*size));
        let (blocks, bytes) = inside.fold((0, 0), |(blocks, bytes), size| (blocks + 1, bytes + size));
        ensure!(row["blocks"] == blocks && row["bytes"] == bytes, "{row}, not {blocks}, {bytes}");
        above = bound;
    }
    Ok(())
}

/// Checks the pauses by generation and kind; returns the sum of all.
fn pauses(summary: &Value, complete: &[&Value]) -> Result<u64> {
    let (mut counted, mut all) = (0, 0);
    for group in summary.list("/by_generation_and_kind")? {
        let of = |gc: &&&Value| gc["generation"] == group["generation"] && gc["kind"] == group["kind"];
        let found: Result<Vec<u64>> = complete.iter().filter(of).map(|gc| gc.uint("/pause_ns")).collect();
        let mut sorted = found?;
        sorted.sort_unstable();
        let total: u64 = sorted.iter().sum();
        let said = &group["pause_ns"];
        ensure!(!sorted.is_empty() && group["count"] == sorted.len() as u64, "{group}");
        ensure!(said["total"] == total && said["max"].as_u64() == sorted.last().copied(), "{group}");
        for (key, percent) in [("p50", 50), ("p90", 90), ("p99", 99)] {
            ensure!(said[key].as_u64() == nearest_rank(&sorted, percent), "{key}: {group}");
        }
        counted += sorted.len();
        all += total;
    }
    ensure!(counted == complete.len(), "{counted} of {} are in groups", complete.len());
    Ok(all)
}

/// The program's own share leaves out gcwatch's measured work, which the threads of server GC do in parallel.
fn own_share(document: &Document, complete: &[&Value]) -> Result<()> {
    let mut own = 0;
    for gc in complete {
        let work = match gc["cost"].is_object() {
            true => (gc.uint("/cost/callback_ns")? + gc.uint("/cost/walk_ns")?) / gc.uint("/heap_count")?,
            false => 0,
        };
        own += gc.uint("/pause_ns")?.saturating_sub(work);
    }
    let percent = own as f64 / document.0.uint("/watch/duration_ns")? as f64 * 100.0;
    let said = document.0["summary"]["own_pause_percent_at_most"].as_f64().context("no own share")?;
    ensure!((said - percent).abs() <= 0.0005, "own share {said}, not {percent}");
    let always =
        ["induced", "induced_compacting", "induced_aggressive", "out_of_space_soh", "out_of_space_loh"];
    let (mut count, mut ns) = (0, 0);
    for gc in complete.iter().filter(|gc| gc["generation"] == 2 && gc["kind"] == "blocking") {
        if gc["level"] == "roots" && !always.iter().any(|reason| gc["reason"] == *reason) {
            (count, ns) = (count + 1, ns + gc.uint("/pause_ns")?);
        }
    }
    let said = &document.0["summary"]["gen2_blocked_by_watching"];
    ensure!(said["count"] == count && said["ns"] == ns, "{said}, not {count} of {ns} ns");
    Ok(())
}

fn roots(summary: &Value, complete: &[&Value]) -> Result<()> {
    let sum = &summary["roots"];
    let seen: Vec<&&Value> = complete.iter().filter(|gc| gc["roots"]["total"].is_u64()).collect();
    ensure!(sum["gcs"] == seen.len() as u64, "{} of {}", sum["gcs"], seen.len());
    for pointer in [
        "total",
        "holding",
        "by_kind/stack",
        "by_kind/handle",
        "by_kind/finalizer",
        "by_kind/other",
        "by_flag/pinning",
        "by_flag/weak",
        "by_flag/interior",
        "by_flag/refcounted",
    ] {
        let of_each: Result<Vec<u64>> = seen.iter().map(|gc| gc.uint(&format!("/roots/{pointer}"))).collect();
        let mut sorted = of_each?;
        sorted.sort_unstable();
        let said = sum.place(&format!("/{pointer}"))?;
        let (p50, max) = (said["p50"].as_u64(), said["max"].as_u64());
        let exact = (nearest_rank(&sorted, 50), sorted.last().copied());
        ensure!((p50, max) == exact, "{pointer}: {said}, not {exact:?}");
    }
    let promoted = sum["promoted_bytes"].as_object().context("promoted_bytes")?;
    for (kind, said) in promoted {
        let of_each = complete.iter().filter_map(|gc| gc["roots"]["promoted_bytes"][kind].as_u64());
        // Null if no collection has the kind.
        let exact = of_each.reduce(|a, b| a + b);
        ensure!(said.as_u64() == exact, "promoted by {kind}: {said}, not {exact:?}");
    }
    Ok(())
}

fn heap_after(summary: &Value, complete: &[&Value]) -> Result<()> {
    let sizes: Vec<u64> = complete.iter().filter_map(|gc| gc["heap_after_bytes"].as_u64()).collect();
    let said = &summary["heap_after_bytes"];
    ensure!(said["max"].as_u64() == sizes.iter().max().copied(), "{said}");
    ensure!(said["last"].as_u64() == sizes.last().copied(), "{said}");
    Ok(())
}

/// Watching costs time only while the program is stopped: per GC thread at most the whole pause.
fn cost(summary: &Value, complete: &[&Value], heap: Heap) -> Result<()> {
    let said = &summary["cost"];
    let measured: Vec<&&Value> = complete.iter().filter(|gc| gc["cost"].is_object()).collect();
    let (mut callback_ns, mut walk_ns, mut armed, mut extra) = (0, 0, 0, (0, 0));
    for gc in &measured {
        let (called, walked) = (gc.uint("/cost/callback_ns")?, gc.uint("/cost/walk_ns")?);
        // The threads of server GC call the profiler in parallel.
        let threads = if heap.server() { gc.uint("/heap_count")? } else { 1 };
        let still = gc.uint("/pause_ns")? * threads;
        ensure!(called > 0 && called + walked <= still, "{called} + {walked} of {still} ns: {}", brief(gc));
        ensure!(gc["cost"]["armed"] == true, "{}", brief(gc));
        callback_ns += called;
        walk_ns += walked;
        armed += 1;
    }
    for gc in complete {
        let before = extra.1;
        for pause in gc.list("/pauses")?.iter().filter(|pause| pause["caused_by_watching"] == true) {
            extra = (extra.0 + 1, extra.1 + pause.uint("/ns")?);
        }
        ensure!(gc["caused_by_watching_ns"] == extra.1 - before, "{}", brief(gc));
    }
    if measured.is_empty() {
        ensure!(complete.iter().all(|gc| gc["level"] == "moves"), "no cost measured at roots");
        let unknown = ["callback_ns", "walk_ns", "armed_gcs"].iter().all(|key| said[*key].is_null());
        ensure!(unknown && (extra.0 > 0 || said.is_null()), "{said}");
    } else {
        ensure!(said["callback_ns"] == callback_ns && said["walk_ns"] == walk_ns, "{said}");
        ensure!(said["armed_gcs"] == armed, "{said}");
    }
    if said.is_object() {
        let stops = &said["extra_stops"];
        ensure!(stops["count"] == extra.0 && stops["ns"] == extra.1, "{stops}, not {extra:?}");
    }
    Ok(())
}

/// Every suspension that the runtime announced begins a pause, or is one of the other suspensions.
fn stops(summary: &Value, document: &Document, recording: &Path) -> Result<()> {
    const SUSPEND_BEGIN: u32 = 9;
    const RESTART_END: u32 = 3;
    let (mut announced, mut open) = (0, 0);
    each_item(recording, |item| {
        let Item::Event(event) = item else { return Ok(()) };
        match event.metadata.event_id {
            _ if &*event.metadata.provider != RUNTIME => {}
            SUSPEND_BEGIN => open += 1,
            // Stops can share a restart. A stop that the program's end cut off has no length and does not count.
            RESTART_END => announced += std::mem::take(&mut open),
            _ => {}
        }
        Ok(())
    })?;
    let mut begun = summary.uint("/other_suspensions/count")?;
    for gc in document.gcs()? {
        // Where two collections share a stop, the second has no suspension of its own.
        begun += gc.list("/pauses")?.iter().filter(|pause| pause["suspend_ns"].is_u64()).count() as u64;
    }
    ensure!(announced == begun, "{announced} suspensions, {begun} in pauses and others");
    Ok(())
}
