//! How far two sides of runs are apart (Hodges and Lehmann), and how far the runs of one side are.

use super::normal;
use super::rank_sum::ways;

/// Up to so many values in all the interval is exact.
const MAX_EXACT: usize = 60;
/// The share of intervals that miss the true shift on one side.
const MISSED: f64 = 0.025;

/// The difference between two sides, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift {
    /// The median of all differences between a value of one side and one of the other.
    pub(crate) by: f64,
    /// The interval that holds the true shift in at least 95 % of all experiments. `None`: there are too few runs.
    pub(crate) interval: Option<(f64, f64)>,
}

/// The middle value, or the mean of the two in the middle. `None`: there are none.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    middle(&sorted)
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let above = *sorted.get(sorted.len() / 2)?;
    let below = sorted[(sorted.len() - 1) / 2];
    Some(below + (above - below) / 2.0)
}

/// Half of the values lie within this distance of their median. `None`: there are fewer than two.
pub(crate) fn spread(values: &[f64]) -> Option<f64> {
    let centre = median(values).filter(|_| values.len() > 1)?;
    median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

/// The standard deviation within the sides. `None`: each has one value.
pub(super) fn deviation(sides: [&[f64]; 2]) -> Option<f64> {
    let squares = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let free = sides.iter().map(|values| values.len().saturating_sub(1)).sum::<usize>();
    (free > 0).then(|| (sides.into_iter().map(squares).sum::<f64>() / free as f64).sqrt())
}

/// How far `after` is from `before`. `None`: a side is empty.
pub(super) fn shift(before: &[f64], after: &[f64]) -> Option<Shift> {
    let mut differences: Vec<f64> =
        before.iter().flat_map(|before| after.iter().map(move |after| after - before)).collect();
    differences.sort_by(f64::total_cmp);
    let by = middle(&differences)?;
    let left_out = left_out(before.len(), after.len());
    let interval = left_out.map(|n| (differences[n], differences[differences.len() - 1 - n]));
    Some(Shift { by, interval })
}

/// How many times as large `after` is as `before`: the median of all ratios, and its interval. `None`: a side is empty, or
/// there are values before that are not positive, or negative ones after.
pub(super) fn ratio(before: &[f64], after: &[f64]) -> Option<Shift> {
    if before.iter().any(|value| *value <= 0.0) || after.iter().any(|value| *value < 0.0) {
        return None;
    }
    // The logarithm makes a shift of it. That of 0 is less than all others.
    let logarithms =
        |values: &[f64]| values.iter().map(|value| value.max(f64::MIN_POSITIVE).ln()).collect::<Vec<_>>();
    let shift = shift(&logarithms(before), &logarithms(after))?;
    let back = |logarithm: f64| logarithm.exp();
    Some(Shift { by: back(shift.by), interval: shift.interval.map(|(low, high)| (back(low), back(high))) })
}

/// How many differences lie below the interval, and as many above it. `None`: even all of them are too few.
fn left_out(n: usize, m: usize) -> Option<usize> {
    let all = n + m;
    if all > MAX_EXACT {
        let (n, m) = (n as f64, m as f64);
        let z = normal::exceeded_by(MISSED);
        let below = n * m / 2.0 - z * (n * m * (n + m + 1.0) / 12.0).sqrt();
        return (below >= 0.0).then_some(below as usize);
    }
    // U is the number of differences below the true shift.
    let few = n.min(m);
    let ways = ways(&(1..=all).collect::<Vec<_>>(), few);
    let total: f64 = ways.iter().sum();
    let lowest = few * (few + 1) / 2;
    let mut missed = 0.0;
    let reached = ways[lowest..].iter().position(|count| {
        missed += count / total;
        missed > MISSED
    });
    reached?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn medians_and_spreads() {
        assert_eq!((median(&[]), median(&[3.0]), median(&[4.0, 1.0])), (None, Some(3.0), Some(2.5)));
        assert_eq!((spread(&[3.0]), spread(&[1.0, 2.0, 4.0, 9.0, 2.5])), (None, Some(1.5)));
        assert_eq!(deviation([&[1.0], &[2.0]]), None);
        assert_eq!(deviation([&[1.0, 3.0], &[10.0, 12.0]]), Some(2.0_f64.sqrt()));
    }

    /// The numbers of differences that the interval leaves out, less one, are the tables' critical values at 5 %.
    #[test]
    fn the_interval_is_that_of_published_tables() {
        for (n, m, critical) in [(4, 4, 0), (5, 5, 2), (6, 6, 5), (5, 8, 6), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(left_out(n, m), Some(critical), "{n} and {m}");
        }
        assert_eq!((left_out(3, 3), left_out(1, 9)), (None, None));
        let near = left_out(31, 30).unwrap();
        assert!(left_out(30, 30).unwrap() < near && near < left_out(30, 30).unwrap() + 30);
    }

    proptest! {
        #[test]
        fn a_shift_is_found_and_its_interval_holds_it(
            values in prop::collection::vec(-1e6..1e6f64, 4..12),
            by in -1e6..1e6f64,
        ) {
            let after: Vec<f64> = values.iter().map(|value| value + by).collect();
            let found = shift(&values, &after).unwrap();
            let (low, high) = found.interval.unwrap();
            prop_assert!((found.by - by).abs() < 1e-6, "{} instead of {by}", found.by);
            prop_assert!(low <= found.by && found.by <= high);
            let back = shift(&after, &values).unwrap();
            prop_assert!((back.by + found.by).abs() < 1e-6);
        }
    }

    #[test]
    fn ratios_are_never_negative() {
        let before = [1.0, 2.0, 4.0, 8.0];
        let doubled = ratio(&before, &before.map(|value| value * 2.0)).unwrap();
        let (low, high) = doubled.interval.unwrap();
        assert!((doubled.by - 2.0).abs() < 1e-9 && (low - 0.25).abs() < 1e-9 && (high - 16.0).abs() < 1e-9);
        assert!(ratio(&before, &[0.0; 4]).is_some_and(|none| none.by < 1e-300));
        assert_eq!(
            (ratio(&[0.0, 1.0], &before), ratio(&before, &[-1.0]), ratio(&[], &before)),
            (None, None, None)
        );
    }

    /// Of many experiments at least 95 % of the intervals hold the true shift.
    #[test]
    fn the_interval_keeps_its_promise() {
        let mut dice = fastrand::Rng::with_seed(7);
        let mut side = |mean: f64| -> Vec<f64> { (0..8).map(|_| mean + dice.f64()).collect() };
        let held = (0..2000).filter(|_| {
            let (low, high) = shift(&side(0.0), &side(0.3)).unwrap().interval.unwrap();
            low <= 0.3 && 0.3 <= high
        });
        let held = held.count();
        assert!((1890..1960).contains(&held), "{held} of 2000");
    }
}
