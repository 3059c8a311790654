//! Judges a change that must not occur by a comparison of several runs.

use super::comparison::{Comparison, judge};
use super::results::Results;
use crate::assertion::{ChangeAssertion, ChangeVerdict};

/// The change fails if it is beyond noise and beyond the bound. Without a comparison there is no verdict.
pub(crate) fn gate(assertion: &ChangeAssertion, comparison: Option<&Comparison>) -> ChangeVerdict {
    let fails = comparison.and_then(|comparison| {
        let (change, percent) = (comparison.shift?.by, comparison.change_percent()?);
        comparison.beyond_noise().map(|beyond| beyond && assertion.forbids(change, percent))
    });
    ChangeVerdict { text: assertion.text.clone(), name: assertion.name.clone(), fails }
}

/// A change that must not occur, judged for one variant against the first.
#[derive(Debug, Clone)]
pub(crate) struct Gated {
    pub(crate) side: usize,
    pub(crate) assertion: ChangeAssertion,
    pub(crate) verdict: ChangeVerdict,
    /// `None`: a side has no value.
    pub(crate) comparison: Option<Comparison>,
}

/// Judges the assertions for each variant against the first. All of them are judged together, and without the figures that
/// are only shown.
pub(crate) fn gates(results: &Results, assertions: &[ChangeAssertion]) -> Vec<Gated> {
    let place = |name: &str| results.measures.iter().position(|measure| measure.name == name);
    let mut names: Vec<&str> = assertions.iter().map(|assertion| assertion.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let sides = 1..results.sides.len();
    let mut judged: Vec<(usize, &str, Comparison)> = sides
        .clone()
        .flat_map(|side| names.iter().map(move |name| (side, *name)))
        .filter_map(|(side, name)| {
            Some((side, name, results.sides[side].comparisons.get(place(name)?)?.clone()))
        })
        .collect();
    judge(
        &mut judged.iter_mut().map(|(.., comparison)| comparison).collect::<Vec<_>>(),
        results.min_effect_percent,
    );
    sides
        .flat_map(|side| assertions.iter().map(move |assertion| (side, assertion)))
        .map(|(side, assertion)| {
            let of = judged.iter().find(|(of, name, _)| (*of, *name) == (side, assertion.name.as_str()));
            let comparison = of.map(|(.., comparison)| comparison.clone());
            let verdict = gate(assertion, comparison.as_ref());
            Gated { side, assertion: assertion.clone(), verdict, comparison }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::comparison::{MIN_EFFECT_PERCENT, compared, judge};

    #[test]
    fn fails_beyond_noise_and_bound_only() {
        let before = [100.0, 101.0, 102.0, 103.0, 104.0];
        let fails = |by: f64, runs: usize, expression: &str| {
            let mut comparison = compared(&before[..runs], &before.map(|value| value + by)[..runs]);
            judge(&mut [&mut comparison], MIN_EFFECT_PERCENT);
            gate(&expression.parse().unwrap(), Some(&comparison)).fails
        };
        assert_eq!(fails(20.0, 5, "pause.p99 > +10%"), Some(true));
        assert_eq!(fails(20.0, 5, "pause.p99 > +30%"), Some(false));
        assert_eq!(fails(2.0, 5, "pause.p99 > +1%"), Some(false), "within noise");
        assert_eq!(fails(20.0, 4, "pause.p99 > +10%"), None, "too few runs");
        assert_eq!(gate(&"pause.p99 > +10%".parse().unwrap(), None).fails, None);
    }
}
