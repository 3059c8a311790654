//! What the watcher itself takes while it watches.

use anyhow::Result;

use super::figure::{Figure, Goal, Growth};
use super::paced::Paced;
use super::process::Cost;
use super::statistics::median;
use super::{Bench, Taken, Tool};

const ROW: &str = "the watcher's own cost";
const VARIANTS: [&str; 6] =
    ["basic", "moves", "roots", "roots --blocks", "dotnet-trace 0x1", "dotnet-trace 0x400001"];

/// What a tool took in one round.
#[derive(Debug)]
struct Round {
    paced: Paced,
    cost: Cost,
    /// Start and end alone, with one collection between them.
    idle_ms: f64,
    /// How many such runs would be a minute.
    times: f64,
}

impl Round {
    /// Of all runs as one: start and end come once.
    fn cpu_ms(&self) -> f64 {
        self.idle_ms + self.times * (self.cost.cpu_ms - self.idle_ms)
    }

    fn cpu_us_per_gc(&self) -> f64 {
        self.cpu_ms() * 1e3 / (self.times * self.paced.gcs)
    }

    fn steady_us_per_gc(&self) -> f64 {
        (self.cost.cpu_ms - self.idle_ms) * 1e3 / (self.paced.gcs - 1.0).max(1.0)
    }
}

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let mut points = Vec::new();
    for (per_second, seconds, rounds) in [(10, 4, 1), (100, 15, 2), (1000, 4, 2)] {
        let seconds = if bench.quick { 4 } else { seconds };
        bench.rounds = rounds;
        let taken = bench.watching(per_second, 1000, seconds);
        let roots = taken.iter().find(|variant| variant.name == "roots");
        let cpu = roots.and_then(|roots| median(&roots.each(|round| round.cost.cpu_ms)));
        points.extend(cpu.map(|cpu| (f64::from(per_second * seconds), cpu)));
    }
    let what = "CPU of gcwatch at roots".to_owned();
    bench.findings.growth.push(Growth { row: ROW, input: "collections", what, unit: "ms", points });
    Ok(())
}

impl Bench {
    fn watching(&mut self, per_second: u32, blocks: u32, seconds: u32) -> Vec<Taken<Round>> {
        // Of shorter runs made a minute, start and end would be taken several times: a run
        // that does nothing else tells how much these are.
        let times = (60.0 / f64::from(seconds)).max(1.0);
        let case = format!("{per_second} GCs/s of {blocks} blocks for a minute, from runs of {seconds} s");
        self.say(&format!("  {case}"));
        let load = format!("per_second={per_second} blocks={blocks} seconds={seconds}");
        let taken = self.interleave(&case, &VARIANTS, |bench, variant| {
            let (tool, output) = (Tool::named(variant)?, bench.file("watched"));
            let (paced, cost) = bench.watch_paced(tool, &load, &output, &[])?;
            let (_, idle) = bench.watch_paced(tool, &format!("{load} collections=1"), &output, &[])?;
            let (cost, idle_ms) = (cost.unwrap_or_default(), idle.unwrap_or_default().cpu_ms);
            Ok(Round { paced, cost, idle_ms, times })
        });
        let mut cpu = Figure::new(ROW, &case, "CPU per GC", "us").against("dotnet-trace 0x1");
        let mut steady =
            Figure::new(ROW, &case, "CPU per GC without start and end", "us").against("dotnet-trace 0x1");
        let mut idle = Figure::new(ROW, &case, "CPU of start and end", "ms").against("dotnet-trace 0x1");
        let mut memory = Figure::new(ROW, &case, "memory", "MiB").against("dotnet-trace 0x1");
        for variant in &taken {
            cpu = cpu.with(variant.name, variant.each(Round::cpu_us_per_gc));
            steady = steady.with(variant.name, variant.each(Round::steady_us_per_gc));
            idle = idle.with(variant.name, variant.each(|round| round.idle_ms));
            memory = memory.with(variant.name, variant.each(|round| round.cost.memory_mib));
        }
        for (ours, theirs) in [
            ("basic", "dotnet-trace 0x1"),
            ("moves", "dotnet-trace 0x400001"),
            ("roots", "dotnet-trace 0x1"),
            ("roots --blocks", "dotnet-trace 0x400001"),
        ] {
            cpu = cpu.goal(ours, Goal::Ratio { to: theirs, at_most: 0.2 });
            memory = memory.goal(ours, Goal::AtMost(24.0));
        }
        self.findings.figures.extend([cpu, steady, idle, memory]);
        taken
    }
}
