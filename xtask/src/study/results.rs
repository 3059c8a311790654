//! What a study found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::interval;

/// How often something was said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The comparisons that were called a change.
    pub alarms: usize,
    /// Those with any verdict.
    pub judged: usize,
    /// All comparisons.
    pub n: usize,
}

impl Count {
    /// Counts a verdict. `None`: it could not be judged.
    pub fn add(&mut self, verdict: Option<bool>) {
        self.n += 1;
        self.judged += usize::from(verdict.is_some());
        self.alarms += usize::from(verdict == Some(true));
    }

    /// The 95 % interval of the share of alarms among all, from 0 to 1 (Clopper and Pearson).
    pub fn interval(&self) -> (f64, f64) {
        interval::of_share(self.alarms, self.n)
    }
}

/// One gate in all cases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What is looked at.
    pub gate: String,
    /// How many runs a side.
    pub runs: usize,
    /// By the name of the case.
    pub cases: BTreeMap<String, Count>,
}

/// The rows of one way to judge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// The title.
    pub title: String,
    /// In the order of the table.
    pub rows: Vec<Row>,
}

impl Section {
    /// Counts a verdict in the row of a gate, which is made if there is none.
    pub fn add(&mut self, gate: &str, runs: usize, case: &str, verdict: Option<bool>) {
        let place = self.rows.iter().position(|row| row.gate == gate && row.runs == runs);
        let place = place.unwrap_or_else(|| {
            self.rows.push(Row { gate: gate.to_owned(), runs, cases: BTreeMap::new() });
            self.rows.len() - 1
        });
        self.rows[place].cases.entry(case.to_owned()).or_default().add(verdict);
    }
}

/// How well a metric repeats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// With its statistic.
    pub metric: String,
    /// The coefficient of variation between the runs of each program, in percent. Null: no data, or all are 0.
    pub percent: Vec<Option<f64>>,
    /// The median of those that are known.
    pub median_percent: Option<f64>,
}

/// What a study found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Processor, memory, system, and the load average before the study.
    pub machine: Value,
    /// The version of the runtime.
    pub runtime: String,
    /// The lowest, the median and the highest load average at the starts of the runs.
    pub loads: Vec<f64>,
    /// How many runs a side each pair has.
    pub runs: usize,
    /// By case: how many pairs are complete.
    pub pairs: BTreeMap<String, usize>,
    /// By case and metric: the median of the changes that gcwatch found, in percent.
    pub changes: BTreeMap<String, BTreeMap<String, f64>>,
    /// The ways to judge.
    pub sections: Vec<Section>,
    /// By metric: how many tests of unchanged pairs have p of at most 1 % by itself, of how many.
    pub by_chance: BTreeMap<String, Count>,
    /// The programs of `repeats`.
    pub programs: Vec<String>,
    /// How many runs of each program.
    pub repeated: usize,
    /// How well each metric repeats.
    pub repeats: Vec<Repeat>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted_by_gate_and_case() {
        let mut section = Section::default();
        for verdict in [Some(true), Some(false), None, Some(false)] {
            section.add("pause.p99 > +10%", 5, "unchanged", verdict);
        }
        section.add("pause.p99 > +10%", 1, "unchanged", Some(true));
        section.add("pause.p99 > +10%", 5, "old", None);
        assert_eq!(section.rows.len(), 2);
        let row = &section.rows[0];
        assert_eq!(row.cases["unchanged"], Count { alarms: 1, judged: 3, n: 4 });
        assert_eq!(row.cases["old"], Count { alarms: 0, judged: 0, n: 1 });
        let (low, high) = row.cases["unchanged"].interval();
        assert!(low > 0.0 && low < 0.25 && high > 0.25 && high < 0.9);
    }
}
