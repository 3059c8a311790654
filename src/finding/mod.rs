//! What is wrong with a program's collections, judged by rules. Each finding has its figures, their bounds and a remedy.

mod figures;
mod model;
mod rule;
mod rules;
mod sentence;
mod series;

use crate::gc::facts::Facts;
use crate::gc::record::Gc;
use crate::gc::summary::Summary;
pub(crate) use model::{Evidence, Finding, Severity};
use rule::{Rule, Watch};
pub(crate) use rules::IDS;
pub(crate) use sentence::{Part, Sentence};

/// All rules, and what each has seen so far. Its memory is bounded, however long a watch takes.
#[derive(Debug)]
pub(crate) struct Rules(Vec<Box<dyn Rule>>);

impl Default for Rules {
    fn default() -> Rules {
        Rules(rules::all())
    }
}

impl Rules {
    /// Takes in one collection. Incomplete records are left out, as in the summary.
    pub(crate) fn add(&mut self, gc: &Gc) {
        if gc.complete() {
            self.0.iter_mut().for_each(|rule| rule.add(gc));
        }
    }

    /// What is wrong, the finding that explains most first.
    pub(crate) fn findings(&self, facts: &Facts, summary: &Summary) -> Vec<Finding> {
        let watch = Watch { facts, summary };
        let mut found: Vec<Finding> = self.0.iter().filter_map(|rule| rule.judge(&watch)).collect();
        found.sort_by(|a, b| b.share.total_cmp(&a.share));
        found
    }
}

#[cfg(test)]
mod tests;
