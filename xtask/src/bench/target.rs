//! What watching does to the watched: time and standstill, by heap, roots, frames and kind of work.

use std::time::Duration;

use anyhow::{Result, anyhow};
use xtask::Clr;

use super::Bench;
use super::figure::{Figure, Goal, Growth};
use super::pooled::TOGETHER;
use super::statistics::median;
use super::toggle::{Load, Pair, Seen};

const ROW: &str = "the target at each level";
const TRACE: &str = "dotnet-trace 0x400001";

/// A load to watch.
#[derive(Debug, Clone)]
struct Case {
    name: String,
    arguments: String,
    /// gen0's budget, where it is not the runtime's choice.
    gen0_mib: Option<u32>,
    /// Few roots and frames: the goals against no tool hold for it.
    few_roots: bool,
    tools: &'static [&'static str],
    window_ms: u64,
}

// Profilers stand apart from each other: one has to have left before another can come.
const ALL: &[&str] = &["roots", "none again", "basic", "floor", "moves", "MONITOR_GC", TRACE];
/// Without the contrast.
const MIX: &[&str] = &["roots", "none again", "basic", "floor", "moves", TRACE];
/// For what one more root or frame costs.
const ROOTS: &[&str] = &["roots", "none again", "floor", "roots --no-names"];

/// Heap, frames and handles at 1, 10 and 100 times.
pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let live: &[u32] = if bench.quick { &[1_000_000] } else { &[100_000, 1_000_000, 10_000_000] };
    for clr in bench.clrs.clone() {
        for server in [false, true] {
            let (handles, frames): (&[u32], &[u32]) = match (bench.quick, server) {
                (true, _) => (&[100, 10_000], &[10, 1000]),
                (false, false) => (&[100, 1000, 10_000, 100_000], &[10, 100, 1000, 10_000]),
                (false, true) => (&[1000, 100_000], &[100, 10_000]),
            };
            let of_live = |old: u32, gen0_mib: Option<u32>| {
                // A server heap's own choice leaves a collection a second or fewer.
                let gen0_mib = gen0_mib.or(server.then_some(16));
                let gen0 = gen0_mib.map_or("gen0 default".to_owned(), |mib| format!("gen0 {mib} MiB"));
                Case {
                    name: format!("{old} live objects, {gen0}"),
                    arguments: format!("old={old} handles=100"),
                    gen0_mib,
                    few_roots: true,
                    // With it a collection of 10 million objects takes longer than a window.
                    tools: if gen0_mib == Some(64) || old > 1_000_000 { MIX } else { ALL },
                    window_ms: if gen0_mib == Some(64) || old > 1_000_000 { 500 } else { window_ms(server) },
                }
            };
            let series = live.iter().map(|old| (f64::from(*old), of_live(*old, None)));
            let mut heaps = bench.series(&clr, server, "live objects", series.collect());
            heaps.extend(bench.case(&clr, server, &of_live(1_000_000, Some(64))));
            bench.together(&clr, server, "of these heaps", &heaps);
            let small = |name: String, arguments: String, few_roots| Case {
                name,
                arguments: format!("old=100000 {arguments}"),
                gen0_mib: Some(4),
                few_roots,
                tools: ROOTS,
                window_ms: 200,
            };
            let series = handles.iter().map(|count| {
                let case = small(format!("{count} handles"), format!("handles={count}"), *count <= 1000);
                (f64::from(*count), case)
            });
            bench.series(&clr, server, "handles", series.collect());
            let series = frames.iter().map(|depth| {
                (f64::from(*depth), small(format!("{depth} frames"), format!("depth={depth}"), *depth <= 100))
            });
            bench.series(&clr, server, "frames", series.collect());
        }
    }
    Ok(())
}

/// Kinds of work, with the proportions that GC developers test with.
pub(super) fn measure_mixes(bench: &mut Bench) -> Result<()> {
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
            let mut taken = Vec::new();
            for (name, knobs) in mixes {
                if bench.quick && !matches!(name, "plain" | "all of it") {
                    continue;
                }
                let case = Case {
                    name: format!("mix: {name}"),
                    arguments: format!(
                        "threads=2 live_mb=100 size_min=100 size_max=4000 survive_every=50 {knobs}"
                    ),
                    gen0_mib: server.then_some(16),
                    few_roots: true,
                    tools: MIX,
                    window_ms: window_ms(server),
                };
                taken.extend(bench.case(&clr, server, &case));
            }
            bench.together(&clr, server, "mixes", &taken);
        }
    }
    Ok(())
}

/// What a case gave: the pairs of each tool.
type Pairs = Vec<(&'static str, Vec<Pair>)>;

impl Bench {
    /// The same load at several sizes: each as a case, then what one more costs.
    fn series(
        &mut self,
        clr: &Clr,
        server: bool,
        input: &'static str,
        cases: Vec<(f64, Case)>,
    ) -> Vec<Pairs> {
        let taken: Vec<(f64, Pairs)> =
            cases.iter().filter_map(|(size, case)| Some((*size, self.case(clr, server, case)?))).collect();
        let about = format!("{} {}", clr.name, heap(server));
        for name in ["none", "floor", "roots"] {
            let points = taken.iter().filter_map(|(size, pairs)| Some((*size, stall_ms(pairs, name)?)));
            let what = format!("pause of the median GC, {name}, {about}");
            let points = points.collect();
            self.findings.growth.push(Growth { row: ROW, input, what, unit: "ms", points });
        }
        if let (Some(least), Some(most)) = (taken.first(), taken.last())
            && least.0 < most.0
            && input != "live objects"
        {
            self.one_more(about, input, least, most);
        }
        taken.into_iter().map(|(_, pairs)| pairs).collect()
    }

    /// Between two sizes, per round: what watching adds at the large one beyond what it adds at the small one, shared
    /// among all.
    fn one_more(&mut self, about: String, input: &'static str, least: &(f64, Pairs), most: &(f64, Pairs)) {
        let mut figure = Figure::new(ROW, about, per_one(input), "ns");
        for name in ROOTS {
            let (Some(small), Some(large)) = (added_ns(&least.1, name), added_ns(&most.1, name)) else {
                continue;
            };
            let each = small.iter().zip(&large).map(|(s, l)| (l - s) / (most.0 - least.0));
            figure = figure.with(name, each.collect());
        }
        self.findings.figures.push(figure);
    }

    fn case(&mut self, clr: &Clr, server: bool, case: &Case) -> Option<Pairs> {
        let name = format!("{} {}, {}", clr.name, heap(server), case.name);
        if !self.cases.is_empty() && !self.cases.iter().any(|part| name.contains(part.as_str())) {
            return None;
        }
        self.say(&format!("  {name}"));
        // Else a server heap's number of heaps changes while it runs, and its pauses with it.
        let fixed = ("DOTNET_GCDynamicAdaptationMode", "0".to_owned());
        let mut settings = vec![("DOTNET_gcServer", u8::from(server).to_string()), fixed];
        if let Some(mib) = case.gen0_mib {
            settings.push(("DOTNET_GCgen0size", format!("{:x}", u64::from(mib) << 20)));
        }
        let window = Duration::from_millis(case.window_ms);
        let load = Load { arguments: &case.arguments, settings, tools: case.tools, window };
        let tried = self.come_and_go(clr, &load).or_else(|error| {
            self.findings
                .notes
                .push(format!("{name}: measured anew, for the first time it failed: {error:#}"));
            self.come_and_go(clr, &load)
        });
        let found = match tried {
            Ok(found) => found,
            Err(error) => {
                self.skip(&name, &error);
                return None;
            }
        };
        let mut pairs: Pairs = Vec::new();
        for (tool, each) in found {
            match each {
                Some(each) => pairs.push((tool, each)),
                None => self.skip(&format!("{name}: {tool}"), &anyhow!("too few collections")),
            }
        }
        let goals = |figure: Figure, roots_to_none: f64| {
            let figure = with_goals(figure, case.tools.contains(&"moves"));
            if case.few_roots {
                figure.goal("roots", Goal::Ratio { to: "none", at_most: roots_to_none })
            } else {
                figure
            }
        };
        let of = |what, value| times(&name, what, &pairs, value);
        let alone = |what, unit, value: fn(&Seen) -> f64| {
            let each = pairs.first().map(|(_, each)| each.iter().map(|pair| value(&pair.without)).collect());
            Figure::new(ROW, &name, what, unit).with("none", each.unwrap_or_default())
        };
        self.findings.figures.extend([
            goals(of("time for so much work", |seen| seen.ns_per_mb), 1.10),
            goals(of("pause of the median GC", |seen| seen.median_stall_ns), 1.20),
            of("pause of the mean GC", |seen| seen.mean_stall_ns),
            alone("time per MB, no tool", "us", |seen| seen.ns_per_mb / 1e3),
            alone("pause of the median GC, no tool", "ms", |seen| seen.median_stall_ns / 1e6),
            alone("GCs in a window, no tool", "", |seen| seen.gcs),
        ]);
        Some(pairs)
    }

    /// Rounds of many loads as one: what a tool does to all of them is told apart from what a machine does to one.
    fn together(&mut self, clr: &Clr, server: bool, what: &str, taken: &[Pairs]) {
        let name = format!("{} {}{TOGETHER}{what}", clr.name, heap(server));
        // A tool that was measured under all of them.
        let common = taken.first().into_iter().flatten().map(|(tool, _)| *tool);
        let common =
            common.filter(|tool| taken.iter().all(|pairs| pairs.iter().any(|(name, _)| name == tool)));
        let rounds = |tool: &str| {
            taken
                .iter()
                .flatten()
                .filter(|(name, _)| *name == tool)
                .flat_map(|(_, each)| each.clone())
                .collect()
        };
        let all: Pairs = common.map(|tool| (tool, rounds(tool))).collect();
        // Of some cases it would not be what its name says.
        if taken.len() < 2 || all.is_empty() || !self.cases.is_empty() {
            return;
        }
        let of = |what, value| with_goals(times(&name, what, &all, value), true);
        self.findings.figures.extend([
            of("time for so much work", |seen| seen.ns_per_mb)
                .goal("roots", Goal::Ratio { to: "none", at_most: 1.10 }),
            of("pause of the median GC", |seen| seen.median_stall_ns)
                .goal("roots", Goal::Ratio { to: "none", at_most: 1.20 }),
        ]);
    }
}

/// How many times as much each round had with each tool as without.
fn times(name: &str, what: &'static str, pairs: &Pairs, value: fn(&Seen) -> f64) -> Figure {
    let rounds = pairs.first().map_or(0, |(_, each)| each.len());
    let figure = Figure::new(ROW, name, what, "x").against("none").with("none", vec![1.0; rounds]);
    pairs.iter().fold(figure, |figure, (tool, each)| {
        figure.with(tool, each.iter().map(|pair| value(&pair.with) / value(&pair.without)).collect())
    })
}

fn with_goals(mut figure: Figure, of_levels: bool) -> Figure {
    if of_levels {
        figure = figure
            .goal("basic", Goal::Same { to: "none", at_most: 1.03 })
            .goal("moves", Goal::Ratio { to: "none", at_most: 1.05 })
            .goal("moves", Goal::NoWorse { to: TRACE, within: 1.05 });
    }
    figure.goal("roots", Goal::Ratio { to: "floor", at_most: 1.05 })
}

/// Of the median round; without a tool, what is held against the first.
fn stall_ms(pairs: &Pairs, name: &str) -> Option<f64> {
    let (_, each) = pairs.iter().find(|(tool, _)| *tool == name || name == "none")?;
    let of = |pair: &Pair| if name == "none" { pair.without } else { pair.with };
    Some(median(&each.iter().map(|pair| of(pair).median_stall_ns).collect::<Vec<f64>>())? / 1e6)
}

fn added_ns(pairs: &Pairs, name: &str) -> Option<Vec<f64>> {
    let (_, each) = pairs.iter().find(|(tool, _)| *tool == name)?;
    Some(each.iter().map(|pair| pair.with.median_stall_ns - pair.without.median_stall_ns).collect())
}

/// Some dozens of collections; a server heap has fewer.
fn window_ms(server: bool) -> u64 {
    if server { 300 } else { 200 }
}

fn heap(server: bool) -> &'static str {
    if server { "server" } else { "workstation" }
}

fn per_one(input: &str) -> &'static str {
    if input == "frames" { "added to each pause per frame" } else { "added to each pause per root" }
}
