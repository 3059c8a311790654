//! Compares two sides of runs by one figure, and judges many such comparisons together.

use super::needed;
use super::rank_sum::{p_value, smallest_p};
use super::shift::{Shift, deviation, median, ratio, shift, spread};

/// The probability that any of the comparisons that are judged together is called a difference by chance.
pub(crate) const FAMILY_ERROR: f64 = 0.01;
/// Smaller differences are not called better or worse, in percent of the median before, if nothing else is asked for.
pub(crate) const MIN_EFFECT_PERCENT: f64 = 5.0;

/// What a comparison shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// More than the spread between runs.
    Differs,
    /// The same, but less than the smallest effect that counts.
    Small,
    /// The spread between runs can be the reason.
    Noise,
    /// All runs have the same value.
    Equal,
    /// So few runs can never show a difference.
    TooFew,
    /// A side has no value.
    Unknown,
}

/// Two sides of runs, compared by one figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    /// How many runs of each side have a value.
    pub(crate) runs: [usize; 2],
    /// The median of each side.
    pub(crate) medians: [Option<f64>; 2],
    /// Half of the runs of a side lie within this distance of its median.
    pub(crate) spreads: [Option<f64>; 2],
    /// In the unit of the figure.
    pub(crate) shift: Option<Shift>,
    /// The second side as a multiple of the first. `None`: not all values are positive.
    pub(crate) ratio: Option<Shift>,
    /// The standard deviation of the runs within their sides.
    pub(crate) deviation: Option<f64>,
    /// Of the two-sided rank-sum test.
    pub(crate) p: Option<f64>,
    /// The same, corrected for all comparisons that are judged together.
    pub(crate) adjusted_p: Option<f64>,
    pub(crate) outcome: Outcome,
    /// With fewer runs a side no difference can be found.
    pub(crate) needed_runs: usize,
    /// How many comparisons are judged together.
    pub(crate) judged_together: usize,
}

impl Comparison {
    /// The change in percent: of the ratio, or else of the shift to the median before, which is infinite if that is 0.
    pub(crate) fn change_percent(&self) -> Option<f64> {
        if let Some(ratio) = self.ratio {
            return Some((ratio.by - 1.0) * 100.0);
        }
        let by = self.shift?.by;
        Some(if by == 0.0 { 0.0 } else { by / self.medians[0]?.abs() * 100.0 })
    }

    /// The interval of the ratio, in percent.
    pub(crate) fn interval_percent(&self) -> Option<(f64, f64)> {
        let (low, high) = self.ratio?.interval?;
        Some(((low - 1.0) * 100.0, (high - 1.0) * 100.0))
    }

    /// Whether the test finds a difference, however small. `None`: it cannot tell.
    pub(crate) fn beyond_noise(&self) -> Option<bool> {
        match self.outcome {
            Outcome::Differs | Outcome::Small => Some(true),
            Outcome::Noise | Outcome::Equal => Some(false),
            Outcome::TooFew | Outcome::Unknown => None,
        }
    }

    /// The runs a side that would find a change of so many percent in 4 of 5 experiments. `None`: the spread is not known.
    pub(crate) fn runs_for(&self, percent: f64) -> Option<usize> {
        let before = self.medians[0].filter(|before| *before != 0.0)?;
        let by = before * percent / 100.0;
        Some(needed::for_change(by, self.deviation?, self.judged_together, FAMILY_ERROR))
    }
}

/// Compares two sides, without an outcome.
pub(crate) fn compared(before: &[f64], after: &[f64]) -> Comparison {
    Comparison {
        runs: [before.len(), after.len()],
        medians: [median(before), median(after)],
        spreads: [spread(before), spread(after)],
        shift: shift(before, after),
        ratio: ratio(before, after),
        deviation: deviation([before, after]),
        p: p_value(before, after),
        adjusted_p: None,
        outcome: Outcome::Unknown,
        needed_runs: 0,
        judged_together: 0,
    }
}

/// Judges comparisons together: the more there are, the clearer each has to be (Holm). Differences below `min_effect_percent`
/// are [`Outcome::Small`].
pub(crate) fn judge(comparisons: &mut [&mut Comparison], min_effect_percent: f64) {
    let p: Vec<f64> = comparisons.iter().filter_map(|c| c.p).collect();
    let mut adjusted = holm(&p).into_iter();
    let needed = needed::to_judge(p.len(), FAMILY_ERROR);
    for comparison in comparisons {
        comparison.needed_runs = needed;
        comparison.judged_together = p.len();
        if comparison.p.is_some() {
            comparison.adjusted_p = adjusted.next();
        }
        comparison.outcome = outcome(comparison, min_effect_percent);
    }
}

fn outcome(of: &Comparison, min_effect_percent: f64) -> Outcome {
    let Some(p) = of.adjusted_p else { return Outcome::Unknown };
    if p <= FAMILY_ERROR {
        let large = of.change_percent().is_some_and(|percent| percent.abs() >= min_effect_percent);
        return if large { Outcome::Differs } else { Outcome::Small };
    }
    if smallest_p(of.runs) * of.judged_together as f64 > FAMILY_ERROR {
        return Outcome::TooFew;
    }
    if of.deviation == Some(0.0) && of.medians[0] == of.medians[1] { Outcome::Equal } else { Outcome::Noise }
}

/// Holm's correction: the results of tests, each so that it can be held against the error permitted to all together.
fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, place) in order.into_iter().enumerate() {
        least = least.max(p[place] * (p.len() - rank) as f64).min(1.0);
        adjusted[place] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn holm_as_in_the_textbook() {
        let close = |a: Vec<f64>, b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(holm(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]));
        assert!(close(holm(&[0.5, 0.9]), &[1.0, 1.0]));
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        /// By its definition: rejects the smallest, then the next, until one is above its share of the error.
        #[test]
        fn holm_rejects_step_by_step(p in prop::collection::vec(0.0..0.05f64, 1..12)) {
            let mut sorted = p.clone();
            sorted.sort_by(f64::total_cmp);
            let steps = sorted.iter().enumerate();
            let rejected = steps.take_while(|(n, p)| **p <= FAMILY_ERROR / (sorted.len() - n) as f64).count();
            let adjusted = holm(&p);
            prop_assert_eq!(adjusted.iter().filter(|p| **p <= FAMILY_ERROR).count(), rejected);
        }
    }

    fn judged(before: &[f64], after: &[f64]) -> Comparison {
        let mut comparison = compared(before, after);
        judge(&mut [&mut comparison], MIN_EFFECT_PERCENT);
        comparison
    }

    #[test]
    fn outcomes() {
        let before = [100.0, 101.0, 102.0, 103.0, 104.0];
        let by = |n: f64| before.map(|value| value + n);
        let outcome = |after: &[f64]| judged(&before, after).outcome;
        assert_eq!(outcome(&by(20.0)), Outcome::Differs);
        assert_eq!(outcome(&by(-20.0)), Outcome::Differs);
        assert_eq!(outcome(&by(4.9)), Outcome::Small, "all runs are above, by less than 5 %");
        assert_eq!(outcome(&by(2.0)), Outcome::Noise);
        assert_eq!(outcome(&by(20.0)[..3]), Outcome::TooFew);
        assert_eq!(outcome(&by(20.0)[..4]), Outcome::TooFew);
        assert_eq!(outcome(&[]), Outcome::Unknown);
        assert_eq!(judged(&[7.0; 5], &[7.0; 5]).outcome, Outcome::Equal);
        let clear = judged(&before, &by(20.4));
        assert!(clear.change_percent().is_some_and(|percent| (percent - 20.0).abs() < 0.1));
        assert_eq!((clear.needed_runs, clear.adjusted_p), (5, Some(2.0 / 252.0)));
        assert!(clear.interval_percent().is_some_and(|(low, high)| low < 20.0 && high > 20.0));
        assert_eq!(judged(&[0.0; 5], &[2.0; 5]).change_percent(), Some(f64::INFINITY));
    }

    /// Of many families of comparisons of equal sides at most about one in a hundred shows any difference.
    #[test]
    fn false_alarms_of_a_family() {
        let mut dice = fastrand::Rng::with_seed(11);
        let mut side = || -> Vec<f64> { (0..10).map(|_| 1.0 + dice.f64()).collect() };
        let alarms = (0..500).filter(|_| {
            let mut family: Vec<Comparison> = (0..12).map(|_| compared(&side(), &side())).collect();
            judge(&mut family.iter_mut().collect::<Vec<_>>(), MIN_EFFECT_PERCENT);
            family.iter().any(|c| c.beyond_noise() == Some(true))
        });
        let alarms = alarms.count();
        assert!(alarms <= 12, "{alarms} of 500");
    }

    #[test]
    fn runs_that_are_needed() {
        let spread = judged(&[100.0, 90.0, 110.0, 95.0, 105.0], &[100.0, 90.0, 110.0, 95.0, 105.0]);
        let (small, large) = (spread.runs_for(5.0).unwrap(), spread.runs_for(50.0).unwrap());
        assert!(small > 40 && (5..12).contains(&large), "{small} and {large}");
        assert_eq!(judged(&[1.0], &[2.0]).runs_for(5.0), None);
    }
}
