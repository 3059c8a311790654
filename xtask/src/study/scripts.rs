//! What a script says that has no gcwatch: a bound of +10 % on what the runtime tells any program of itself.

use std::collections::BTreeMap;

use super::store::Record;

const BOUND: f64 = 1.10;

/// A figure: its title, and how it comes of what the program says of itself.
pub(super) type Figure = (&'static str, fn(&BTreeMap<String, f64>) -> Option<f64>);

/// The columns of BenchmarkDotNet's MemoryDiagnoser: collections for each 1,000 operations, and bytes of each. The number of
/// operations is the same in each run.
pub(super) const MEMORY_DIAGNOSER: [Figure; 4] = [
    ("Gen0", |own| own.get("gc0").copied()),
    ("Gen1", |own| own.get("gc1").copied()),
    ("Gen2", |own| own.get("gc2").copied()),
    ("Allocated", |own| own.get("allocated").copied()),
];

/// What dotnet-counters shows of the collector at the end of a run; the counts of collections are above.
pub(super) const COUNTERS: [Figure; 5] = [
    ("time in GC", |own| Some(own.get("pause_ns")? / own.get("wall_ns")?)),
    ("GC heap size", |own| own.get("total_memory").copied()),
    ("GC committed bytes", |own| own.get("committed").copied()),
    ("working set", |own| own.get("working_set").copied()),
    ("allocation rate", |own| Some(own.get("allocated")? / own.get("wall_ns")?)),
];

/// Whether the mean of a figure rises by more than the bound. `None`: a run does not have it.
pub(super) fn breaks(figure: &Figure, before: &[&Record], after: &[&Record]) -> Option<bool> {
    let mean = |runs: &[&Record]| {
        let values: Option<Vec<f64>> = runs.iter().map(|run| figure.1(&run.own)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    };
    let (before, after) = (mean(before)?, mean(after)?);
    Some(after > before * BOUND)
}

/// Whether any of the figures does.
pub(super) fn any_breaks(figures: &[Figure], before: &[&Record], after: &[&Record]) -> Option<bool> {
    let verdicts = figures.iter().filter_map(|figure| breaks(figure, before, after));
    verdicts.reduce(|any, one| any || one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::plan::{Key, Side};

    fn run(gc0: f64, gc2: f64) -> Record {
        let own = [("gc0", gc0), ("gc2", gc2), ("pause_ns", 5.0), ("wall_ns", 50.0)];
        Record {
            key: Key { case: "unchanged".to_owned(), pair: 0, side: Side::Before, run: 0 },
            load: None,
            wall_ms: 0.0,
            own: own.map(|(name, value)| (name.to_owned(), value)).into(),
            metrics: BTreeMap::new(),
        }
    }

    #[test]
    fn a_script_compares_means_with_a_bound() {
        let [gen0, gen1, gen2, _] = &MEMORY_DIAGNOSER;
        let (before, after) = ([run(100.0, 0.0), run(102.0, 0.0)], [run(109.0, 1.0), run(115.0, 0.0)]);
        let (before, after): (Vec<_>, Vec<_>) = (before.iter().collect(), after.iter().collect());
        assert_eq!(breaks(gen0, &before, &after), Some(true));
        assert_eq!(breaks(gen0, &before[..1], &after[..1]), Some(false));
        assert_eq!(breaks(gen2, &before, &after), Some(true), "from nothing to something");
        assert_eq!(breaks(gen1, &before, &after), None);
        assert_eq!(breaks(&COUNTERS[0], &before, &after), Some(false));
        assert_eq!(any_breaks(&MEMORY_DIAGNOSER, &before[..1], &after[..1]), Some(true));
        assert_eq!(any_breaks(&[*gen1], &before, &after), None);
        assert_eq!(breaks(gen0, &[], &after), None);
    }
}
