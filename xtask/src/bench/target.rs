//! What watching does to the watched: wall and standstill per collection, by heap, roots, frames and kind of work.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use xtask::Clr;

use super::figure::{Figure, Goal, Growth};
use super::statistics::median;
use super::{Bench, Taken, Tool, process};

const LIMIT: Duration = Duration::from_secs(300);
const ROW: &str = "the target at each level";

/// A load to watch.
#[derive(Debug, Clone)]
struct Case {
    name: String,
    arguments: String,
    /// gen0's budget, where it is not the runtime's choice.
    gen0_mib: Option<u32>,
    /// Few roots and frames: the goals against no tool hold for it.
    few_roots: bool,
    variants: &'static [&'static str],
}

/// What the program said of itself.
#[derive(Debug, Clone, Copy)]
struct Told {
    wall_ms: f64,
    /// Of the whole process, in steps of 10 ms: what other processes do to the machine is hardly in it.
    cpu_ms: f64,
    /// The middle one of its collections.
    stall_ms: f64,
    /// The mean, with what the machine did meanwhile.
    stall_ms_per_gc: f64,
}

const ALL: &[&str] = &["none", "basic", "moves", "roots", "floor", "MONITOR_GC", "dotnet-trace 0x400001"];
/// For what one more root or frame costs.
const ROOTS: &[&str] = &["none", "roots", "roots --no-names", "floor"];

/// Heap, frames and handles at 1, 10 and 100 times.
pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    // Many cases that bear each other out; `toggle` has more rounds.
    bench.rounds = bench.rounds.min(3);
    let megabytes = if bench.quick { 600 } else { 1000 };
    let case = |name: String, arguments: String, gen0_mib, few_roots, variants| Case {
        name,
        arguments: format!("allocate_mb={megabytes} {arguments}"),
        gen0_mib,
        few_roots,
        variants,
    };
    let live: &[u32] = if bench.quick { &[1_000_000] } else { &[100_000, 1_000_000, 10_000_000] };
    let handles: &[u32] = if bench.quick { &[100, 10_000] } else { &[100, 1000, 10_000, 100_000] };
    let frames: &[u32] = if bench.quick { &[10, 1000] } else { &[10, 100, 1000, 10_000] };
    for clr in bench.clrs.clone() {
        for server in [false, true] {
            let of_live = |old: u32, gen0_mib: Option<u32>| {
                let gen0 = gen0_mib.map_or("gen0 default".to_owned(), |mib| format!("gen0 {mib} MiB"));
                let name = format!("{old} live objects, {gen0}");
                case(name, format!("old={old} handles=100"), gen0_mib, true, ALL)
            };
            let series = live.iter().map(|old| (f64::from(*old), of_live(*old, None)));
            bench.series(&clr, server, "live objects", series.collect());
            bench.case(&clr, server, &of_live(1_000_000, Some(64)));
            let series = handles.iter().map(|count| {
                let arguments = format!("old=100000 handles={count}");
                let case = case(format!("{count} handles"), arguments, Some(16), *count <= 1000, ROOTS);
                (f64::from(*count), case)
            });
            bench.series(&clr, server, "handles", series.collect());
            let series = frames.iter().map(|depth| {
                let arguments = format!("old=100000 depth={depth}");
                (
                    f64::from(*depth),
                    case(format!("{depth} frames"), arguments, Some(16), *depth <= 100, ROOTS),
                )
            });
            bench.series(&clr, server, "frames", series.collect());
        }
    }
    Ok(())
}

/// Kinds of work, with the proportions that GC developers test with.
pub(super) fn measure_mixes(bench: &mut Bench) -> Result<()> {
    bench.rounds = bench.rounds.min(3);
    let megabytes = if bench.quick { 1500 } else { 4000 };
    let mixes = [
        ("plain", ""),
        ("pinning", "pin_every=10"),
        ("large objects", "loh_permille=20"),
        ("pinned object heap", "poh_permille=50"),
        ("finalizers", "finalize_every=20"),
        ("all of it", "pin_every=20 loh_permille=10 poh_permille=20 finalize_every=50"),
    ];
    for clr in bench.clrs.clone() {
        for server in [false, true] {
            for (name, knobs) in mixes {
                if bench.quick && !matches!(name, "plain" | "all of it") {
                    continue;
                }
                let case = Case {
                    name: format!("mix: {name}"),
                    arguments: format!(
                        "allocate_mb={megabytes} threads=2 live_mb=100 size_min=100 size_max=4000 survive_every=50 {knobs}"
                    ),
                    gen0_mib: None,
                    few_roots: true,
                    variants: ALL,
                };
                bench.case(&clr, server, &case);
            }
        }
    }
    Ok(())
}

impl Bench {
    /// The same load at several sizes: each as a case, then what one more costs.
    fn series(&mut self, clr: &Clr, server: bool, input: &'static str, cases: Vec<(f64, Case)>) {
        let taken: Vec<(f64, Vec<Taken<Told>>)> =
            cases.iter().map(|(size, case)| (*size, self.case(clr, server, case))).collect();
        let about = format!("{} {}, {}", clr.name, heap(server), of_gen0(cases.first()));
        for name in ["none", "floor", "roots"] {
            let stall = |taken: &[Taken<Told>]| {
                let variant = taken.iter().find(|variant| variant.name == name)?;
                median(&variant.each(|told| told.stall_ms))
            };
            let points = taken.iter().filter_map(|(size, taken)| Some((*size, stall(taken)?))).collect();
            let what = format!("pause per GC, {name}, {about}");
            self.findings.growth.push(Growth { row: ROW, input, what, unit: "ms", points });
        }
        let (Some(least), Some(most)) = (taken.first(), taken.last()) else { return };
        if input == "live objects" || least.0 >= most.0 {
            return;
        }
        // Per round: what watching adds at the large end beyond what it adds at the small one, shared among all.
        let mut figure = Figure::new(ROW, about, per_one(input), "ns");
        for name in ["floor", "roots", "roots --no-names"] {
            let added = |taken: &[Taken<Told>]| {
                let of = |name| taken.iter().find(|variant| variant.name == name);
                let (with, without) = (of(name)?, of("none")?);
                let pairs = with.values.iter().zip(&without.values);
                Some(pairs.map(|(a, b)| a.stall_ms - b.stall_ms).collect::<Vec<f64>>())
            };
            let (Some(small), Some(large)) = (added(&least.1), added(&most.1)) else { continue };
            let each = small.iter().zip(&large).map(|(s, l)| (l - s) * 1e6 / (most.0 - least.0));
            figure = figure.with(name, each.collect());
        }
        self.findings.figures.push(figure);
    }

    fn case(&mut self, clr: &Clr, server: bool, case: &Case) -> Vec<Taken<Told>> {
        let name = format!("{} {}, {}", clr.name, heap(server), case.name);
        self.say(&format!("  {name}"));
        let taken = self.interleave(&name, case.variants, |bench, variant| {
            bench.load(clr, server, case, Tool::named(variant))
        });
        let mut wall = Figure::new(ROW, &name, "wall", "ms").against("none");
        let mut cpu = Figure::new(ROW, &name, "CPU of the target", "ms").against("none");
        let mut stall = Figure::new(ROW, &name, "pause, the median GC", "ms").against("none");
        let mut mean = Figure::new(ROW, &name, "pause, the mean GC", "ms").against("none");
        for variant in &taken {
            wall = wall.with(variant.name, variant.each(|told| told.wall_ms));
            cpu = cpu.with(variant.name, variant.each(|told| told.cpu_ms));
            stall = stall.with(variant.name, variant.each(|told| told.stall_ms));
            mean = mean.with(variant.name, variant.each(|told| told.stall_ms_per_gc));
        }
        let goals = |mut figure: Figure, roots_to_none: f64| {
            if case.variants.contains(&"moves") {
                figure = figure
                    .goal("basic", Goal::Same { to: "none", at_most: 1.03 })
                    .goal("moves", Goal::Ratio { to: "none", at_most: 1.05 })
                    .goal("moves", Goal::Ratio { to: "dotnet-trace 0x400001", at_most: 1.0 });
            }
            figure = figure.goal("roots", Goal::Ratio { to: "floor", at_most: 1.05 });
            if case.few_roots {
                figure = figure.goal("roots", Goal::Ratio { to: "none", at_most: roots_to_none });
            }
            figure
        };
        self.findings.figures.extend([goals(wall, 1.10), goals(stall, 1.20), mean, cpu]);
        taken
    }

    /// Runs the load once, under a tool.
    fn load(&self, clr: &Clr, server: bool, case: &Case, tool: Tool) -> Result<Told> {
        let result = self.file("load.txt");
        let mut arguments: Vec<String> = case.arguments.split_whitespace().map(str::to_owned).collect();
        arguments.push(format!("result={}", result.display()));
        let mut settings = vec![("DOTNET_gcServer", u8::from(server).to_string())];
        if let Some(mib) = case.gen0_mib {
            settings.push(("DOTNET_GCgen0size", format!("{:x}", u64::from(mib) << 20)));
        }
        let line = self.app(clr, "load", &settings, &arguments)?;
        let mut command = self.run_under(tool, clr, &line)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        process::finish(child, began, LIMIT)?;
        let line = std::fs::read_to_string(&result).context("the load left no result")?;
        std::fs::remove_file(&result)?;
        let (stall_ns, stalls) = (process::fact(&line, "stall_ns")?, process::fact(&line, "stalls")?);
        anyhow::ensure!(stalls >= 3.0, "only {stalls} collections: {line}");
        Ok(Told {
            wall_ms: process::fact(&line, "wall_ns")? / 1e6,
            cpu_ms: process::fact(&line, "cpu_ns")? / 1e6,
            stall_ms: process::fact(&line, "median_ns")? / 1e6,
            stall_ms_per_gc: stall_ns / 1e6 / stalls,
        })
    }
}

fn heap(server: bool) -> &'static str {
    if server { "server" } else { "workstation" }
}

fn of_gen0(case: Option<&(f64, Case)>) -> String {
    match case.and_then(|(_, case)| case.gen0_mib) {
        Some(mib) => format!("gen0 {mib} MiB"),
        None => "gen0 default".to_owned(),
    }
}

fn per_one(input: &str) -> &'static str {
    if input == "frames" { "added to each pause per frame" } else { "added to each pause per root" }
}
