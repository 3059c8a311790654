//! What one more block costs in a pause: collections of 1,000 to 1,000,000 blocks, blocking ones and background ones.

use anyhow::Result;

use super::figure::{Figure, Goal, Growth};
use super::statistics::median;
use super::{Bench, Tool};

const ROW: &str = "pause by blocks";
const TRACE: &str = "dotnet-trace 0x400001";

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let blocking = ["none", "moves", "roots", "roots --blocks", "floor", TRACE];
    // At `roots` there are no background collections.
    let background = ["none", "moves", TRACE];
    bench.by_blocks("blocking gen0 GCs", "", &blocking);
    bench.by_blocks("background GCs", "background=1", &background);
    Ok(())
}

impl Bench {
    fn by_blocks(&mut self, kind: &'static str, knob: &str, variants: &[&'static str]) {
        let sizes: &[u32] = if self.quick { &[1000, 100_000] } else { &[1000, 10_000, 100_000, 1_000_000] };
        let mut points: Vec<(&'static str, Vec<(f64, f64)>)> =
            variants.iter().map(|name| (*name, Vec::new())).collect();
        for blocks in sizes.iter().copied() {
            let case = format!("{} workstation, {kind} of {blocks} blocks", self.newest.name);
            self.say(&format!("  {case}"));
            // Many small ones, so that each run has a time of its own to be measured by.
            let collections = (2_000_000 / blocks).clamp(10, 200);
            let arguments =
                format!("per_second=0 seconds=300 blocks={blocks} collections={collections} {knob}");
            let taken = self.interleave(&case, variants, |bench, variant| {
                let output = bench.file("watched");
                let (paced, _) = bench.watch_paced(Tool::named(variant)?, &arguments, &output, &[])?;
                Ok(paced.median_stall_ms)
            });
            let mut pause = Figure::new(ROW, &case, "pause of the median GC", "ms").against("none");
            let mut added = Figure::new(ROW, &case, "added per million blocks", "ms").against(TRACE);
            let none =
                taken.iter().find(|variant| variant.name == "none").map(|variant| variant.values.clone());
            for variant in taken {
                if let Some((_, points)) = points.iter_mut().find(|(name, _)| *name == variant.name) {
                    points.extend(median(&variant.values).map(|ms| (f64::from(blocks), ms)));
                }
                if let Some(none) = none.as_ref().filter(|_| variant.name != "none") {
                    let each = variant.values.iter().zip(none);
                    let each = each.map(|(with, without)| (with - without) * 1e6 / f64::from(blocks));
                    added = added.with(variant.name, each.collect());
                }
                pause = pause.with(variant.name, variant.values);
            }
            pause = match blocks {
                ..=10_000 if knob.is_empty() => {
                    pause.goal("moves", Goal::Ratio { to: "none", at_most: 1.05 })
                }
                _ => pause.goal("moves", Goal::NoWorse { to: TRACE, within: 1.05 }),
            };
            if variants.contains(&"floor") {
                pause = pause.goal("roots", Goal::Ratio { to: "floor", at_most: 1.05 });
            }
            self.findings.figures.extend([pause, added]);
        }
        for (name, points) in points {
            let what = format!("pause of the median GC, {name}, {kind}");
            self.findings.growth.push(Growth { row: ROW, input: "blocks", what, unit: "ms", points });
        }
    }
}
