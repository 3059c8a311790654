//! Compares two watches metric by metric.

use super::evaluation::Assertions;
use super::metric::{Metric, Unit, Value};
use super::noise::{self, Noise};
use super::parse::{self, Assertion, InvalidAssertion, Op};
use super::statistic::Statistic;
use crate::escape::escape_untrusted;
use crate::gc::facts::{Lost, Watch};
use crate::gc::record::{Gc, Level};
use crate::gc::summary::Summary;

/// The metrics that are always compared.
const DEFAULT_METRICS: [&str; 33] = [
    "pause.p50",
    "pause.p90",
    "pause.p99",
    "pause.max",
    "pause.mean",
    "pause.total",
    "pause.percent",
    "suspend.p99",
    "gc.count",
    "gc.gen0.count",
    "gc.gen1.count",
    "gc.gen2.count",
    "gc.induced.count",
    "alloc.total",
    "gc.per_gib",
    "gen2.per_gib",
    "pause.per_gib",
    "promoted.percent",
    "heap.live.max",
    "heap.after.max",
    "heap.after.last",
    "heap.growth.percent",
    "committed.max",
    "promoted.mean",
    "frag.gen2.percent",
    "moved.bytes.mean",
    "surviving.bytes.mean",
    "pinned.p50",
    "roots.stack.p50",
    "roots.handle.p50",
    "roots.finalizer.p50",
    "roots.pinning.p50",
    "lost",
];

/// One metric of both watches.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) before: Option<f64>,
    pub(crate) after: Option<f64>,
    /// The lengths of both watches in seconds, if they differ and the metric grows with the length.
    pub(crate) per_second: Option<(f64, f64)>,
    pub(crate) noise: Noise,
}

impl Row {
    /// `before`, scaled to the length of the second watch.
    fn base(&self) -> Option<f64> {
        Some(self.before? * self.per_second.map_or(1.0, |(before_s, after_s)| after_s / before_s))
    }

    /// `after` minus the scaled `before`.
    pub(crate) fn change(&self) -> Option<f64> {
        Some(self.after? - self.base()?)
    }

    /// The change in percent of the scaled `before`; infinite if that is 0.
    pub(crate) fn change_percent(&self) -> Option<f64> {
        let (before, change) = (self.base()?, self.change()?);
        Some(if change == 0.0 { 0.0 } else { change / before.abs() * 100.0 })
    }

    /// Both values per second. `None`: they are not scaled.
    pub(crate) fn rates(&self) -> Option<(Option<f64>, Option<f64>)> {
        let (before_s, after_s) = self.per_second?;
        Some((self.before.map(|value| value / before_s), self.after.map(|value| value / after_s)))
    }
}

/// Watches whose lengths differ by at most this share count as equally long.
const MAX_LENGTH_DIFFERENCE: f64 = 0.01;

/// The lengths of both watches in seconds; `None`: they are equally long, or one is unknown.
fn lengths(before: &Watch, after: &Watch) -> Option<(f64, f64)> {
    let seconds = |watch: &Watch| watch.duration_ns.filter(|ns| *ns > 0).map(|ns| ns as f64 / 1e9);
    let (before_s, after_s) = (seconds(before)?, seconds(after)?);
    let differ = (before_s - after_s).abs() > MAX_LENGTH_DIFFERENCE * before_s.max(after_s);
    differ.then_some((before_s, after_s))
}

/// A metric to compare, with its statistic.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    name: String,
    metric: &'static Metric,
    statistic: Option<Statistic>,
}

/// The default metrics, and those of the assertions.
pub(crate) fn wanted(assertions: &[ChangeAssertion]) -> Vec<Wanted> {
    named(DEFAULT_METRICS.into_iter().chain(assertions.iter().map(|assertion| assertion.name.as_str())))
}

/// The metrics with these names, each once.
pub(crate) fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for name in names {
        if all.iter().any(|w| w.name == name) {
            continue;
        }
        if let Ok((metric, statistic)) = parse::metric(name) {
            all.push(Wanted { name: name.to_owned(), metric, statistic });
        }
    }
    all
}

/// One of the two watches.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    wanted: Vec<Wanted>,
    assertions: Assertions,
    /// The values of each wanted metric that has one per collection.
    values: Vec<Vec<u64>>,
    pub(crate) summary: Summary,
}

impl Side {
    pub(crate) fn new(wanted: &[Wanted]) -> Side {
        let assertions = wanted.iter().map(|w| Assertion {
            text: w.name.clone(),
            metric: w.metric,
            statistic: w.statistic,
            op: Op::Ge,
            limit: 0.0,
        });
        Side {
            wanted: wanted.to_vec(),
            assertions: Assertions::new(assertions),
            values: vec![Vec::new(); wanted.len()],
            summary: Summary::default(),
        }
    }

    /// Adds a collection; only complete ones count.
    pub(crate) fn add(&mut self, gc: &Gc) {
        self.summary.add(gc);
        if !gc.complete() {
            return;
        }
        self.assertions.add(gc);
        for (wanted, values) in self.wanted.iter().zip(&mut self.values) {
            if let Value::PerGc(of) = wanted.metric.value {
                values.extend(of(gc));
            }
        }
    }
}

impl Wanted {
    /// Its name, with the statistic.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn unit(&self) -> Unit {
        self.metric.unit
    }
}

impl Side {
    /// The values of the wanted metrics, in their order. `None`: unknown.
    pub(crate) fn values(&self, lost: &Lost, watch: &Watch) -> Vec<Option<f64>> {
        self.assertions.judge(&self.summary, lost, watch).into_iter().map(|verdict| verdict.value).collect()
    }
}

/// Compares the metrics for which at least one side has a value.
pub(crate) fn rows(before: (&Side, &Lost, &Watch), after: (&Side, &Lost, &Watch)) -> Vec<Row> {
    let values = |(side, lost, watch): (&Side, &Lost, &Watch)| side.values(lost, watch);
    let (old, new) = (values(before), values(after));
    let wanted = before.0.wanted.iter().enumerate();
    let lengths = lengths(before.2, after.2);
    wanted
        .map(|(n, wanted)| {
            let noise = match (wanted.metric.value, wanted.statistic) {
                (Value::PerGc(_), Some(statistic)) => {
                    noise::of_values(&before.0.values[n], &after.0.values[n], statistic)
                }
                (Value::Count(_), _) => {
                    let times = lengths.map_or(1.0, |(before_s, after_s)| after_s / before_s);
                    noise::of_counts(old[n].unwrap_or(0.0) as u64, new[n].unwrap_or(0.0) as u64, times)
                }
                _ => Noise { test: noise::Test::Untested("one value a run"), beyond: None },
            };
            let adds_up = matches!(wanted.metric.value, Value::Count(_) | Value::Lost)
                || wanted.statistic == Some(Statistic::Total);
            Row {
                name: wanted.name.clone(),
                unit: wanted.metric.unit,
                before: old[n],
                after: new[n],
                per_second: lengths.filter(|_| adds_up),
                noise,
            }
        })
        .filter(|row| row.before.is_some() || row.after.is_some())
        .collect()
}

/// A change that makes `diff` fail: `pause.p99 > +10%`, `gc.gen2.count > 0`, `heap.after.last > +16MiB`.
#[derive(Debug, Clone)]
pub(crate) struct ChangeAssertion {
    pub(crate) text: String,
    pub(crate) name: String,
    metric: &'static Metric,
    op: Op,
    limit: f64,
    /// The limit is a percentage of the value before, otherwise a difference.
    relative: bool,
}

impl std::str::FromStr for ChangeAssertion {
    type Err = InvalidAssertion;

    fn from_str(text: &str) -> Result<ChangeAssertion, InvalidAssertion> {
        // Every metric can change by a percentage.
        let text = text.trim();
        let percent = text.ends_with('%');
        let assertion: Assertion =
            if percent { Assertion::parse_as(text, Unit::Percent)? } else { text.parse()? };
        let name = text.split(['<', '>', '=', '!']).next().unwrap_or_default().trim().to_owned();
        // Who thinks of `--assert` would get a bound that no regression breaks.
        let is_growth = matches!(assertion.op, Op::Lt | Op::Le) && assertion.limit >= 0.0;
        if is_growth || assertion.op == Op::Eq {
            return Err(InvalidAssertion {
                what: format!("`{}` names no change that must not occur", escape_untrusted(text)),
                remedy: "give what must not occur: `> +10%` for growth, `< -10%` for a drop".to_owned(),
            });
        }
        // A metric in percent changes by percentage points.
        let relative = percent && assertion.metric.unit != Unit::Percent;
        Ok(ChangeAssertion {
            text: escape_untrusted(text),
            name,
            metric: assertion.metric,
            op: assertion.op,
            limit: assertion.limit,
            relative,
        })
    }
}

impl ChangeAssertion {
    /// Whether the change makes `diff` fail; `None`: the change is not known.
    fn fails(&self, rows: &[Row]) -> Option<bool> {
        let row = rows.iter().find(|row| row.name == self.name)?;
        Some(self.forbids(row.change()?, row.change_percent()?))
    }

    /// What its metric is measured in.
    pub(crate) fn unit(&self) -> Unit {
        self.metric.unit
    }

    /// The lowest level that sees its metric.
    pub(crate) fn level(&self) -> Level {
        self.metric.level
    }

    /// Whether a change is one that must not occur. The change is in the metric's unit, and in percent of the value before.
    pub(crate) fn forbids(&self, change: f64, change_percent: f64) -> bool {
        self.op.holds(if self.relative { change_percent } else { change }, self.limit)
    }

    /// The change of the bound in percent of the value before, if it is given so and is not 0.
    pub(crate) fn bound_percent(&self) -> Option<f64> {
        Some(self.limit.abs()).filter(|percent| self.relative && *percent > 0.0)
    }

    /// The verdict on it.
    pub(crate) fn verdict(&self, rows: &[Row]) -> ChangeVerdict {
        ChangeVerdict { text: self.text.clone(), name: self.name.clone(), fails: self.fails(rows) }
    }
}

/// The verdict on an assertion about a change.
#[derive(Debug, Clone)]
pub(crate) struct ChangeVerdict {
    /// As it was typed.
    pub(crate) text: String,
    /// The metric it is about.
    pub(crate) name: String,
    /// `None`: it could not be judged.
    pub(crate) fails: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::generation::Generation;
    use crate::gc::record::{Kind, Level};

    fn side(pauses: &[u64], wanted: &[Wanted]) -> Side {
        let mut side = Side::new(wanted);
        for (n, pause) in pauses.iter().enumerate() {
            let mut gc = Gc::unknown(Level::Basic);
            gc.number = Some(n as u32 + 1);
            gc.generation = Some(Generation::GEN0);
            gc.kind = Some(Kind::Blocking);
            gc.pause_ns = Some(*pause);
            side.add(&gc);
        }
        side
    }

    #[test]
    fn the_default_names_are_metrics() {
        assert_eq!(wanted(&[]).len(), DEFAULT_METRICS.len());
        assert!(DEFAULT_METRICS.iter().all(|name| parse::metric(name).is_ok()));
        assert!(super::super::METRICS.len() > DEFAULT_METRICS.len());
    }

    #[test]
    fn changes_and_assertions_on_them() {
        let assertions: Vec<ChangeAssertion> = [
            "pause.max > +10%",
            "pause.max > +60%",
            "pause.max > +4ns",
            "gc.count > 0",
            "pause.gen2.max > 1%",
            "lost > 10%",
        ]
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
        let wanted = wanted(&assertions);
        let (lost, watch) = (Lost::default(), Watch::default());
        let (before, after) = (side(&[10, 8], &wanted), side(&[15, 3], &wanted));
        let rows = rows((&before, &lost, &watch), (&after, &lost, &watch));
        let max = rows.iter().find(|r| r.name == "pause.max").unwrap();
        assert_eq!((max.change(), max.change_percent()), (Some(5.0), Some(50.0)));
        let fails: Vec<Option<bool>> = assertions.iter().map(|b| b.fails(&rows)).collect();
        assert_eq!(fails, [Some(true), Some(false), Some(true), Some(false), None, Some(false)]);
        // The second watch is twice as long, so the same count is half the rate.
        let lasting = |s: u64| Watch { duration_ns: Some(s * 1_000_000_000), ..watch.clone() };
        let rows = super::rows((&before, &lost, &lasting(10)), (&after, &lost, &lasting(20)));
        let row = |name: &str| rows.iter().find(|r| r.name == name).unwrap();
        assert_eq!((row("gc.count").change(), row("gc.count").change_percent()), (Some(-2.0), Some(-50.0)));
        assert_eq!(row("gc.count").rates(), Some((Some(0.2), Some(0.1))));
        assert_eq!(row("pause.total").change(), Some(-18.0));
        assert_eq!((row("pause.max").change(), row("pause.max").rates()), (Some(5.0), None));
        assert_eq!(lengths(&lasting(1000), &lasting(1009)), None);
        assert!("pause.max > +10MiB".parse::<ChangeAssertion>().is_err());
        assert!("puase.max > +10%".parse::<ChangeAssertion>().is_err());
    }
}
