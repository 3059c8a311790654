//! Measures a program with a given number of collections and blocks per second, watched from its first collection to
//! its end: its pauses by blocks, the cost of the tool itself, and what is lost.

use anyhow::{Context, Result};

use super::figure::Bound::{AtMost, NoWorse, Ratio};
use super::process::Cost;
use super::tools::{LIMIT, Watcher};
use super::{Bench, Case, Figure, NONE, TRACE};

const LEVELS: [&str; 4] = ["basic", "moves", "roots", "roots --blocks"];

/// What the program did, and what the tool cost.
#[derive(Debug)]
struct Paced {
    gcs: f64,
    seconds: f64,
    median_pause_ms: f64,
    cost: Cost,
}

/// Pauses of collections of 1,000 to 1,000,000 blocks.
pub(super) fn measure_blocks(bench: &mut Bench) -> Result<()> {
    // At level `roots` there are no background collections.
    let blocking = [NONE, "moves", "roots", "roots --blocks", "floor", TRACE];
    let background = [NONE, "moves", TRACE];
    for (kind, more, variants) in
        [("blocking gen0", "", &blocking[..]), ("background", "background=1", &background[..])]
    {
        for blocks in [1000_u32, 10_000, 100_000, 1_000_000] {
            // More collections if they are small, so that each run takes long enough to measure.
            let collections = (2_000_000 / blocks).clamp(10, 200);
            let arguments =
                format!("per_second=0 seconds=300 blocks={blocks} collections={collections} {more}");
            let moves = if blocks <= 10_000 && more.is_empty() {
                Ratio(NONE.into(), 1.05)
            } else {
                NoWorse(TRACE.into(), 1.05)
            };
            let pause = Figure::new("pause of the median GC", "ms").against(NONE);
            let pause = pause.goal("moves", moves).goal("roots", Ratio("floor".into(), 1.05));
            let name = format!("{} workstation, {kind} GCs of {blocks} blocks", bench.newest.name);
            let case = Case { name: name.clone(), variants, rounds: bench.rounds, figures: vec![pause] };
            let measured = bench.measure(case, |bench, variant| {
                Ok(vec![bench.watch_paced(variant, &arguments, "")?.median_pause_ms])
            });
            let Some(pause) = measured.first() else { continue };
            let mut added = Figure::new("added per million blocks", "ms").against(TRACE);
            for variant in pause.variants.iter().filter(|variant| variant.name != NONE) {
                let each = variant.values.iter().zip(pause.values(NONE));
                let each = each.map(|(with, without)| (with - without) * 1e6 / f64::from(blocks));
                added = added.with(&variant.name, each.collect());
            }
            bench.add(&name, added);
        }
    }
    Ok(())
}

/// CPU and memory of the tool.
pub(super) fn measure_watching(bench: &mut Bench) -> Result<()> {
    let variants = [&LEVELS[..], &["dotnet-trace 0x1", TRACE]].concat();
    for (per_second, seconds, rounds) in [(10, 4, 1), (100, 15, 2), (1000, 4, 2)] {
        // The figures are for a minute, extrapolated from shorter runs. A run with one collection shows the cost of
        // start and end, which a minute has only once.
        let times = 60.0 / f64::from(seconds);
        let figure = |what, unit| Figure::new(what, unit).against("dotnet-trace 0x1");
        let (mut cpu, mut memory) = (figure("CPU per GC", "us"), figure("memory", "MiB"));
        for (ours, theirs) in LEVELS.into_iter().zip(["dotnet-trace 0x1", TRACE, "dotnet-trace 0x1", TRACE]) {
            cpu = cpu.goal(ours, Ratio(theirs.into(), 0.2));
            memory = memory.goal(ours, AtMost(24.0));
        }
        let steady = figure("CPU per GC without start and end", "us");
        let name = format!("{per_second} GCs/s of 1000 blocks for a minute, from runs of {seconds} s");
        let figures = vec![cpu, steady, figure("CPU of start and end", "ms"), memory];
        let load = format!("per_second={per_second} blocks=1000 seconds={seconds}");
        bench.measure(Case { name, variants: &variants, rounds, figures }, |bench, variant| {
            let paced = bench.watch_paced(variant, &load, "")?;
            let idle_ms = bench.watch_paced(variant, &format!("{load} collections=1"), "")?.cost.cpu_ms;
            let steady_ms = paced.cost.cpu_ms - idle_ms;
            Ok(vec![
                (idle_ms + times * steady_ms) * 1e3 / (times * paced.gcs),
                steady_ms * 1e3 / (paced.gcs - 1.0).max(1.0),
                idle_ms,
                paced.cost.memory_mib,
            ])
        });
    }
    Ok(())
}

/// What is lost when a program collects very often.
pub(super) fn measure_loss(bench: &mut Bench) -> Result<()> {
    for (name, load, seconds, variants) in [
        ("1,000 GCs/s of 100 blocks", "per_second=1000 blocks=100", 60, &LEVELS[3..]),
        ("100 GCs/s of 50,000 blocks", "per_second=100 blocks=50000", 60, &["moves", "roots --blocks"]),
        ("as many GCs of 100 blocks as it can", "per_second=0 blocks=100", 10, &LEVELS),
        ("as many GCs of 500,000 blocks as it can", "per_second=0 blocks=500000", 10, &LEVELS),
    ] {
        let none =
            |figure: Figure| variants.iter().fold(figure, |figure, name| figure.goal(name, AtMost(0.0)));
        let figures = vec![
            Figure::new("collections per second", ""),
            Figure::new("ranges per second", ""),
            none(Figure::new("collections not seen", "")),
            none(Figure::new("events, ranges and roots missing", "")),
        ];
        // A background collection that still runs when the program ends would not count; `settle` makes sure that none
        // runs.
        let arguments = format!("{load} seconds={seconds} settle=1");
        let case = Case { name: format!("{name}, {seconds} s"), variants, rounds: 1, figures };
        bench.measure(case, |bench, variant| {
            // OpenMetrics, because its output stays small for any number of collections.
            let paced = bench.watch_paced(variant, &arguments, "--format openmetrics")?;
            let page = std::fs::read_to_string(bench.file("watched"))?;
            let sum = |name: &str| {
                let lines = page.lines().filter(|line| line.starts_with(name));
                lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>()
            };
            let ranges = sum("gcwatch_moved_blocks_total") + sum("gcwatch_surviving_blocks_total");
            let unseen = paced.gcs - sum("gcwatch_collections_total");
            Ok(vec![paced.gcs / paced.seconds, ranges / paced.seconds, unseen, sum("gcwatch_lost_total")])
        });
    }
    Ok(())
}

impl Bench {
    fn watch_paced(&self, variant: &'static str, arguments: &str, more: &str) -> Result<Paced> {
        let mut target = self.start(&self.newest, "pace", arguments, &[("DOTNET_gcServer", "0")])?;
        let watcher = self.watch(variant, &self.newest, target.pid(), more)?;
        target.send_line("")?;
        let cost = watcher.map(Watcher::finish).transpose()?.unwrap_or_default();
        target.wait(LIMIT)?;
        let fact = |key: &str| -> Result<f64> {
            Ok(target.fact(key).with_context(|| format!("the program did not tell {key}"))?.parse()?)
        };
        let (seconds, median_pause_ms) = (fact("wall_ns")? / 1e9, fact("median_ns")? / 1e6);
        Ok(Paced { gcs: fact("gcs")?, seconds, median_pause_ms, cost })
    }
}
