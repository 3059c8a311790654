//! Medians, and ratios with their intervals.

use serde::{Deserialize, Serialize};

/// The middle value; of an even number of values the mean of the middle two.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some(f64::midpoint(sorted[middle - 1], upper)) }
}

/// A value and its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// How many times as large `values` are as `against`: the median of the rounds' ratios, and the 95 % interval of that
/// median. A ratio per round is robust, because what disturbs a machine usually lasts longer than a round.
pub(crate) fn ratio(values: &[f64], against: &[f64]) -> Option<Estimate> {
    let pairs = values.iter().zip(against).filter(|(_, against)| **against > 0.0);
    let mut ratios: Vec<f64> = pairs.map(|(value, against)| value / against).collect();
    ratios.sort_by(f64::total_cmp);
    let value = median(&ratios)?;
    let outside = outside(ratios.len());
    Some(Estimate { value, low: ratios[outside], high: ratios[ratios.len() - 1 - outside] })
}

/// How many of the smallest, and how many of the largest values lie outside the 95 % interval of a median. This is the
/// sign test: in any distribution, each value is below the median with a probability of one half. Fewer than six values
/// do not reach 95 %, even if the interval holds them all.
fn outside(count: usize) -> usize {
    // The probability that exactly `outside` values lie below the median; as a logarithm, because it can be tiny.
    let mut chance_ln = count as f64 * 0.5_f64.ln();
    let mut at_most = 0.0;
    for outside in 0..count / 2 {
        at_most += chance_ln.exp();
        if 2.0 * at_most > 0.05 {
            return outside.saturating_sub(1);
        }
        chance_ln += ((count - outside) as f64 / (outside + 1) as f64).ln();
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn a_ratio_compares_rounds_and_lies_within_its_interval() {
        // A machine that becomes twice as slow during the run does not change the ratio.
        let none = [10.0, 10.1, 20.0, 20.2, 20.0];
        let tool: Vec<f64> = none.iter().map(|value| value * 1.1).collect();
        let found = ratio(&tool, &none).unwrap();
        assert!((found.value - 1.1).abs() < 1e-9 && (found.high - found.low).abs() < 1e-9);
        let noisy = ratio(&[9.0, 11.0, 10.0, 12.0, 8.0], &[10.0; 5]).unwrap();
        assert!(noisy.low < 1.0 && noisy.high > 1.0, "{noisy:?}");
        assert_eq!(ratio(&[], &[]), None);
    }

    #[test]
    fn intervals_of_medians() {
        // From tables of the sign test: number of values, and how many are outside at each end.
        for (count, out) in
            [(0, 0), (1, 0), (4, 0), (6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (25, 7), (100, 39)]
        {
            assert_eq!(outside(count), out, "{count}");
        }
        assert!((450..500).contains(&outside(1000)));
    }
}
