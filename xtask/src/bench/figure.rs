//! Figures of several variants, and the goals that they have to meet.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::statistics::{Estimate, median, ratio};

type Name = Cow<'static, str>;

/// A run of the benchmarks, as `--json` writes it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) schema: String,
    pub(crate) machine: Value,
    pub(crate) rounds: usize,
    pub(crate) runtimes: Vec<String>,
    pub(crate) figures: Vec<Figure>,
    /// What could not be measured, and why.
    pub(crate) skipped: Vec<(String, String)>,
}

/// One figure of one case, for all variants.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) group: String,
    pub(crate) case: String,
    #[serde(rename = "figure")]
    pub(crate) what: String,
    pub(crate) unit: String,
    /// The variant that ratios compare with.
    against: Option<String>,
    pub(crate) variants: Vec<Variant>,
    pub(crate) goals: Vec<Goal>,
}

/// The values of one variant, one for each round.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) values: Vec<f64>,
    pub(crate) median: Option<f64>,
    pub(crate) ratio: Option<Estimate>,
}

/// A bound on a variant's figure, and whether the figure is within it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) variant: Name,
    bound: Bound,
    pub(crate) ratio: Option<Estimate>,
    pub(crate) outcome: Outcome,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Bound {
    /// The median is at most this.
    AtMost(f64),
    /// The ratio to another variant is at most this.
    Ratio(Name, f64),
    /// The ratio's interval contains 1, and its upper end is at most this.
    Same(Name, f64),
    /// The ratio is at most 1, or the upper end of its interval is at most this: if two variants cost the same, each of
    /// them is faster in half of the cases.
    NoWorse(Name, f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Met,
    /// The figure misses the goal, but its interval reaches it.
    Undecided,
    Missed,
    NotMeasured,
}

impl Figure {
    pub(crate) fn new(what: &str, unit: &str) -> Self {
        Self { what: what.to_owned(), unit: unit.to_owned(), ..Self::default() }
    }

    pub(crate) fn against(mut self, name: &str) -> Self {
        self.against = Some(name.to_owned());
        self
    }

    pub(crate) fn with(mut self, name: &str, values: Vec<f64>) -> Self {
        self.variants.push(Variant { name: name.to_owned(), values, median: None, ratio: None });
        self
    }

    pub(crate) fn goal(mut self, variant: &'static str, bound: Bound) -> Self {
        let goal = Goal { variant: variant.into(), bound, ratio: None, outcome: Outcome::NotMeasured };
        self.goals.push(goal);
        self
    }

    /// Removes the goals of variants that a case does not measure.
    pub(crate) fn keep_goals_of(&mut self, variants: &[&str]) {
        let known = |goal: &Goal| goal.bound.to().is_none_or(|to| variants.contains(&to));
        self.goals.retain(|goal| variants.contains(&&*goal.variant) && known(goal));
    }

    /// Names the case, and computes medians, ratios and outcomes.
    pub(crate) fn of(mut self, group: &str, case: &str) -> Self {
        (self.group, self.case) = (group.to_owned(), case.to_owned());
        let against = self.against.as_deref().map_or(Vec::new(), |name| self.values(name).to_vec());
        for variant in &mut self.variants {
            variant.median = median(&variant.values);
            let is_other = self.against.as_ref() != Some(&variant.name);
            variant.ratio = ratio(&variant.values, &against).filter(|_| is_other);
        }
        let judge = |goal: &Goal| {
            let values = self.values(&goal.variant);
            let ratio = goal.bound.to().and_then(|to| ratio(values, self.values(to)));
            Goal { ratio, outcome: goal.bound.judge(values, ratio), ..goal.clone() }
        };
        self.goals = self.goals.iter().map(judge).collect();
        self
    }

    pub(crate) fn values(&self, name: &str) -> &[f64] {
        self.variants.iter().find(|variant| variant.name == name).map_or(&[], |variant| &variant.values)
    }

    /// Pools the rounds of several figures into one, for the variants that all of them have.
    pub(crate) fn pool(figures: &[&Self], case: &str) -> Option<Self> {
        let mut pool = (*figures.first()?).clone();
        pool.variants.retain(|variant| figures.iter().all(|figure| !figure.values(&variant.name).is_empty()));
        for variant in &mut pool.variants {
            variant.values =
                figures.iter().flat_map(|figure| figure.values(&variant.name)).copied().collect();
        }
        let group = pool.group.clone();
        Some(pool.of(&group, case))
    }
}

impl Bound {
    fn to(&self) -> Option<&str> {
        match self {
            Self::AtMost(_) => None,
            Self::Ratio(to, _) | Self::Same(to, _) | Self::NoWorse(to, _) => Some(to),
        }
    }

    fn judge(&self, values: &[f64], ratio: Option<Estimate>) -> Outcome {
        let (met, within_reach) = match (self, ratio, median(values)) {
            (Self::AtMost(limit), _, Some(median)) => {
                (median <= *limit, values.iter().any(|value| value <= limit))
            }
            (Self::Ratio(_, limit), Some(found), _) => (found.value <= *limit, found.low <= *limit),
            (Self::Same(_, limit), Some(found), _) => {
                (found.low <= 1.0 && found.high <= *limit, found.low <= *limit)
            }
            (Self::NoWorse(_, limit), Some(found), _) => {
                (found.value <= 1.0 || found.high <= *limit, found.low <= 1.0)
            }
            _ => return Outcome::NotMeasured,
        };
        [[Outcome::Missed, Outcome::Undecided], [Outcome::Met; 2]][usize::from(met)]
            [usize::from(within_reach)]
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.variant)?;
        match &self.bound {
            Bound::AtMost(limit) => write!(f, "<= {limit}"),
            Bound::Ratio(to, limit) => write!(f, "<= {limit:.2}x {to}"),
            Bound::Same(to, limit) => write!(f, "= {to}, upper end <= {limit:.2}x"),
            Bound::NoWorse(to, limit) => write!(f, "no worse than {to}, or within {limit:.2}x"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bound::{AtMost, NoWorse, Ratio, Same};
    use super::*;

    #[test]
    fn goals_are_judged_by_what_was_measured() {
        let none = || Name::from("none");
        let figure = Figure::new("pause", "ms")
            .against("none")
            .with("none", vec![1.0, 2.0, 3.0])
            .with("roots", vec![1.1, 2.3, 3.2])
            .goal("roots", Ratio(none(), 1.2))
            .goal("roots", Ratio(none(), 1.05))
            .goal("none", Same(none(), 1.03))
            .goal("roots", NoWorse(none(), 1.2))
            .goal("roots", NoWorse(none(), 1.1))
            .goal("roots", AtMost(2.0))
            .goal("absent", Ratio(none(), 1.0))
            .of("group", "case");
        let outcomes: Vec<_> = figure.goals.iter().map(|goal| goal.outcome).collect();
        let [met, missed, undecided] = [Outcome::Met, Outcome::Missed, Outcome::Undecided];
        assert_eq!(outcomes, [met, missed, met, met, missed, undecided, Outcome::NotMeasured]);
        assert!(figure.variants[0].ratio.is_none() && figure.variants[1].ratio.is_some());
    }

    #[test]
    fn rounds_of_several_figures_are_pooled() {
        let figure = |roots: [f64; 2]| {
            let figure = Figure::new("pause", "x").against("none").with("none", vec![1.0; 2]);
            figure.with("roots", roots.to_vec()).of("group", "one")
        };
        let (first, second) = (figure([1.1, 1.2]), figure([1.3, 1.4]).with("floor", vec![1.0; 2]));
        let pool = Figure::pool(&[&second, &first], "all").unwrap();
        assert_eq!(pool.variants.len(), 2);
        let ratio = pool.variants[1].ratio.unwrap();
        assert!((ratio.value - 1.25).abs() < 1e-9 && ratio.low == 1.1 && ratio.high == 1.4, "{ratio:?}");
        assert!(Figure::pool(&[], "all").is_none());
    }
}
