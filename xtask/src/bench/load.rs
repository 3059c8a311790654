//! What watching costs a program: time and pauses by heap, roots, frames and kind of work.

use std::time::Duration;

use anyhow::{Result, anyhow};
use xtask::Clr;

use super::figure::Bound::{NoWorse, Ratio, Same};
use super::windows::Pair;
use super::{Bench, Figure, NONE, TRACE};

// Variants that load a profiler are not adjacent, because one profiler must leave before the next can load.
const ALL: &[&str] = &["roots", "none again", "basic", "floor", "moves", "MONITOR_GC", TRACE];
/// Without `MONITOR_GC`, with which a collection of 10 million objects takes longer than a window.
const LEVELS: &[&str] = &["roots", "none again", "basic", "floor", "moves", TRACE];
/// For the cost of one more root or frame.
const ROOTS: &[&str] = &["roots", "none again", "floor", "roots --no-names"];

/// Name; arguments of `tests/apps/load.cs`; tools; window in ms; budget of gen0 in MiB, 0 for the runtime's choice;
/// whether there are so few roots and frames that `roots` is compared with no tool.
type Load = (&'static str, &'static str, &'static [&'static str], u64, u32, bool);

const HEAPS: [Load; 4] = [
    ("100000 live objects", "old=100000 handles=100", ALL, 200, 0, true),
    ("1000000 live objects", "old=1000000 handles=100", ALL, 200, 0, true),
    ("10000000 live objects", "old=10000000 handles=100", LEVELS, 500, 0, true),
    ("1000000 live objects, gen0 64 MiB", "old=1000000 handles=100", LEVELS, 500, 64, true),
];
const HANDLES: [Load; 3] = [
    ("100 handles", "old=100000 handles=100", ROOTS, 200, 4, true),
    ("10000 handles", "old=100000 handles=10000", ROOTS, 200, 4, false),
    ("100000 handles", "old=100000 handles=100000", ROOTS, 200, 4, false),
];
const FRAMES: [Load; 3] = [
    ("10 frames", "old=100000 depth=10", ROOTS, 200, 4, true),
    ("1000 frames", "old=100000 depth=1000", ROOTS, 200, 4, false),
    ("10000 frames", "old=100000 depth=10000", ROOTS, 200, 4, false),
];
/// The proportions of Microsoft's GCPerfSim.
const MIX: &str = "threads=2 live_mb=100 size_min=100 size_max=4000 survive_every=50";
const MIXES: [Load; 6] = [
    ("mix: plain", "", LEVELS, 200, 0, true),
    ("mix: pinning", "pin_every=10", LEVELS, 200, 0, true),
    ("mix: large objects", "loh_permille=20", LEVELS, 200, 0, true),
    ("mix: pinned object heap", "poh_permille=50", LEVELS, 200, 0, true),
    ("mix: finalizers", "finalize_every=20", LEVELS, 200, 0, true),
    ("mix: all", "pin_every=20 loh_permille=10 poh_permille=20 finalize_every=50", LEVELS, 200, 0, true),
];

const TIME: &str = "time for so much work";
const PAUSE: &str = "pause of the median GC";
const ADDED: &str = "added to the median pause";

pub(super) fn measure_heaps(bench: &mut Bench) -> Result<()> {
    bench.on_each_gc(|bench, clr, server| {
        let heaps = bench.loads(clr, server, "", &HEAPS);
        bench.pool(&heaps, &about(clr, server, "all of these heaps"));
        let handles = bench.loads(clr, server, "", &HANDLES);
        bench.one_more(&handles, &about(clr, server, "one more handle"), 100_000.0 - 100.0);
        let frames = bench.loads(clr, server, "", &FRAMES);
        bench.one_more(&frames, &about(clr, server, "one more frame"), 10_000.0 - 10.0);
    });
    Ok(())
}

pub(super) fn measure_mixes(bench: &mut Bench) -> Result<()> {
    bench.on_each_gc(|bench, clr, server| {
        let mixes = bench.loads(clr, server, MIX, &MIXES);
        bench.pool(&mixes, &about(clr, server, "all mixes"));
    });
    Ok(())
}

impl Bench {
    fn on_each_gc(&mut self, measure: impl Fn(&mut Self, &Clr, bool)) {
        for clr in self.clrs.clone() {
            measure(self, &clr, false);
            measure(self, &clr, true);
        }
    }

    /// Measures several loads, and returns all their figures.
    fn loads(&mut self, clr: &Clr, server: bool, common: &str, loads: &[Load]) -> Vec<Figure> {
        let first = self.run.figures.len();
        for load in loads {
            let name = about(clr, server, load.0);
            if self.wants(&name)
                && let Err(error) = self.load(clr, server, &name, common, load)
            {
                self.skip(&name, &error);
            }
        }
        self.run.figures[first..].to_vec()
    }

    fn load(&mut self, clr: &Clr, server: bool, name: &str, common: &str, load: &Load) -> Result<()> {
        let (_, arguments, tools, mut window_ms, mut gen0_mib, few_roots) = *load;
        let arguments = format!("{common} {arguments}");
        self.say(&format!("  {name}"));
        if server && gen0_mib == 0 {
            // With the runtime's choice, a server heap has at most one collection a second.
            (gen0_mib, window_ms) = (16, window_ms.max(300));
        }
        let gen0 = format!("{:x}", u64::from(gen0_mib) << 20);
        // Without the second setting, a server GC changes its number of heaps while the program runs.
        let mode = if server { "1" } else { "0" };
        let mut env = vec![("DOTNET_gcServer", mode), ("DOTNET_GCDynamicAdaptationMode", "0")];
        env.extend((gen0_mib > 0).then_some(("DOTNET_GCgen0size", gen0.as_str())));
        let window = Duration::from_millis(window_ms);
        let found = self.come_and_go(clr, &arguments, &env, tools, window).or_else(|error| {
            self.skip(&format!("{name}, first attempt"), &error);
            self.come_and_go(clr, &arguments, &env, tools, window)
        })?;
        let mut pairs = Vec::new();
        for (tool, each) in found {
            match each {
                Some(each) => pairs.push((tool, each)),
                None => self.skip(&format!("{name}: {tool}"), &anyhow!("too few collections")),
            }
        }
        let figure = |what, unit, value: &dyn Fn(&Pair) -> f64| {
            pairs.iter().fold(Figure::new(what, unit), |figure, (tool, each)| {
                figure.with(tool, each.iter().map(value).collect())
            })
        };
        let times = |what, index: usize| {
            let rounds = pairs.first().map_or(0, |(_, each): &(_, Vec<Pair>)| each.len());
            let figure = figure(what, "x", &|pair| pair.with[index] / pair.without[index]);
            figure.against(NONE).with(NONE, vec![1.0; rounds])
        };
        let goals = |figure: Figure, roots_to_none| {
            let mut figure = figure
                .goal("basic", Same(NONE.into(), 1.03))
                .goal("moves", Ratio(NONE.into(), 1.05))
                .goal("moves", NoWorse(TRACE.into(), 1.05))
                .goal("roots", Ratio("floor".into(), 1.05));
            if few_roots {
                figure = figure.goal("roots", Ratio(NONE.into(), roots_to_none));
            }
            figure.keep_goals_of(&[&[NONE], tools].concat());
            figure
        };
        for figure in [
            goals(times(TIME, 0), 1.10),
            goals(times(PAUSE, 1), 1.20),
            times("pause of the mean GC", 2),
            figure(ADDED, "ns", &|pair| pair.with[1] - pair.without[1]),
            figure("time per MB without it", "us", &|pair| pair.without[0] / 1e3),
            figure("pause of the median GC without it", "ms", &|pair| pair.without[1] / 1e6),
            figure("GCs in a window without it", "", &|pair| pair.without[3]),
        ] {
            self.add(name, figure);
        }
        Ok(())
    }

    /// Pools the rounds of all cases, which gives a narrower interval than the rounds of one case.
    fn pool(&mut self, figures: &[Figure], name: &str) {
        for what in [TIME, PAUSE] {
            let same: Vec<&Figure> = figures.iter().filter(|figure| figure.what == what).collect();
            // The name promises all cases, so skip this if only some were selected.
            if self.cases.is_empty() {
                self.run.figures.extend(Figure::pool(&same, name));
            }
        }
    }

    /// What each further root or frame adds to a pause; the last load has `more` roots or frames than the first.
    fn one_more(&mut self, figures: &[Figure], name: &str, more: f64) {
        let mut added = figures.iter().filter(|figure| figure.what == ADDED);
        let (Some(small), Some(large)) = (added.next(), added.next_back()) else { return };
        let mut figure = Figure::new(ADDED, "ns");
        for tool in ROOTS {
            let each = small.values(tool).iter().zip(large.values(tool));
            figure = figure.with(tool, each.map(|(small, large)| (large - small) / more).collect());
        }
        if self.cases.is_empty() {
            self.add(name, figure);
        }
    }
}

fn about(clr: &Clr, server: bool, what: &str) -> String {
    format!("{} {}, {what}", clr.name, if server { "server" } else { "workstation" })
}
