//! Which variant is best for what.

use super::comparison::Outcome;
use super::measure::{Direction, OWN, PEAK, WALL};
use super::results::Results;

/// What a program should be better at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Wall time, or the figure that the program prints.
    Time,
    /// The longest 1 % of its pauses.
    Pause,
    /// Its memory.
    Memory,
}

impl Goal {
    pub(crate) const ALL: [Goal; 3] = [Goal::Time, Goal::Pause, Goal::Memory];

    /// Its word on the command line and in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Goal::Time => "time",
            Goal::Pause => "pause",
            Goal::Memory => "memory",
        }
    }
}

/// The best variant for a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Winner {
    pub(crate) goal: Goal,
    /// The place of the measure that decides.
    pub(crate) measure: usize,
    /// The side. `None`: nothing beats the first one beyond noise.
    pub(crate) side: Option<usize>,
    /// There were enough runs to tell for all sides.
    pub(crate) judged: bool,
}

/// The variant with the best median of those that are better than the first one beyond noise. `None`: no run has a value.
pub(crate) fn winner(results: &Results, goal: Goal) -> Option<Winner> {
    let place = |name: &str| results.measures.iter().position(|measure| measure.name == name);
    // Where the system does not tell the memory of a process, the runtime tells that of its heap.
    let known = |place: &usize| results.sides.iter().any(|side| side.values(*place).next().is_some());
    let measure = match goal {
        Goal::Time => place(OWN).or(place(WALL)),
        Goal::Pause => place("pause.p99"),
        Goal::Memory => place(PEAK).filter(known).or(place("committed.max")),
    };
    let measure = measure.filter(known)?;
    let sign = if results.measures[measure].direction == Direction::Higher { -1.0 } else { 1.0 };
    let better = results.sides.iter().enumerate().filter_map(|(n, side)| {
        let comparison = side.comparisons.get(measure)?;
        let change = comparison.shift?.by * sign;
        (comparison.outcome == Outcome::Differs && change < 0.0).then_some((n, comparison.medians[1]? * sign))
    });
    let side = better.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(n, _)| n);
    let judged = |outcome| !matches!(outcome, Outcome::TooFew | Outcome::Unknown);
    let judged = results.sides.iter().filter_map(|s| s.comparisons.get(measure)).all(|c| judged(c.outcome));
    Some(Winner { goal, measure, side, judged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::results::tests::of_walls;

    #[test]
    fn the_best_beyond_noise_wins() {
        let around = |mean: f64| (0..10).map(|n| mean + f64::from(n)).collect::<Vec<_>>();
        let of = |sides: &[Vec<f64>]| winner(&of_walls(sides), Goal::Time).unwrap();
        let won = of(&[around(100.0), around(50.0), around(30.0), around(102.0)]);
        assert_eq!((won.side, won.judged), (Some(2), true));
        assert_eq!(of(&[around(100.0), around(101.0), around(200.0)]).side, None);
        let short = of(&[around(100.0)[..2].to_vec(), around(50.0)[..2].to_vec()]);
        assert_eq!((short.side, short.judged), (None, false));
        assert_eq!(winner(&of_walls(&[around(1.0)]), Goal::Pause), None, "no run has a pause");
    }
}
