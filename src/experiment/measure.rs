//! What is measured of each run.

use crate::assertion::{ChangeAssertion, Unit};

/// From the start of the program to its end, without the time in which it waited for gcwatch.
pub(crate) const WALL: &str = "wall";
/// What the program prints of itself.
pub(crate) const OWN: &str = "metric";
/// The most memory that the process had resident.
pub(crate) const PEAK: &str = "memory.peak";

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Lower,
    Higher,
    /// Neither: it tells what happened.
    Neutral,
}

/// A figure of each run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measure {
    /// As in `gcwatch metrics`, or [`WALL`], [`OWN`] or [`PEAK`].
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) direction: Direction,
    pub(crate) source: Source,
    /// Whether the sides are compared by it. The bytes that a program allocates are known up to its last collection only, so
    /// that settings seem to change them.
    pub(crate) is_compared: bool,
}

/// Where the value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Wall,
    Own,
    /// The metric with the same name, from the collections of the run.
    Collections,
    Peak,
}

/// What is measured: the usual figures, and those of `fail_on`. `own`: the program prints a figure, and this is the better direction. `several_commands`: the sides
/// are commands, not settings.
pub(crate) fn measures(
    own: Option<Direction>,
    several_commands: bool,
    fail_on: &[ChangeAssertion],
) -> Vec<Measure> {
    let lower = |name: &str, unit, source| Measure {
        name: name.to_owned(),
        unit,
        direction: Direction::Lower,
        source,
        is_compared: true,
    };
    let mut all = vec![lower(WALL, Unit::Ns, Source::Wall)];
    all.extend(own.map(|direction| Measure { direction, ..lower(OWN, Unit::Count, Source::Own) }));
    for (name, unit) in [
        ("pause.p50", Unit::Ns),
        ("pause.p99", Unit::Ns),
        ("pause.max", Unit::Ns),
        ("pause.total", Unit::Ns),
        ("gc.gen0.count", Unit::Count),
        ("gc.gen1.count", Unit::Count),
        ("gc.gen2.count", Unit::Count),
        ("alloc.total", Unit::Bytes),
        ("heap.after.max", Unit::Bytes),
        ("committed.max", Unit::Bytes),
    ] {
        all.push(match name {
            "alloc.total" => Measure {
                direction: Direction::Neutral,
                is_compared: several_commands,
                ..lower(name, unit, Source::Collections)
            },
            _ => lower(name, unit, Source::Collections),
        });
    }
    all.push(lower(PEAK, Unit::Bytes, Source::Peak));
    for assertion in fail_on {
        match all.iter_mut().find(|measure| measure.name == assertion.name) {
            Some(measure) => measure.is_compared = true,
            None => all.push(lower(&assertion.name, assertion.unit(), Source::Collections)),
        }
    }
    all
}

/// A value that a run without a single collection has: it has no pause. Sizes stay unknown.
pub(crate) fn without_collections(measure: &Measure) -> Option<f64> {
    measure.name.starts_with("pause.").then_some(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assertion::METRICS;

    #[test]
    fn those_of_collections_are_metrics_with_the_same_unit() {
        let all = measures(Some(Direction::Higher), false, &[]);
        assert_eq!((all.len(), measures(None, true, &[]).len()), (13, 12));
        for measure in all.iter().filter(|measure| measure.source == Source::Collections) {
            let metric = METRICS.iter().find(|metric| {
                measure.name == metric.name
                    || measure.name.rsplit_once('.').is_some_and(|(name, _)| name == metric.name)
            });
            assert_eq!(metric.map(|metric| metric.unit), Some(measure.unit), "{}", measure.name);
        }
        assert_eq!(without_collections(&all[2]), Some(0.0));
        assert_eq!(without_collections(&all[12]), None);
    }
}
