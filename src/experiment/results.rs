//! All runs of an experiment, and how their sides compare.

use super::comparison::{Comparison, compared, judge};
use super::measure::Measure;
use super::variant::Variant;

/// One run: its values in the order of the measures. `None`: unknown.
pub(crate) type Run = Vec<Option<f64>>;

/// A variant and its runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    pub(crate) variant: Variant,
    pub(crate) runs: Vec<Run>,
    /// Against the first side, in the order of the measures; empty for the first side.
    pub(crate) comparisons: Vec<Comparison>,
}

impl Side {
    /// The known values of a measure.
    pub(crate) fn values(&self, measure: usize) -> impl Iterator<Item = f64> {
        self.runs.iter().filter_map(move |run| run.get(measure).copied().flatten())
    }
}

/// All runs of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Results {
    pub(crate) measures: Vec<Measure>,
    /// The first one is what the others are compared with.
    pub(crate) sides: Vec<Side>,
    /// Tests that were judged together.
    pub(crate) tests: usize,
    /// With fewer runs a side no difference can be found.
    pub(crate) needed_runs: usize,
    /// Smaller differences are not called better or worse, in percent.
    pub(crate) min_effect_percent: f64,
}

impl Results {
    /// Compares all sides with the first one, by all measures, and judges all comparisons together.
    pub(crate) fn new(
        measures: Vec<Measure>,
        sides: Vec<(Variant, Vec<Run>)>,
        min_effect_percent: f64,
    ) -> Results {
        let side = |(variant, runs)| Side { variant, runs, comparisons: Vec::new() };
        let mut sides: Vec<Side> = sides.into_iter().map(side).collect();
        let values = |side: &Side, measure: usize| match measures[measure].is_compared {
            true => side.values(measure).collect::<Vec<_>>(),
            false => Vec::new(),
        };
        if let Some((first, others)) = sides.split_first_mut() {
            for other in others {
                other.comparisons = (0..measures.len())
                    .map(|measure| compared(&values(first, measure), &values(other, measure)))
                    .collect();
            }
        }
        let mut all: Vec<&mut Comparison> = sides.iter_mut().flat_map(|side| &mut side.comparisons).collect();
        judge(&mut all, min_effect_percent);
        let of_first = all.first().map_or((0, 0), |c| (c.judged_together, c.needed_runs));
        Results { measures, sides, tests: of_first.0, needed_runs: of_first.1, min_effect_percent }
    }

    /// The fewest runs of a side.
    pub(crate) fn fewest_runs(&self) -> usize {
        self.sides.iter().map(|side| side.runs.len()).min().unwrap_or(0)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::experiment::comparison::MIN_EFFECT_PERCENT;
    use crate::experiment::measure::measures;
    use crate::experiment::setting::Variables;

    /// Results of which only the wall times are known.
    pub(crate) fn of_walls(sides: &[Vec<f64>]) -> Results {
        let measures = measures(None, false, &[]);
        let run = |wall: &f64| {
            let mut run: Run = vec![None; measures.len()];
            run[0] = Some(*wall);
            run
        };
        let side = |(n, walls): (usize, &Vec<f64>)| {
            let variant =
                Variant { name: format!("side {n}"), variables: Variables::default(), command: Vec::new() };
            (variant, walls.iter().map(run).collect())
        };
        let sides = sides.iter().enumerate().map(side).collect();
        Results::new(measures, sides, MIN_EFFECT_PERCENT)
    }

    #[test]
    fn all_comparisons_with_values_are_judged_together() {
        let results = of_walls(&[vec![1.0; 9], vec![2.0; 9], vec![3.0; 8]]);
        assert_eq!((results.tests, results.needed_runs, results.fewest_runs()), (2, 6, 8));
        assert_eq!((results.sides[0].comparisons.len(), results.sides[1].comparisons.len()), (0, 12));
        assert!(results.sides[1].comparisons[1].p.is_none());
        assert_eq!(of_walls(&[vec![1.0]]).tests, 0);
    }
}
