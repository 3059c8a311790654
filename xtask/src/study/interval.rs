//! The interval of a share that was counted (Clopper and Pearson): exact, so it is never too narrow.

/// The share of experiments in which an end of the interval misses the true value.
const MISSED: f64 = 0.025;

/// The 95 % interval of a share of which `hits` of `n` were seen, from 0 to 1.
pub(super) fn of_share(hits: usize, n: usize) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    // The lowest share with which so many hits or more are not too rare, and the highest for so many or fewer.
    let low = if hits == 0 { 0.0 } else { solve(|share| 1.0 - at_most(hits - 1, n, share) < MISSED) };
    let high = if hits >= n { 1.0 } else { solve(|share| at_most(hits, n, share) >= MISSED) };
    (low, high)
}

/// The largest share for which the condition holds, where it holds below and not above.
fn solve(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The probability of at most `hits` in `n` (binomial distribution).
fn at_most(hits: usize, n: usize, share: f64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    if share >= 1.0 {
        return if hits >= n { 1.0 } else { 0.0 };
    }
    let mut ways_ln = 0.0;
    let mut sum = 0.0;
    for k in 0..=hits.min(n) {
        sum += (ways_ln + k as f64 * share.ln() + (n - k) as f64 * (-share).ln_1p()).exp();
        ways_ln += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_intervals() {
        // Tables of exact binomial limits at 95 %.
        for (hits, n, low, high) in [
            (0, 10, 0.0, 0.3085),
            (1, 10, 0.0025, 0.4450),
            (5, 10, 0.1871, 0.8129),
            (10, 10, 0.6915, 1.0),
            (0, 100, 0.0, 0.0362),
            (1, 100, 0.0003, 0.0545),
            (30, 30, 0.8843, 1.0),
        ] {
            let found = of_share(hits, n);
            let close = (found.0 - low).abs() < 1e-4 && (found.1 - high).abs() < 1e-4;
            assert!(close, "{hits} of {n}: {found:?}");
        }
        assert_eq!(of_share(0, 0), (0.0, 1.0));
    }

    #[test]
    fn the_interval_holds_the_share_and_mirrors() {
        for n in [1, 7, 100, 500] {
            for hits in 0..=n {
                let ((low, high), share) = (of_share(hits, n), hits as f64 / n as f64);
                assert!(low <= share && share <= high, "{hits} of {n}");
                let other = of_share(n - hits, n);
                assert!((low - (1.0 - other.1)).abs() < 1e-9, "{hits} of {n}");
            }
        }
    }
}
