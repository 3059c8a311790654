//! Tests whether two watches of a program differ by more than noise.

use super::statistic::Statistic;
use crate::gc::summary::nearest_rank;

/// Resamples of a bootstrap; fewer if there are very many values.
const MAX_RESAMPLES: usize = 2_000;
const MIN_RESAMPLES: usize = 400;
/// The maximum number of values in all resamples.
const MAX_DRAWN_VALUES: usize = 20_000_000;
/// With fewer values on a side there is no test.
const MIN_VALUES: usize = 8;
/// z of a two-sided 99 % interval.
const Z99: f64 = 2.576;

/// How a change was tested.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Test {
    /// 99 % interval of the change, in percent of the value before. It is resampled in blocks of neighbouring
    /// collections, because pauses that follow each other are alike.
    Bootstrap { low_percent: f64, high_percent: f64 },
    /// Compares two counts as Poisson counts, at 99 %.
    Poisson,
    /// There is no test, for this reason.
    Untested(&'static str),
}

/// A test and its outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noise {
    pub(crate) test: Test,
    /// Whether the change is more than noise. `None`: not tested.
    pub(crate) beyond: Option<bool>,
}

fn untested(why: &'static str) -> Noise {
    Noise { test: Test::Untested(why), beyond: None }
}

/// Tests a statistic of the values of all collections, which are in their order.
pub(crate) fn of_values(before: &[u64], after: &[u64], statistic: Statistic) -> Noise {
    match statistic {
        Statistic::Min | Statistic::Max | Statistic::First | Statistic::Last => {
            return untested("one value a run");
        }
        Statistic::Total => return untested("depends on the number of collections: see the mean"),
        Statistic::Mean | Statistic::Percentile(_) => {}
    }
    if before.len() < MIN_VALUES || after.len() < MIN_VALUES {
        return untested("too few collections");
    }
    let Some(base) = result(&mut before.to_vec(), statistic).filter(|base| *base > 0.0) else {
        return untested("nothing to compare with");
    };
    // The seed is fixed, so that the same data always have the same verdict.
    let mut dice = fastrand::Rng::with_seed(0x6763_7761_7463_6821);
    let resamples = (MAX_DRAWN_VALUES / (before.len() + after.len())).clamp(MIN_RESAMPLES, MAX_RESAMPLES);
    let mut changes: Vec<f64> = (0..resamples)
        .filter_map(|_| {
            let b = result(&mut resample(before, &mut dice), statistic)?;
            let a = result(&mut resample(after, &mut dice), statistic)?;
            Some((a - b) / base * 100.0)
        })
        .collect();
    changes.sort_by(f64::total_cmp);
    let at = |share: f64| changes[((changes.len() - 1) as f64 * share).round() as usize];
    let (low_percent, high_percent) = (at(0.005), at(0.995));
    let beyond = low_percent > 0.0 || high_percent < 0.0;
    Noise { test: Test::Bootstrap { low_percent, high_percent }, beyond: Some(beyond) }
}

fn result(values: &mut [u64], statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Mean => {
            (!values.is_empty()).then(|| values.iter().map(|v| *v as f64).sum::<f64>() / values.len() as f64)
        }
        Statistic::Percentile(p) => {
            let rank = nearest_rank(f64::from(p), values.len() as u64)?;
            let (_, value, _) = values.select_nth_unstable(rank as usize - 1);
            Some(*value as f64)
        }
        _ => None,
    }
}

/// Draws as many values, in blocks of neighbours (moving-block bootstrap).
fn resample(values: &[u64], dice: &mut fastrand::Rng) -> Vec<u64> {
    let n = values.len();
    let block = (n as f64).cbrt().round().max(1.0) as usize;
    let mut drawn = Vec::with_capacity(n + block);
    while drawn.len() < n {
        let start = dice.usize(0..=n - block);
        drawn.extend_from_slice(&values[start..start + block]);
    }
    drawn.truncate(n);
    drawn
}

/// Tests two numbers of collections. The second watch is `times` as long as the first.
pub(crate) fn of_counts(before: u64, after: u64, times: f64) -> Noise {
    let (b, a) = (before as f64, after as f64);
    if before == 0 && after == 0 {
        return Noise { test: Test::Poisson, beyond: Some(false) };
    }
    // Square roots of Poisson counts have the same spread whatever the count (Anscombe).
    let z = 2.0 * ((a + 0.375).sqrt() - ((b + 0.375) * times).sqrt()) / (1.0 + times).sqrt();
    Noise { test: Test::Poisson, beyond: Some(z.abs() > Z99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values with a nearly normal distribution: each is a sum of twelve dice.
    fn noisy(seed: u64, n: usize, mean: u64, spread: u64) -> Vec<u64> {
        let mut dice = fastrand::Rng::with_seed(seed);
        (0..n).map(|_| mean - 6 * spread + (0..12).map(|_| dice.u64(0..=spread)).sum::<u64>()).collect()
    }

    #[test]
    fn tells_real_changes_from_noise() {
        let p50 = Statistic::Percentile(50);
        let before = noisy(1, 200, 10_000, 300);
        let beyond = |after: &[u64]| of_values(&before, after, p50).beyond;
        assert_eq!(beyond(&noisy(2, 200, 12_000, 300)), Some(true));
        // At 99 % about one in a hundred is wrong.
        let wrong = (10..60).filter(|seed| beyond(&noisy(*seed, 200, 10_000, 300)) == Some(true)).count();
        assert!(wrong <= 4, "{wrong} of 50 runs that differ by chance alone");
        assert_eq!(beyond(&[5; 3]), None);
        assert_eq!(of_values(&before, &before, Statistic::Max).beyond, None);
    }

    #[test]
    fn counts() {
        let beyond = |before, after, times| of_counts(before, after, times).beyond;
        assert_eq!(beyond(0, 0, 1.0), Some(false));
        assert_eq!(beyond(27, 26, 1.0), Some(false));
        assert_eq!(beyond(16, 40, 1.0), Some(true));
        assert_eq!(beyond(0, 10, 1.0), Some(true));
        assert_eq!(beyond(3, 6, 1.0), Some(false));
        // The second watch is seven times as long: seven times as many are no change.
        assert_eq!(beyond(100, 700, 7.0), Some(false));
        assert_eq!(beyond(100, 100, 7.0), Some(true));
    }

    #[test]
    fn the_bootstrap_is_deterministic() {
        let (a, b) = (noisy(1, 50, 5_000, 200), noisy(2, 60, 5_100, 200));
        let p99 = Statistic::Percentile(99);
        assert_eq!(of_values(&a, &b, p99), of_values(&a, &b, p99));
    }
}
