//! Sizes and distances, 16 steps per power of two. The steps are the profiler's own
//! ([`netcore_profiler::wire::histogram`]), so that every level gives the same percentiles.

use netcore_profiler::wire::histogram as steps;

/// Counts by step; minimum, maximum, number and sum are exact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    /// (number of values, sum of values) by step, up to the highest that has any: recordings hold millions of ranges,
    /// and each is counted here.
    steps: Vec<(u64, u64)>,
    range: Option<(u64, u64)>,
}

impl Histogram {
    /// Counts one value.
    #[cfg(test)]
    pub(crate) fn add(&mut self, value: u64) {
        self.add_step(steps::bucket(value), 1, value);
        self.widen(value, value);
    }

    /// Counts many values, faster than one by one.
    pub(crate) fn many(&mut self) -> Counting<'_> {
        let (min, max) = self.range.unwrap_or((u64::MAX, 0));
        Counting { of: self, min, max }
    }

    /// Adds values that were counted elsewhere to a step. Larger numbers stand for the last step.
    pub(crate) fn add_step(&mut self, step: u16, count: u64, sum: u64) {
        let index = usize::from(step).min(steps::BUCKETS - 1);
        if index >= self.steps.len() {
            self.steps.resize(index + 1, (0, 0));
        }
        let entry = &mut self.steps[index];
        entry.0 = entry.0.saturating_add(count);
        entry.1 = entry.1.saturating_add(sum);
    }

    /// Adds the first value of a step beyond the last one.
    #[cold]
    fn first(&mut self, index: usize, count: u64, sum: u64) {
        self.steps.resize(index + 1, (0, 0));
        self.steps[index] = (count, sum);
    }

    /// The steps that hold values: step, number and sum.
    fn filled(&self) -> impl Iterator<Item = (u16, u64, u64)> {
        let all = (0_u16..).zip(&self.steps).map(|(step, &(count, sum))| (step, count, sum));
        all.filter(|&(_, count, _)| count > 0)
    }

    /// Adds an exact minimum and maximum.
    pub(crate) fn widen(&mut self, min: u64, max: u64) {
        self.range = Some(match self.range {
            None => (min, max),
            Some((a, b)) => (a.min(min), b.max(max)),
        });
    }

    /// Adds all of another histogram.
    pub(crate) fn merge(&mut self, other: &Histogram) {
        for (step, count, sum) in other.filled() {
            self.add_step(step, count, sum);
        }
        if let Some((min, max)) = other.range {
            self.widen(min, max);
        }
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        self.steps.iter().map(|s| s.0).fold(0, u64::saturating_add)
    }

    /// Smallest value, exact.
    pub(crate) fn min(&self) -> Option<u64> {
        self.range.map(|r| r.0)
    }

    /// Largest value, exact.
    pub(crate) fn max(&self) -> Option<u64> {
        self.range.map(|r| r.1)
    }

    /// Nearest-rank percentile: the upper end of its step, at most 6.25 % too high and never above
    /// the maximum.
    pub(crate) fn percentile(&self, percent: f64) -> Option<u64> {
        let (_, max) = self.range?;
        let rank = ((percent / 100.0 * self.count() as f64).ceil() as u64).max(1);
        let mut seen = 0_u64;
        for (step, count, _) in self.filled() {
            seen = seen.saturating_add(count);
            if seen >= rank {
                return Some(steps::upper_end(step).min(max));
            }
        }
        Some(max)
    }

    /// Coarser rows: for each bound, the values above the bound before it and not above this one;
    /// a last row, `None`, for the rest. Bounds have to be ends of steps (powers of two are).
    pub(crate) fn rows(&self, bounds: &[u64]) -> Vec<(Option<u64>, u64, u64)> {
        let mut rows: Vec<(Option<u64>, u64, u64)> =
            bounds.iter().map(|&b| (Some(b), 0, 0)).chain([(None, 0, 0)]).collect();
        for (step, count, sum) in self.filled() {
            let end = steps::upper_end(step);
            let row = bounds.partition_point(|&b| b < end);
            rows[row].1 = rows[row].1.saturating_add(count);
            rows[row].2 = rows[row].2.saturating_add(sum);
        }
        rows
    }
}

/// Counts values. Minimum and maximum are written to the histogram at the end.
pub(crate) struct Counting<'a> {
    of: &'a mut Histogram,
    min: u64,
    max: u64,
}

impl Counting<'_> {
    /// Counts one value.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.widen(value);
        self.count(step(value), 1, value);
    }

    /// Counts four, with their sum. Neighbours are often of one size: to count them in one step four times, each time
    /// would have to wait for the time before.
    #[inline]
    pub(crate) fn add_four(&mut self, values: [u64; 4], sum: u64) {
        let [a, b, c, d] = values;
        self.min = self.min.min(a.min(b)).min(c.min(d));
        self.max = self.max.max(a.max(b)).max(c.max(d));
        // Not by `map`, which is a call for four.
        let [a, b, c, d] = [step(a), step(b), step(c), step(d)];
        if a == b && c == d && a == c {
            self.count(a, 4, sum);
        } else {
            self.count(a, 1, values[0]);
            self.count(b, 1, values[1]);
            self.count(c, 1, values[2]);
            self.count(d, 1, values[3]);
        }
    }

    #[inline]
    fn widen(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    #[inline]
    fn count(&mut self, step: usize, count: u64, sum: u64) {
        match self.of.steps.get_mut(step) {
            Some(entry) => {
                entry.0 = entry.0.saturating_add(count);
                entry.1 = entry.1.saturating_add(sum);
            }
            None => self.of.first(step, count, sum),
        }
    }

    /// Writes minimum and maximum.
    pub(crate) fn end(self) {
        if self.min <= self.max {
            self.of.range = Some((self.min, self.max));
        }
    }
}

/// [`steps::bucket`], in half as many instructions for all but the smallest and largest values: a floating-point number
/// begins with the exponent and the mantissa that make a step.
#[inline]
fn step(value: u64) -> usize {
    /// Up to here a floating-point number is exact.
    const EXACT: u64 = 1 << 53;
    /// Exponent 4 at the head of a floating-point number, and its first step.
    const HEAD: u64 = (1023 + 4) << 4;
    const FIRST: u64 = 17;
    let x = value.wrapping_sub(1);
    if x.wrapping_sub(16) < EXACT - 16 {
        ((x as i64 as f64).to_bits() >> 48).wrapping_sub(HEAD - FIRST) as usize
    } else {
        usize::from(steps::bucket(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ends_of_steps_and_bounds_are_exact() {
        let mut h = Histogram::default();
        assert_eq!(h.percentile(50.0), None);
        for v in [24, 24, 32, 40, 1000] {
            h.add(v);
        }
        assert_eq!((h.min(), h.max(), h.count()), (Some(24), Some(1000), 5));
        assert_eq!(h.percentile(50.0), Some(32));
        assert_eq!(h.percentile(99.0), Some(1000));
        assert_eq!(h.rows(&[24, 64]), [(Some(24), 2, 48), (Some(64), 2, 72), (None, 1, 1000)]);
    }

    #[test]
    fn steps_beyond_the_last_one_take_no_memory_and_do_no_harm() {
        let mut h = Histogram::default();
        h.widen(1, u64::MAX);
        for step in [u16::MAX, 977, 976] {
            h.add_step(step, u64::MAX, u64::MAX);
        }
        assert_eq!(h.steps.len(), steps::BUCKETS);
        assert_eq!((h.count(), h.percentile(50.0)), (u64::MAX, Some(u64::MAX)));
        assert_eq!(h.rows(&[64]), [(Some(64), 0, 0), (None, u64::MAX, u64::MAX)]);
    }

    #[test]
    fn merging_equals_counting_together() {
        let (mut a, mut b, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        for v in 1..2000u64 {
            if v % 3 == 0 {
                a.add(v * v)
            } else {
                b.add(v * v)
            }
            both.add(v * v);
        }
        a.merge(&b);
        assert_eq!(a, both);
        let mut again = Histogram::default();
        for (n, values) in [1..700_u64, 700..700, 700..1200, 1200..2000].into_iter().enumerate() {
            let mut many = again.many();
            if n < 3 {
                values.for_each(|v| many.add(v * v));
            } else {
                values.step_by(4).for_each(|v| {
                    let four = [v, v + 1, v + 2, v + 3].map(|v| v * v);
                    many.add_four(four, four.iter().sum());
                });
            }
            many.end();
        }
        assert_eq!(again, both);
    }

    #[test]
    fn steps_are_those_of_the_profiler() {
        let ends = (0..64).flat_map(|shift| (0..=40_u64).map(move |n| (n << shift).wrapping_sub(20)));
        for value in ends.chain(0..5_000).chain([u64::MAX, u64::MAX - 1]) {
            assert_eq!(step(value), usize::from(steps::bucket(value)), "{value:#x}");
        }
        for shift in 0..64 {
            for value in (0..34_u64).map(|n| n << shift) {
                for near in [value.wrapping_sub(1), value, value.wrapping_add(1)] {
                    assert_eq!(step(near), usize::from(steps::bucket(near)), "{near:#x}");
                }
            }
        }
        let mut many = Histogram::default();
        let mut four = many.many();
        four.add_four([32, 32, 32, 31], 127);
        four.add_four([u64::MAX; 4], u64::MAX);
        four.end();
        assert_eq!((many.count(), many.min(), many.max()), (8, Some(31), Some(u64::MAX)));
        assert_eq!(many.rows(&[64]), [(Some(64), 4, 127), (None, 4, u64::MAX)]);
    }
}
