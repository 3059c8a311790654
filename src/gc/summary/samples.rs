//! Lists of values with exact percentiles.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Values that mostly differ, such as pauses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Samples {
    pub(super) sorted: Vec<u64>,
    /// Not merged yet: to insert each value by itself would move half of the list.
    fresh: Vec<u64>,
    pub(super) total: u64,
}

impl Samples {
    /// Adds one value.
    pub(crate) fn add(&mut self, value: u64) {
        self.total = self.total.saturating_add(value);
        self.fresh.push(value);
        if self.fresh.len() > self.sorted.len() / 1024 {
            self.merge();
        }
    }

    /// Merges the fresh values, the largest first: sorted values that are larger than all of them are not moved.
    fn merge(&mut self) {
        self.fresh.sort_unstable();
        let mut end = self.sorted.len();
        let mut shift = self.fresh.len();
        self.sorted.resize(end + shift, 0);
        for value in self.fresh.drain(..).rev() {
            let at = self.sorted[..end].partition_point(|sorted| *sorted <= value);
            self.sorted.copy_within(at..end, at + shift);
            shift -= 1;
            self.sorted[at + shift] = value;
            end = at;
        }
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        (self.sorted.len() + self.fresh.len()) as u64
    }

    /// Sum of the values.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The largest value.
    pub(crate) fn max(&self) -> Option<u64> {
        self.sorted.last().into_iter().chain(&self.fresh).max().copied()
    }

    /// Nearest-rank percentile, exact.
    pub(crate) fn percentile(&self, percent: f64) -> Option<u64> {
        let sorted = self.in_order();
        nearest_rank(percent, sorted.len() as u64).map(|rank| sorted[rank as usize - 1])
    }

    /// As [`Samples::percentile`], of those values that are already in order: all but the last
    /// thousandth. Cheap enough to ask at every collection.
    pub(crate) fn percentile_so_far(&self, percent: f64) -> Option<u64> {
        nearest_rank(percent, self.sorted.len() as u64).map(|rank| self.sorted[rank as usize - 1])
    }

    pub(super) fn in_order(&self) -> Cow<'_, [u64]> {
        if self.fresh.is_empty() {
            return Cow::Borrowed(&self.sorted);
        }
        let mut all = [self.sorted.as_slice(), &self.fresh].concat();
        all.sort();
        Cow::Owned(all)
    }
}

/// Values that repeat, such as numbers of roots.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    /// Value to how often it came.
    values: BTreeMap<u64, u64>,
    count: u64,
}

impl Tally {
    pub(super) fn add(&mut self, value: u64) {
        *self.values.entry(value).or_default() += 1;
        self.count += 1;
    }

    pub(super) fn add_known(&mut self, value: Option<u64>) {
        value.into_iter().for_each(|value| self.add(value));
    }

    /// Nearest-rank percentile, exact.
    pub(crate) fn percentile(&self, percent: f64) -> Option<u64> {
        let mut left = nearest_rank(percent, self.count)?;
        for (&value, &count) in &self.values {
            if left <= count {
                return Some(value);
            }
            left -= count;
        }
        None
    }

    /// The value in the middle.
    pub(crate) fn median(&self) -> Option<u64> {
        self.percentile(50.0)
    }

    /// The largest value.
    pub(crate) fn max(&self) -> Option<u64> {
        self.values.last_key_value().map(|(&value, _)| value)
    }
}

/// The rank, from 1, of a percentile among `count` values in order.
pub(crate) fn nearest_rank(percent: f64, count: u64) -> Option<u64> {
    (count > 0).then(|| ((percent / 100.0 * count as f64).ceil() as u64).clamp(1, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank_whatever_the_order() {
        let mut samples = Samples::default();
        assert_eq!(samples.percentile(50.0), None);
        // 1..=5000 in a scrambled order: 1009 is coprime to 5000.
        for i in 0..5000u64 {
            samples.add(i * 1009 % 5000 + 1);
        }
        assert_eq!((samples.count(), samples.total()), (5000, 5000 * 5001 / 2));
        for (percent, value) in [(0.0, 1), (50.0, 2500), (90.0, 4500), (99.0, 4950), (99.99, 5000)] {
            assert_eq!(samples.percentile(percent), Some(value), "p{percent}");
        }
        assert_eq!(samples.max(), Some(5000));
        let mut tally = Tally::default();
        (1..=10).for_each(|v| tally.add(v / 2));
        assert_eq!((tally.median(), tally.max()), (Some(2), Some(5)));
    }
}
