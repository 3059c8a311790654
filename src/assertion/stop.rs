//! `--stop-on`: conditions on single collections that end a watch or keep its recording, such as `pause > 200ms`.

use std::str::FromStr;

use super::disturbance::{Disturbance, disturbances};
use super::metric::{METRICS, Metric, Value};
use super::parse::{InvalidAssertion, Op, comparison, nearest, value};
use super::verdict::{Verdict, Violation};
use crate::escape::escape_untrusted;
use crate::gc::facts::Watch;
use crate::gc::record::{Gc, Level};

/// A condition that a single collection can meet.
#[derive(Debug, Clone)]
pub(crate) struct StopCondition {
    /// As it was typed, trimmed and escaped.
    text: String,
    metric: &'static Metric,
    of: fn(&Gc) -> Option<u64>,
    op: Op,
    /// In the unit of the metric.
    limit: f64,
    /// The first collection that met it.
    met: Option<Violation>,
    /// Whether any collection has the figure. `None`: there was none yet.
    is_known: Option<bool>,
}

impl FromStr for StopCondition {
    type Err = InvalidAssertion;

    fn from_str(text: &str) -> Result<StopCondition, InvalidAssertion> {
        let (name, op, limit) = comparison(text)?;
        let metric = METRICS.iter().find(|metric| metric.name == name);
        let Some((metric, Value::PerGc(of))) = metric.map(|metric| (metric, metric.value)) else {
            let near = nearest(name, |metric| matches!(metric.value, Value::PerGc(_)));
            return Err(InvalidAssertion {
                what: format!("`{}` is no figure of a single collection", escape_untrusted(name)),
                remedy: format!("the nearest are {near} (`gcwatch metrics` lists all; leave `.max` out)"),
            });
        };
        let limit = value(limit, metric.name, metric.unit)?;
        Ok(StopCondition {
            text: escape_untrusted(text.trim()),
            metric,
            of,
            op,
            limit,
            met: None,
            is_known: None,
        })
    }
}

impl StopCondition {
    /// The lowest level that sees its metric.
    pub(crate) fn level(&self) -> Level {
        self.metric.level
    }

    /// As it was typed.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Takes in a complete collection. Returns whether it meets the condition.
    pub(crate) fn add(&mut self, gc: &Gc) -> bool {
        self.is_known = Some((self.of)(gc).is_some() || self.is_known == Some(true));
        let Some(value) = (self.of)(gc).filter(|&value| self.op.holds(value as f64, self.limit)) else {
            return false;
        };
        if self.met.is_none() {
            self.met = gc.number.map(|number| Violation {
                number,
                generation: gc.generation,
                kind: gc.kind,
                reason: gc.reason,
                value: Some(value),
            });
        }
        true
    }

    /// Whether a collection has met it.
    pub(super) fn is_met(&self) -> bool {
        self.met.is_some()
    }

    /// As an assertion: it holds if no collection met the condition. `has_gaps`: events were lost, so one may have.
    pub(super) fn verdict(&self, watch: &Watch, has_gaps: bool) -> Verdict {
        let unjudged = match self.is_known {
            _ if self.is_met() => None,
            _ if has_gaps => Some("collections or events were lost"),
            _ if self.metric.level > watch.level => Some("not seen at this level"),
            Some(false) => Some("no data"),
            None | Some(true) => None,
        };
        self.judged(watch.level, disturbances(self.metric, watch), unjudged)
    }

    /// The verdict on a process that was not watched.
    pub(super) fn unjudged(&self, why: &'static str) -> Verdict {
        self.judged(Level::Basic, Vec::new(), Some(why))
    }

    fn judged(
        &self,
        level: Level,
        disturbed_by: Vec<Disturbance>,
        unjudged: Option<&'static str>,
    ) -> Verdict {
        Verdict {
            text: format!("stop-on {}", self.text),
            value: self.met.and_then(|met| met.value).map(|value| value as f64),
            unit: self.metric.unit,
            level,
            disturbed_by,
            holds: unjudged.is_none().then_some(!self.is_met()),
            gcs_seen: None,
            unjudged,
            warmup_ns: None,
            violations: self.met.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_collection_that_meets_it_counts() {
        let mut stop: StopCondition = " pause > 200ms".parse().expect("a condition");
        let mut gc = Gc::unknown(Level::Basic);
        for (number, pause_ms) in [(1, 200), (2, 201), (3, 900)] {
            (gc.number, gc.pause_ns) = (Some(number), Some(pause_ms * 1_000_000));
            assert_eq!(stop.add(&gc), number > 1);
            assert_eq!(stop.is_met(), number > 1);
        }
        let verdict = stop.verdict(&Watch::default(), true);
        assert_eq!(
            (verdict.holds, verdict.value, verdict.violations[0].number),
            (Some(false), Some(201e6), 2)
        );
        assert_eq!(verdict.text, "stop-on pause > 200ms");
        let never = |text: &str, gcs: &[Gc], has_gaps| {
            let mut stop: StopCondition = text.parse().expect("a condition");
            for gc in gcs {
                stop.add(gc);
            }
            stop.verdict(&Watch::default(), has_gaps).holds
        };
        let gcs = [gc];
        assert_eq!([never("pause > 1s", &gcs, false), never("pause > 1s", &[], false)], [Some(true); 2]);
        assert_eq!(never("pause > 1s", &gcs, true), None, "a lost collection could have met it");
        assert_eq!(never("roots.total > 1", &gcs, false), None, "not seen at this level");
        assert_eq!(never("handles > 1", &gcs, false), None, "no collection has the figure");
        for wrong in ["pause.p99 > 1ms", "gc.count > 3", "pause", "pause > 3", "nothing > 3"] {
            assert!(wrong.parse::<StopCondition>().is_err(), "{wrong}");
        }
        let says = |text: &str| text.parse::<StopCondition>().expect_err("a mistake").to_string();
        assert!(says("puase > 1ms").contains("the nearest are pause"), "{}", says("puase > 1ms"));
        assert!(says("pause.p99 > 1ms").contains("the nearest are pause"));
    }
}
