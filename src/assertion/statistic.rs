//! Statistics, which make one value of the values of all collections.

use crate::gc::summary::Samples;

/// How the values of all collections become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistic {
    Min,
    Max,
    Mean,
    Total,
    /// Nearest-rank percentile.
    Percentile(u8),
    First,
    Last,
}

impl Statistic {
    /// All statistics, by name.
    pub(crate) const ALL: [(&'static str, Statistic); 9] = [
        ("min", Statistic::Min),
        ("max", Statistic::Max),
        ("mean", Statistic::Mean),
        ("total", Statistic::Total),
        ("p50", Statistic::Percentile(50)),
        ("p90", Statistic::Percentile(90)),
        ("p99", Statistic::Percentile(99)),
        ("first", Statistic::First),
        ("last", Statistic::Last),
    ];

    /// The statistic with this name.
    pub(crate) fn named(name: &str) -> Option<Statistic> {
        Self::ALL.iter().find(|(of, _)| *of == name).map(|(_, statistic)| *statistic)
    }
}

/// Computes a statistic of values as they come; keeps all values only for a percentile.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    statistic: Statistic,
    count: u64,
    total: u64,
    min: Option<u64>,
    max: Option<u64>,
    first: Option<u64>,
    last: Option<u64>,
    samples: Samples,
}

impl Values {
    pub(crate) fn new(statistic: Statistic) -> Values {
        Values {
            statistic,
            count: 0,
            total: 0,
            min: None,
            max: None,
            first: None,
            last: None,
            samples: Samples::default(),
        }
    }

    pub(crate) fn add(&mut self, value: u64) {
        self.count += 1;
        self.total = self.total.saturating_add(value);
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = self.max.max(Some(value));
        self.first.get_or_insert(value);
        self.last = Some(value);
        if let Statistic::Percentile(_) = self.statistic {
            self.samples.add(value);
        }
    }

    /// The number of values.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The statistic; `None`: there are no values.
    pub(crate) fn result(&self) -> Option<f64> {
        let integer = match self.statistic {
            Statistic::Mean if self.count > 0 => return Some(self.total as f64 / self.count as f64),
            Statistic::Mean => None,
            Statistic::Total => (self.count > 0).then_some(self.total),
            Statistic::Min => self.min,
            Statistic::Max => self.max,
            Statistic::First => self.first,
            Statistic::Last => self.last,
            Statistic::Percentile(p) => self.samples.percentile(f64::from(p)),
        };
        integer.map(|n| n as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_known_values() {
        let of = |name: &str| {
            let mut values = Values::new(Statistic::named(name).unwrap());
            [4, 2, 9, 1, 4].into_iter().for_each(|v| values.add(v));
            values.result()
        };
        let expected = [
            ("min", 1.0),
            ("max", 9.0),
            ("mean", 4.0),
            ("total", 20.0),
            ("p50", 4.0),
            ("p90", 9.0),
            ("p99", 9.0),
            ("first", 4.0),
            ("last", 4.0),
        ];
        for (name, value) in expected {
            assert_eq!(of(name), Some(value), "{name}");
        }
        for (_, statistic) in Statistic::ALL {
            assert_eq!(Values::new(statistic).result(), None);
        }
    }
}
