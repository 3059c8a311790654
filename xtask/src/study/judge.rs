//! Judges the pairs in all ways.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;

use super::cases::{EARLIER, FAMILIES, GATES, UNCHANGED};
use super::diff::{Compared, diff};
use super::options::Options;
use super::plan::Side;
use super::results::{Results, Section};
use super::scripts::{self, COUNTERS, Figure, MEMORY_DIAGNOSER};
use super::store::{Record, Store};

/// Two sides that are compared.
#[derive(Debug, Clone)]
struct Pair<'s> {
    case: &'static str,
    sides: [Vec<&'s Record>; 2],
}

/// The p that a single test may have by chance.
const ERROR: f64 = 0.01;
/// The numbers of runs a side beside that of the study; they join pairs of one case.
const MORE_RUNS: [usize; 3] = [6, 8, 10];

pub(super) const ONE_RUN: &str = "gcwatch, one run a side";
pub(super) const ALONE: &str = "gcwatch, several runs a side, each gate alone";
pub(super) const JOINTLY: &str = "gcwatch, several runs a side, judged together";
pub(super) const SCRIPTS: &str = "a script, +10 % on what the runtime tells of itself";
/// Rows that stand for several figures.
pub(super) const ANY_METRIC: &str = "any metric beyond noise, all judged together";
pub(super) const ANY_DIAGNOSER: &str = "MemoryDiagnoser: any column";
pub(super) const ANY_COUNTER: &str = "dotnet-counters: any counter";

/// Judges all pairs that are complete.
pub(super) fn judge(options: &Options, store: &Store) -> Result<Results> {
    let runs = options.size.runs;
    let pairs = pairs(options, store);
    let mut results = Results { runs, ..Results::default() };
    let title = |title: &str| Section { title: title.to_owned(), rows: Vec::new() };
    let [mut one, mut alone, mut jointly, mut scripts] = [ONE_RUN, ALONE, JOINTLY, SCRIPTS].map(title);
    let mut changes: BTreeMap<(&str, String), Vec<f64>> = BTreeMap::new();
    for pair in &pairs {
        *results.pairs.entry(pair.case.to_owned()).or_default() += 1;
        one_run(options, store, pair, &mut one)?;
        by_scripts(pair, &mut scripts);
        let all = gates_alone(options, store, pair, &mut alone)?;
        for (name, metric) in &all.metrics {
            if let Some(change) = metric.change_percent {
                changes.entry((pair.case, name.clone())).or_default().push(change);
            }
            if pair.case == UNCHANGED {
                let by_chance = results.by_chance.entry(name.clone()).or_default();
                by_chance.add(metric.p.map(|p| p <= ERROR));
            }
        }
    }
    for runs in [runs].into_iter().chain(MORE_RUNS.into_iter().filter(|more| *more > runs)) {
        for pair in joined(&pairs, runs) {
            together(options, store, &pair, &mut jointly)?;
            if runs == MORE_RUNS[MORE_RUNS.len() - 1] {
                gates_alone(options, store, &pair, &mut alone)?;
            }
        }
    }
    for ((case, metric), mut values) in changes {
        values.sort_by(f64::total_cmp);
        let middle = values[values.len() / 2];
        results.changes.entry(case.to_owned()).or_default().insert(metric, middle);
    }
    results.sections = vec![one, alone, jointly, scripts];
    Ok(results)
}

/// The pairs whose runs are all there; those with an earlier baseline have the first side of one unchanged pair and the
/// second side of a pair that was run half of the study later.
fn pairs<'s>(options: &Options, store: &'s Store) -> Vec<Pair<'s>> {
    let size = options.size;
    let sides = |case: &str, pairs: [usize; 2]| {
        [store.side(case, pairs[0], Side::Before), store.side(case, pairs[1], Side::After)]
    };
    let mut all: Vec<Pair<'s>> = Vec::new();
    let unchanged = |n| Pair { case: UNCHANGED, sides: sides(UNCHANGED, [n, n]) };
    all.extend((0..size.pairs).map(unchanged));
    let half = size.pairs / 2;
    all.extend((0..half).map(|n| Pair { case: EARLIER, sides: sides(UNCHANGED, [n, n + half]) }));
    for case in options.changes.iter().copied() {
        all.extend((0..size.detect).map(|n| Pair { case, sides: sides(case, [n, n]) }));
    }
    all.retain(|pair| pair.sides.iter().all(|side| side.len() == size.runs));
    all
}

/// Pairs with so many runs a side, each made of as many neighbouring pairs of one case as it takes.
fn joined<'s>(pairs: &[Pair<'s>], runs: usize) -> Vec<Pair<'s>> {
    let mut all = Vec::new();
    for same in pairs.chunk_by(|a, b| a.case == b.case) {
        let each = same[0].sides[0].len().max(1);
        for group in same.chunks(runs.div_ceil(each)) {
            let side = |n: usize| -> Vec<&'s Record> {
                group.iter().flat_map(|pair| pair.sides[n].iter().copied()).take(runs).collect()
            };
            let sides = [side(0), side(1)];
            if sides.iter().all(|side| side.len() == runs) {
                all.push(Pair { case: same[0].case, sides });
            }
        }
    }
    all
}

impl Pair<'_> {
    fn runs(&self) -> usize {
        self.sides[0].len()
    }

    fn diff(&self, options: &Options, store: &Store, gates: &[&str]) -> Result<Compared> {
        let files =
            |side: &[&Record]| -> Vec<PathBuf> { side.iter().map(|run| store.document(run)).collect() };
        let [before, after] = &self.sides;
        diff(options, [&files(before), &files(after)], gates)
    }

    /// Its runs one by one, each as a pair of its own.
    fn singles(&self) -> impl Iterator<Item = Self> {
        let [before, after] = &self.sides;
        before.iter().zip(after).map(|(b, a)| Self { case: self.case, sides: [vec![*b], vec![*a]] })
    }
}

fn one_run(options: &Options, store: &Store, pair: &Pair<'_>, section: &mut Section) -> Result<()> {
    for single in pair.singles() {
        let compared = single.diff(options, store, &GATES)?;
        for gate in GATES {
            section.add(gate, 1, pair.case, compared.gates.get(gate).copied().flatten());
        }
        section.add(ANY_METRIC, 1, pair.case, compared.any_beyond_noise());
    }
    Ok(())
}

/// Judges each gate by itself. Returns a comparison of all metrics, those of the gates too.
fn gates_alone(options: &Options, store: &Store, pair: &Pair<'_>, section: &mut Section) -> Result<Compared> {
    let mut all = Compared::default();
    for gate in GATES {
        let compared = pair.diff(options, store, &[gate])?;
        section.add(gate, pair.runs(), pair.case, compared.any_gate_breaks());
        all.metrics.extend(compared.metrics);
    }
    Ok(all)
}

fn together(options: &Options, store: &Store, pair: &Pair<'_>, section: &mut Section) -> Result<()> {
    for family in FAMILIES {
        let gates = pair.diff(options, store, family)?;
        let names: Vec<&str> = family.iter().filter_map(|gate| gate.split(' ').next()).collect();
        let names = names.join("`, `");
        section.add(&format!("any of `{names}`"), pair.runs(), pair.case, gates.any_gate_breaks());
    }
    let all = pair.diff(options, store, &[])?;
    section.add(ANY_METRIC, pair.runs(), pair.case, all.any_beyond_noise());
    Ok(())
}

fn by_scripts(pair: &Pair<'_>, section: &mut Section) {
    for pair in pair.singles().chain([pair.clone()]) {
        let [before, after] = &pair.sides;
        for (tool, any, figures) in [
            ("MemoryDiagnoser", ANY_DIAGNOSER, &MEMORY_DIAGNOSER[..]),
            ("dotnet-counters", ANY_COUNTER, &COUNTERS[..]),
        ] {
            for figure @ (name, _) in figures as &[Figure] {
                let verdict = scripts::breaks(figure, before, after);
                section.add(&format!("{tool}: {name}"), pair.runs(), pair.case, verdict);
            }
            section.add(any, pair.runs(), pair.case, scripts::any_breaks(figures, before, after));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::plan::Key;

    fn runs(pair: usize) -> Vec<Record> {
        let key = |run| Key { case: UNCHANGED.to_owned(), pair, side: Side::Before, run };
        let record = |run| Record {
            key: key(run),
            load: None,
            wall_ms: 0.0,
            own: BTreeMap::new(),
            metrics: BTreeMap::new(),
        };
        (0..5).map(record).collect()
    }

    #[test]
    fn pairs_of_one_case_are_joined() {
        let runs: Vec<Vec<Record>> = (0..6).map(runs).collect();
        let pair = |n: usize, case| {
            let side: Vec<&Record> = runs[n].iter().collect();
            Pair { case, sides: [side.clone(), side] }
        };
        let pairs: Vec<Pair<'_>> = (0..6).map(|n| pair(n, if n < 3 { UNCHANGED } else { "old" })).collect();
        assert_eq!(joined(&pairs, 5).len(), 6);
        let eight = joined(&pairs, 8);
        let cases: Vec<_> = eight.iter().map(|pair| (pair.case, pair.runs())).collect();
        assert_eq!(cases, [(UNCHANGED, 8), ("old", 8)]);
        let from: Vec<_> = eight[1].sides[0].iter().map(|run| (run.key.pair, run.key.run)).collect();
        assert_eq!(from, [(3, 0), (3, 1), (3, 2), (3, 3), (3, 4), (4, 0), (4, 1), (4, 2)]);
        assert_eq!(joined(&pairs, 16).len(), 0);
        assert_eq!(pairs[0].singles().count(), 5);
    }
}
