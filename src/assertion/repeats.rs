//! How well each metric repeats, as `cargo xtask gate-study` measured it (`docs/ci-study.md`).

/// A line for each metric with its statistic, after a line of titles.
const MEASURED: &str = include_str!("repeats.csv");

/// How far runs of an unchanged program differ in a metric, which is named with its statistic: the coefficient of variation in
/// percent. `None`: it was not measured, or was always 0.
pub(crate) fn variation_percent(name: &str) -> Option<f64> {
    let mut rows = MEASURED.lines().skip(1).filter_map(|line| line.split_once(','));
    rows.find(|(metric, _)| *metric == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::{METRICS, Value};
    use super::*;

    /// The study writes the file and the page; whoever changes one of them by hand fails here.
    #[test]
    fn the_file_is_that_of_the_page() {
        let page = include_str!("../../docs/ci-study.md");
        for (metric, percent) in MEASURED.lines().skip(1).filter_map(|line| line.split_once(',')) {
            let start = format!("| `{metric}` | ");
            let end = if percent.is_empty() { "| - |".to_owned() } else { format!("| {percent} % |") };
            let is_row = |line: &str| line.starts_with(&start) && line.ends_with(&end);
            assert!(page.lines().any(is_row), "{metric}: {percent}");
        }
    }

    #[test]
    fn each_metric_was_measured() {
        for metric in METRICS {
            let statistic = if matches!(metric.value, Value::PerGc(_)) { ".max" } else { "" };
            let start = format!("{}{statistic},", metric.name);
            assert!(MEASURED.lines().any(|line| line.starts_with(&start)), "{start}");
        }
        assert!(variation_percent("heap.after.max").is_some_and(|percent| percent < 100.0));
        assert_eq!(variation_percent("no.such.metric"), None);
    }
}
