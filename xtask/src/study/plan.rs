//! Which runs a study makes, in which order.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::cases::{LEVELS, REPEATED, REPEATS, UNCHANGED};
use super::options::Size;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Side {
    Before,
    After,
}

/// Names a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Key {
    pub(super) case: String,
    pub(super) pair: usize,
    pub(super) side: Side,
    pub(super) run: usize,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.side == Side::Before { "before" } else { "after" };
        write!(f, "{}-{}-{side}-{}", self.case, self.pair, self.run)
    }
}

/// A run that is to be made.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) key: Key,
    pub(super) app: &'static str,
    pub(super) arguments: &'static str,
    pub(super) level: &'static str,
}

/// All runs. The cases take turns, so that a study that is stopped has something of each, and what disturbs the machine for
/// a while meets all of them.
pub(super) fn steps(size: Size, changes: &[&'static str]) -> Vec<Step> {
    let mut steps = Vec::new();
    let rounds = size.pairs.max(size.detect).max(size.repeats);
    for round in 0..rounds {
        let due = |of: usize| round * of / rounds..(round + 1) * of / rounds;
        for run in due(size.repeats) {
            steps.extend(repeats(run));
        }
        for pair in due(size.pairs) {
            steps.extend(runs_of(UNCHANGED, pair, size.runs));
        }
        for pair in due(size.detect) {
            steps.extend(changes.iter().flat_map(|change| runs_of(change, pair, size.runs)));
        }
    }
    steps
}

/// The case of a program's runs at a level.
pub(super) fn repeats_case(program: &str, level: &str) -> String {
    format!("{REPEATS}-{program}-{level}")
}

fn repeats(run: usize) -> impl Iterator<Item = Step> {
    let of = move |level: &'static str, (app, arguments): (&'static str, &'static str)| {
        let key = Key { case: repeats_case(app, level), pair: 0, side: Side::Before, run };
        Step { key, app, arguments, level }
    };
    LEVELS.into_iter().flat_map(move |level| REPEATED.into_iter().map(move |program| of(level, program)))
}

/// The runs of a pair: before and after in turns, and each is first as often as the other.
fn runs_of(case: &'static str, pair: usize, runs: usize) -> impl Iterator<Item = Step> {
    (0..runs).flat_map(move |run| {
        let [first, second] =
            if run % 2 == 0 { [Side::Before, Side::After] } else { [Side::After, Side::Before] };
        [first, second].map(|side| Step {
            key: Key { case: case.to_owned(), pair, side, run },
            app: "gate",
            arguments: if side == Side::After { case } else { UNCHANGED },
            level: "basic",
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::study::cases::CHANGES;

    #[test]
    fn each_run_is_planned_once_and_sides_take_turns() {
        let size = Size { pairs: 10, detect: 3, runs: 5, repeats: 4 };
        let steps = steps(size, &CHANGES);
        let keys: BTreeSet<Key> = steps.iter().map(|step| step.key.clone()).collect();
        assert_eq!((steps.len(), keys.len()), (100 + 5 * 30 + 4 * 9, 100 + 5 * 30 + 4 * 9));
        let order: Vec<Side> = runs_of("more", 0, 4).map(|step| step.key.side).collect();
        use Side::{After, Before};
        assert_eq!(order, [Before, After, After, Before, Before, After, After, Before]);
        for step in steps.iter().filter(|step| step.key.case == "more") {
            assert_eq!(step.arguments, if step.key.side == After { "more" } else { "unchanged" });
        }
    }

    #[test]
    fn a_study_that_is_stopped_has_something_of_each_case() {
        let steps = steps(Size { pairs: 100, detect: 30, runs: 5, repeats: 20 }, &CHANGES);
        let half = &steps[..steps.len() / 2];
        let pairs = |case: &str| half.iter().filter(|step| step.key.case == case).count() / 10;
        assert!((48..53).contains(&pairs(UNCHANGED)), "{}", pairs(UNCHANGED));
        assert!(CHANGES.iter().all(|change| (14..17).contains(&pairs(change))));
    }
}
