//! How well each metric repeats: how far the runs of an unchanged program differ.

use super::cases::REPEATED;
use super::plan::{Side, repeats_case};
use super::results::Repeat;
use super::runner::Metric;
use super::store::Store;

/// With fewer values the spread is not known.
const FEWEST: usize = 2;

/// All metrics with all statistics that were asked for, each at its own level.
pub(super) fn of(store: &Store, metrics: &[Metric]) -> Vec<Repeat> {
    let mut all = Vec::new();
    for metric in metrics {
        for name in metric.names() {
            let of_program = |(program, _): (&str, &str)| {
                let runs = store.side(&repeats_case(program, &metric.level), 0, Side::Before);
                let values = runs.iter().filter_map(|run| run.metrics.get(&name).copied().flatten());
                percent(&values.collect::<Vec<_>>())
            };
            let percent: Vec<Option<f64>> = REPEATED.into_iter().map(of_program).collect();
            let median_percent = median(&percent);
            all.push(Repeat { metric: name, percent, median_percent });
        }
    }
    all
}

/// The coefficient of variation: the standard deviation in percent of the mean. `None`: there are too few values, or their
/// mean is 0.
fn percent(values: &[f64]) -> Option<f64> {
    if values.len() < FEWEST {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean != 0.0).then(|| (squares / (n - 1.0)).sqrt() / mean.abs() * 100.0)
}

/// The middle one of those that are known, or the mean of the two in the middle.
fn median(values: &[Option<f64>]) -> Option<f64> {
    let mut known: Vec<f64> = values.iter().flatten().copied().collect();
    known.sort_by(f64::total_cmp);
    let above = *known.get(known.len() / 2)?;
    Some(f64::midpoint(known[(known.len() - 1) / 2], above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_of_variation() {
        assert_eq!(percent(&[5.0; 4]), Some(0.0));
        assert!(percent(&[9.0, 11.0]).is_some_and(|cv| (cv - 14.142).abs() < 1e-3));
        assert!(percent(&[-9.0, -11.0]).is_some_and(|cv| (cv - 14.142).abs() < 1e-3));
        assert_eq!((percent(&[3.0]), percent(&[0.0; 5])), (None, None));
        assert_eq!(median(&[None, Some(3.0), Some(9.0)]), Some(6.0));
        assert_eq!(median(&[Some(9.0), Some(1.0), Some(2.0)]), Some(2.0));
        assert_eq!(median(&[None]), None);
    }
}
