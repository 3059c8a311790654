//! What the watcher itself takes while it watches.

use anyhow::Result;

use super::figure::{Figure, Goal, Growth};
use super::paced::Paced;
use super::process::Cost;
use super::statistics::median;
use super::{Bench, Taken, Tool};

const ROW: &str = "the watcher's own cost";
const VARIANTS: [&str; 7] =
    ["none", "basic", "moves", "roots", "roots --blocks", "dotnet-trace 0x1", "dotnet-trace 0x400001"];

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let seconds = if bench.quick { 10 } else { 60 };
    bench.rounds = 1;
    let mut points = Vec::new();
    for per_second in [10, 100, 1000] {
        // A minute for the goal, less for its growth.
        let seconds = if per_second == 100 { seconds } else { 10 };
        let taken = bench.watching(per_second, 1000, seconds);
        let roots = taken.iter().find(|variant| variant.name == "roots");
        let cpu = roots
            .and_then(|roots| median(&roots.each(|(paced, cost)| cpu_us_per_gc(paced, cost) * paced.gcs)));
        points.extend(cpu.map(|cpu| (f64::from(per_second * seconds), cpu / 1e3)));
    }
    let what = "CPU of gcwatch at roots".to_owned();
    bench.findings.growth.push(Growth { row: ROW, input: "collections", what, unit: "ms", points });
    Ok(())
}

fn cpu_us_per_gc(paced: &Paced, cost: &Cost) -> f64 {
    cost.cpu_ms * 1e3 / paced.gcs
}

impl Bench {
    fn watching(&mut self, per_second: u32, blocks: u32, seconds: u32) -> Vec<Taken<(Paced, Cost)>> {
        let case = format!("{per_second} GCs/s of {blocks} blocks for {seconds} s");
        self.say(&format!("  {case}"));
        let arguments = format!("per_second={per_second} blocks={blocks} seconds={seconds}");
        // A minute for those that take most.
        let variants = if seconds > 10 { &VARIANTS[3..] } else { &VARIANTS[..] };
        let taken = self.interleave(&case, variants, |bench, variant| {
            let (paced, cost) =
                bench.watch_paced(Tool::named(variant), &arguments, &bench.file("watched"), &[])?;
            Ok((paced, cost.unwrap_or_default()))
        });
        let mut cpu = Figure::new(ROW, &case, "CPU per GC", "us").against("dotnet-trace 0x1");
        let mut share = Figure::new(ROW, &case, "CPU of one core", "%");
        let mut memory = Figure::new(ROW, &case, "memory", "MiB").against("dotnet-trace 0x1");
        let mut stall = Figure::new(ROW, &case, "the target's pause per GC", "us").against("none");
        for variant in &taken {
            stall = stall.with(variant.name, variant.each(|(paced, _)| paced.stall_ms * 1e3 / paced.gcs));
            if variant.name == "none" {
                continue;
            }
            cpu = cpu.with(variant.name, variant.each(|(paced, cost)| cpu_us_per_gc(paced, cost)));
            share = share.with(variant.name, variant.each(|(_, cost)| cost.cpu_ms / cost.wall_ms * 100.0));
            memory = memory.with(variant.name, variant.each(|(_, cost)| cost.memory_mib));
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
        self.findings.figures.extend([cpu, share, memory]);
        if variants.contains(&"none") {
            self.findings.figures.push(stall);
        }
        taken
    }
}
