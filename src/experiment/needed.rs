//! How many runs a side it takes.

use super::normal;
use super::rank_sum::smallest_p;

/// The share of real changes that so many runs should find.
const POWER: f64 = 0.8;
/// More runs than anybody makes.
const MAX_RUNS: usize = 10_000;

/// The fewest runs a side with which the test can find a difference at all, where `tests` tests share the permitted error.
pub(crate) fn to_judge(tests: usize, error: f64) -> usize {
    let each = error / tests.max(1) as f64;
    (2..MAX_RUNS).find(|runs| smallest_p([*runs; 2]) <= each).unwrap_or(MAX_RUNS)
}

/// The runs a side that find a change of `by` in at least 4 of 5 experiments, where runs of one side deviate by `deviation` from
/// their mean (for normal distributions: Noether's formula, which asks for too many where the change is large).
pub(crate) fn for_change(by: f64, deviation: f64, tests: usize, error: f64) -> usize {
    let fewest = to_judge(tests, error);
    if deviation <= 0.0 {
        return fewest;
    }
    // If the sides hardly overlap, all of the fewest runs lie apart, which is what the test needs to find a difference.
    let overlaps = (fewest * fewest) as f64 * normal::above(by.abs() / deviation / std::f64::consts::SQRT_2);
    if overlaps <= 1.0 - POWER {
        return fewest;
    }
    let z = normal::exceeded_by(error / tests.max(1) as f64 / 2.0) + normal::exceeded_by(1.0 - POWER);
    // The probability that a run with the change exceeds one without it, beyond a half.
    let exceeds = 0.5 - normal::above(by.abs() / deviation / std::f64::consts::SQRT_2);
    let runs = (z * z / (6.0 * exceeds * exceeds)).ceil();
    if runs.is_finite() { fewest.max(runs.min(MAX_RUNS as f64) as usize) } else { MAX_RUNS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::rank_sum::p_value;

    #[test]
    fn the_fewest_runs() {
        // 2 of 252, of 924 and of 3432 ways.
        assert_eq!([1, 2, 3, 7, 27].map(|tests| to_judge(tests, 0.01)), [5, 6, 6, 7, 8]);
        assert_eq!(to_judge(0, 0.05), 4);
    }

    /// So many runs find at least about four of five changes; the formula asks for too many where the change is large.
    #[test]
    fn the_power_is_as_promised() {
        let mut dice = fastrand::Rng::with_seed(3);
        for (by, tests, most) in [(1.0, 1, 295), (1.5, 10, 295), (3.5, 1, 300)] {
            let runs = for_change(by, 1.0, tests, 0.01);
            let mut side = |mean: f64| -> Vec<f64> {
                (0..runs).map(|_| mean - 6.0 + (0..12).map(|_| dice.f64()).sum::<f64>()).collect()
            };
            let found = (0..300)
                .filter(|_| p_value(&side(0.0), &side(by)).is_some_and(|p| p <= 0.01 / tests as f64))
                .count();
            assert!((210..=most).contains(&found), "{found} of 300 with {runs} runs");
        }
        assert_eq!(for_change(1.0, 0.0, 1, 0.01), 5);
        assert_eq!(for_change(0.0, 1.0, 1, 0.01), MAX_RUNS);
    }
}
