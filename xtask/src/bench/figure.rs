//! What a benchmark found: figures of variants side by side, held against goals.

use serde_json::{Value, json};

use super::statistics::{Estimate, exponent, median, ratio};

/// A bound on a variant's figure.
#[derive(Debug, Clone)]
pub(crate) enum Goal {
    /// The ratio to another variant is at most this.
    Ratio { to: &'static str, at_most: f64 },
    /// The ratio's interval contains 1 and its upper end is at most this.
    Same { to: &'static str, at_most: f64 },
    /// The ratio to another variant is at most 1, or its whole interval is at most this: of two that cost the same, each
    /// is ahead every other time.
    NoWorse { to: &'static str, within: f64 },
    /// The median is at most this.
    AtMost(f64),
}

/// One way of doing it, and what it took each time.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<f64>,
}

/// How a goal fared.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) variant: &'static str,
    pub(crate) text: String,
    pub(crate) ratio: Option<Estimate>,
    pub(crate) outcome: Outcome,
}

/// What the measurement says of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Met,
    /// The figure misses it, but its interval reaches it.
    Undecided,
    Missed,
    NotMeasured,
}

impl Outcome {
    /// From the figure and the lower end of its interval.
    fn of(met: bool, within_reach: bool) -> Self {
        match (met, within_reach) {
            (true, _) => Self::Met,
            (false, true) => Self::Undecided,
            (false, false) => Self::Missed,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Undecided => "undecided",
            Self::Missed => "missed",
            Self::NotMeasured => "not measured",
        }
    }
}

/// One figure of one case, for all variants, from interleaved rounds.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// The row of the goals' table.
    pub(crate) row: &'static str,
    pub(crate) case: String,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) variants: Vec<Variant>,
    pub(crate) goals: Vec<(&'static str, Goal)>,
    /// What the ratios are shown against.
    pub(crate) against: Option<&'static str>,
}

impl Figure {
    pub(crate) fn new(
        row: &'static str,
        case: impl Into<String>,
        what: &'static str,
        unit: &'static str,
    ) -> Self {
        Self { row, case: case.into(), what, unit, variants: vec![], goals: vec![], against: None }
    }

    pub(crate) fn against(mut self, name: &'static str) -> Self {
        self.against = Some(name);
        self
    }

    pub(crate) fn with(mut self, name: &'static str, values: Vec<f64>) -> Self {
        self.variants.push(Variant { name, values });
        self
    }

    pub(crate) fn goal(mut self, name: &'static str, goal: Goal) -> Self {
        self.goals.push((name, goal));
        self
    }

    fn values(&self, name: &str) -> &[f64] {
        self.variants.iter().find(|variant| variant.name == name).map_or(&[], |variant| &variant.values)
    }

    pub(crate) fn ratio_of(&self, name: &str) -> Option<Estimate> {
        let against = self.against.filter(|against| *against != name)?;
        ratio(self.values(name), self.values(against))
    }

    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let judge = |(variant, goal): &(&'static str, Goal)| {
            let values = self.values(variant);
            let (text, ratio, outcome) = match goal {
                Goal::Ratio { to, at_most } => {
                    let found = ratio(values, self.values(to));
                    let outcome =
                        found.map(|found| Outcome::of(found.value <= *at_most, found.low <= *at_most));
                    (format!("<= {at_most:.2}x {to}"), found, outcome)
                }
                Goal::Same { to, at_most } => {
                    let found = ratio(values, self.values(to));
                    let same = |found: Estimate| found.low <= 1.0 && found.high <= *at_most;
                    let outcome = found.map(|found| Outcome::of(same(found), found.low <= *at_most));
                    (format!("= {to}, upper end <= {at_most:.2}x"), found, outcome)
                }
                Goal::NoWorse { to, within } => {
                    let found = ratio(values, self.values(to));
                    let no_worse = |found: Estimate| found.value <= 1.0 || found.high <= *within;
                    let outcome = found.map(|found| Outcome::of(no_worse(found), found.low <= 1.0));
                    (format!("no worse than {to}, or within {within:.2}x"), found, outcome)
                }
                Goal::AtMost(limit) => {
                    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                    let outcome = median(values).map(|found| Outcome::of(found <= *limit, least <= *limit));
                    (format!("<= {limit} {}", self.unit), None, outcome)
                }
            };
            let outcome = outcome.unwrap_or(Outcome::NotMeasured);
            Verdict { variant, text, ratio, outcome }
        };
        self.goals.iter().map(judge).collect()
    }

    pub(crate) fn to_json(&self) -> Value {
        let spread = |values: &[f64]| {
            let fold = |start: f64, pick: fn(f64, f64) -> f64| values.iter().copied().fold(start, pick);
            (!values.is_empty()).then(
                || json!({"min": fold(f64::INFINITY, f64::min), "max": fold(f64::NEG_INFINITY, f64::max)}),
            )
        };
        let variants: Vec<Value> = self
            .variants
            .iter()
            .map(|variant| {
                json!({
                    "name": variant.name,
                    "n": variant.values.len(),
                    "median": median(&variant.values),
                    "spread": spread(&variant.values),
                    "values": variant.values,
                    "ratio": self.ratio_of(variant.name).map(estimate),
                })
            })
            .collect();
        let goals: Vec<Value> = self
            .verdicts()
            .into_iter()
            .map(|verdict| {
                json!({
                    "variant": verdict.variant,
                    "goal": verdict.text,
                    "ratio": verdict.ratio.map(estimate),
                    "outcome": verdict.outcome.text(),
                })
            })
            .collect();
        json!({
            "row": self.row, "case": self.case, "figure": self.what, "unit": self.unit,
            "against": self.against, "variants": variants, "goals": goals,
        })
    }
}

fn estimate(found: Estimate) -> Value {
    json!({"value": found.value, "low": found.low, "high": found.high})
}

/// What one more of something costs: the same figure at several sizes of its input.
#[derive(Debug, Clone)]
pub(crate) struct Growth {
    pub(crate) row: &'static str,
    /// What grows.
    pub(crate) input: &'static str,
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    /// Input and cost.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Growth {
    /// Over the whole range, and its last step alone: a fixed cost hides the growth at the small end.
    pub(crate) fn exponents(&self) -> (Option<f64>, Option<f64>) {
        let tail = self.points.len().saturating_sub(2);
        (exponent(&self.points), exponent(&self.points[tail..]))
    }

    pub(crate) fn to_json(&self) -> Value {
        let (all, last) = self.exponents();
        json!({
            "row": self.row, "input": self.input, "figure": self.what, "unit": self.unit,
            "points": self.points, "exponent": all, "exponent_of_last_step": last,
        })
    }
}

/// Everything of a run.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) figures: Vec<Figure>,
    pub(crate) growth: Vec<Growth>,
    /// What was not measured, and why.
    pub(crate) skipped: Vec<(String, String)>,
    /// What has to be known to read the figures.
    pub(crate) notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_judged_by_what_was_measured() {
        let figure = Figure::new("row", "case", "pause", "ms")
            .against("none")
            .with("none", vec![1.0, 2.0, 3.0])
            .with("roots", vec![1.1, 2.3, 3.2])
            .goal("roots", Goal::Ratio { to: "none", at_most: 1.2 })
            .goal("roots", Goal::Ratio { to: "none", at_most: 1.05 })
            .goal("none", Goal::Same { to: "none", at_most: 1.03 })
            .goal("roots", Goal::NoWorse { to: "none", within: 1.2 })
            .goal("roots", Goal::NoWorse { to: "none", within: 1.1 })
            .goal("roots", Goal::AtMost(2.0))
            .goal("absent", Goal::Ratio { to: "none", at_most: 1.0 });
        let outcomes: Vec<_> = figure.verdicts().into_iter().map(|verdict| verdict.outcome).collect();
        let [met, missed, undecided] = [Outcome::Met, Outcome::Missed, Outcome::Undecided];
        assert_eq!(outcomes, [met, missed, met, met, missed, undecided, Outcome::NotMeasured]);
        assert!(figure.ratio_of("none").is_none());
    }

    #[test]
    fn growth_tells_a_fixed_cost_from_a_growing_one() {
        let points = [1.0, 10.0, 100.0, 1000.0].map(|n| (n, 100.0 + n)).to_vec();
        let growth = Growth { row: "row", input: "roots", what: "pause".to_owned(), unit: "ns", points };
        let (all, last) = growth.exponents();
        assert!(all.unwrap() < 0.5 && last.unwrap() > 0.7);
    }
}
