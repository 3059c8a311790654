//! Wilcoxon's rank-sum test (Mann and Whitney's U), two-sided. Equal values share the mean of their ranks.

use super::normal;

/// Up to so many values in all the test is exact: it counts all ways to deal the ranks out.
const MAX_EXACT: usize = 60;

/// Tests whether values of `a` and of `b` come from one distribution. The result is the probability that two such sides
/// differ at least as much. `None`: a side has no value.
pub(super) fn p_value(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let ranks = doubled_ranks(few, many);
    let all = ranks.len();
    let sum: usize = ranks[..few.len()].iter().sum();
    // Doubled ranks have the mean `all + 1`.
    let expected = few.len() * (all + 1);
    let distance = sum.abs_diff(expected);
    if distance == 0 {
        return Some(1.0);
    }
    Some(if all <= MAX_EXACT {
        let ways = ways(&ranks, few.len());
        let far = ways.iter().enumerate().filter(|(sum, _)| sum.abs_diff(expected) >= distance);
        far.map(|(_, ways)| ways).sum::<f64>() / ways.iter().sum::<f64>()
    } else {
        approximate(&ranks, few.len(), distance)
    })
}

/// The smallest result that the test can have with so many runs on the two sides.
pub(super) fn smallest_p([few, many]: [usize; 2]) -> f64 {
    // Two of all ways to deal the ranks out: all of a side are below, or all above those of the other.
    let ways = (1..=few).fold(1.0, |product, n| product * (many + n) as f64 / n as f64);
    (2.0 / ways).min(1.0)
}

/// The ranks of all values, those of `few` first, each doubled so that shared ranks are whole.
fn doubled_ranks(few: &[f64], many: &[f64]) -> Vec<usize> {
    let values: Vec<f64> = few.iter().chain(many).copied().collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|x, y| values[*x].total_cmp(&values[*y]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|x, y| values[*x] == values[*y]) {
        for place in group {
            // The mean of the ranks `first + 1` to `first + len`.
            ranks[*place] = 2 * first + group.len() + 1;
        }
        first += group.len();
    }
    ranks
}

/// For each sum: how many ways there are to choose `count` of these numbers with that sum.
pub(super) fn ways(numbers: &[usize], count: usize) -> Vec<f64> {
    let most: usize = numbers.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; count + 1];
    ways[0][0] = 1.0;
    for (seen, number) in numbers.iter().enumerate() {
        for chosen in (1..=count.min(seen + 1)).rev() {
            let (without, with) = ways.split_at_mut(chosen);
            let from = &without[chosen - 1][..=most - number];
            with[0][*number..].iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }
    ways.pop().unwrap_or_default()
}

/// The normal approximation, corrected for equal ranks.
fn approximate(ranks: &[usize], few: usize, distance: usize) -> f64 {
    let all = ranks.len() as f64;
    let mean = all + 1.0;
    let squares: f64 = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum();
    let many = all - few as f64;
    let variance = few as f64 * many / (all * (all - 1.0)) * squares;
    // Half a rank of the distance, because sums are whole.
    let z = (distance as f64 - 1.0).max(0.0) / variance.sqrt();
    (2.0 * normal::above(z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Deals the values out in every way, and counts those that differ at least as much.
    fn by_brute_force(a: &[f64], b: &[f64]) -> f64 {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        let rank = |value: f64| {
            let below = all.iter().filter(|v| **v < value).count() as f64;
            let equal = all.iter().filter(|v| **v == value).count() as f64;
            below + (equal + 1.0) / 2.0
        };
        let expected = a.len() as f64 * (all.len() as f64 + 1.0) / 2.0;
        let distance = |chosen: u32| {
            let of = (0..all.len()).filter(|n| chosen >> n & 1 == 1);
            (of.map(|n| rank(all[n])).sum::<f64>() - expected).abs()
        };
        let seen = distance((1 << a.len()) - 1);
        let deals: Vec<u32> =
            (0..1u32 << all.len()).filter(|deal| deal.count_ones() as usize == a.len()).collect();
        deals.iter().filter(|deal| distance(**deal) >= seen - 1e-9).count() as f64 / deals.len() as f64
    }

    proptest! {
        #[test]
        fn is_what_all_deals_give(
            a in prop::collection::vec(0u8..9, 1..6),
            b in prop::collection::vec(0u8..9, 1..6),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) =
                (a.into_iter().map(f64::from).collect(), b.into_iter().map(f64::from).collect());
            let p = p_value(&a, &b).unwrap();
            prop_assert!((p - by_brute_force(&a, &b)).abs() < 1e-9, "{p}");
            prop_assert_eq!(p, p_value(&b, &a).unwrap());
        }
    }

    /// The largest U that is significant at 5 % and at 1 %, two-sided, with equal sides (Mann and Whitney's tables).
    #[test]
    fn published_critical_values() {
        for (runs, at_5, at_1) in [
            (4, Some(0), None),
            (5, Some(2), Some(0)),
            (6, Some(5), Some(2)),
            (8, Some(13), Some(7)),
            (10, Some(23), Some(16)),
            (20, Some(127), Some(105)),
        ] {
            let numbers: Vec<usize> = (1..=2 * runs).collect();
            let ways = ways(&numbers, runs);
            let total: f64 = ways.iter().sum();
            let lowest = runs * (runs + 1) / 2;
            let tail = |u: usize| 2.0 * ways[..=lowest + u].iter().sum::<f64>() / total;
            for (critical, level) in [(at_5, 0.05), (at_1, 0.01)] {
                match critical {
                    Some(u) => assert!(tail(u) <= level && tail(u + 1) > level, "{runs} at {level}"),
                    None => assert!(tail(0) > level, "{runs} at {level}"),
                }
            }
            assert!((smallest_p([runs; 2]) / tail(0) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn many_values_give_nearly_the_same_as_counting() {
        let a: Vec<f64> = (0..30).map(|n| f64::from(n * n % 37)).collect();
        let b: Vec<f64> = (0..30).map(|n| f64::from(n * n % 41) + 6.0).collect();
        let exact = p_value(&a, &b).unwrap();
        let ranks = doubled_ranks(&a, &b);
        let distance = ranks[..30].iter().sum::<usize>().abs_diff(30 * 61);
        let near = approximate(&ranks, 30, distance);
        assert!((0.001..0.5).contains(&exact), "{exact}");
        assert!((near / exact - 1.0).abs() < 0.1, "{near} against {exact}");
        assert_eq!(p_value(&[1.0; 40], &[1.0; 40]), Some(1.0));
        assert_eq!(p_value(&[], &[1.0]), None);
        let smallest = [[0, 9], [1, 1], [5, 5], [4, 6], [6, 4]].map(smallest_p);
        assert_eq!(smallest, [1.0, 1.0, 2.0 / 252.0, 2.0 / 210.0, 2.0 / 210.0]);
    }
}
