//! What is missing when a program gives all it can.

use anyhow::{Context, Result};

use super::figure::{Figure, Goal};
use super::paced::Paced;
use super::{Bench, Tool};

const ROW: &str = "loss";
const ALL: [&str; 4] = ["basic", "moves", "roots", "roots --blocks"];
/// Those that tell most.
const MOST: [&str; 2] = ["moves", "roots --blocks"];

/// What gcwatch counted.
#[derive(Debug)]
struct Counted {
    paced: Paced,
    seen_gcs: f64,
    ranges: f64,
    missing: f64,
}

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    bench.rounds = 1;
    let minute = if bench.quick { 5 } else { 60 };
    let short = minute.min(10);
    for (case, load, seconds, variants) in [
        ("1,000 GCs/s of 100 blocks", "per_second=1000 blocks=100", minute, &["roots --blocks"]),
        ("100 GCs/s of 50,000 blocks", "per_second=100 blocks=50000", minute, &MOST),
        ("as many GCs of 100 blocks as it can", "per_second=0 blocks=100", short, &ALL),
        ("as many GCs of 500,000 blocks as it can", "per_second=0 blocks=500000", short, &ALL),
    ] as [(_, _, _, &[&'static str]); 4]
    {
        let case = format!("{case}, {seconds} s");
        bench.say(&format!("  {case}"));
        // A background collection that the program ends in has begun and has no end: it is told as cut off, not as
        // a collection. So none runs at the end.
        let arguments = format!("{load} seconds={seconds} settle=1");
        let taken = bench.interleave(&case, variants, |bench, variant| bench.count(variant, &arguments));
        let of = |what, unit, value: fn(&Counted) -> f64| {
            let figure = Figure::new(ROW, &case, what, unit);
            taken.iter().fold(figure, |figure, variant| figure.with(variant.name, variant.each(value)))
        };
        let rate = of("collections per second", "", |told| told.paced.gcs / told.paced.wall_ms * 1e3);
        let ranges = of("ranges per second", "", |told| told.ranges / told.paced.wall_ms * 1e3);
        let unseen = of("collections not seen", "", |told| told.paced.gcs - told.seen_gcs);
        let missing = of("events, ranges and roots missing", "", |told| told.missing);
        let none = |figure: Figure| {
            variants.iter().copied().fold(figure, |figure, name| figure.goal(name, Goal::AtMost(0.0)))
        };
        bench.findings.figures.extend([rate, ranges, none(unseen), none(missing)]);
    }
    Ok(())
}

impl Bench {
    /// Watches with the counters' page as output, which is small whatever is watched.
    fn count(&self, variant: &str, arguments: &str) -> Result<Counted> {
        let page = self.file("page.txt");
        let (paced, _) =
            self.watch_paced(Tool::named(variant)?, arguments, &page, &["--format", "openmetrics"])?;
        let text = std::fs::read_to_string(&page).context("gcwatch left no page of counters")?;
        let sum = |name: &str| {
            let lines = text.lines().filter(|line| line.starts_with(name));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>()
        };
        let seen_gcs = sum("gcwatch_collections_total");
        let ranges = sum("gcwatch_moved_blocks_total") + sum("gcwatch_surviving_blocks_total");
        Ok(Counted { paced, seen_gcs, ranges, missing: sum("gcwatch_lost_total") })
    }
}
