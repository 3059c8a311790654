//! Figures of collections in their order, in bounded memory.

/// Values that are kept. Of more, only each second, fourth, eighth ... is.
const MAX_VALUES: usize = 4096;

/// A value of each collection; of very many, evenly chosen ones.
#[derive(Debug, Default)]
pub(super) struct Series {
    values: Vec<f64>,
    /// Every how many-th value is kept, as a power of two.
    thinned: u32,
    added: u64,
}

impl Series {
    pub(super) fn add(&mut self, value: f64) {
        if self.added & ((1 << self.thinned) - 1) == 0 {
            self.values.push(value);
        }
        self.added += 1;
        if self.values.len() == MAX_VALUES {
            let mut index = 0;
            self.values.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.thinned += 1;
        }
    }

    /// All values that were added.
    pub(super) fn count(&self) -> u64 {
        self.added
    }

    pub(super) fn median(&self) -> Option<f64> {
        median(&self.values)
    }

    /// The value that a quarter of all values reach.
    pub(super) fn upper_quartile(&self) -> Option<f64> {
        quantile(&self.values, 0.75)
    }

    /// The medians of the first, the second and the last third; `None`: there are fewer than three values.
    pub(super) fn thirds(&self) -> Option<[f64; 3]> {
        let (first, rest) = self.values.split_at(self.values.len() / 3);
        let (second, last) = rest.split_at(rest.len() / 2);
        Some([median(first)?, median(second)?, median(last)?])
    }
}

fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() as f64 * part) as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_series_keep_their_order_and_shape() {
        let mut series = Series::default();
        assert_eq!((series.median(), series.thirds()), (None, None));
        for value in 0..1_000_000 {
            series.add(f64::from(value));
        }
        assert!(series.values.len() <= MAX_VALUES && series.values.is_sorted());
        let thirds = series.thirds().expect("there are many").map(|value| (value / 1e6 * 100.0).round());
        assert_eq!(thirds, [17.0, 50.0, 83.0]);
        assert_eq!(series.count(), 1_000_000);
    }
}
