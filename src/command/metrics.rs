//! `gcwatch metrics`.

use super::generate::print;
use crate::assertion::{METRICS, Metric, Statistic, Value, variation_percent};
use crate::exit::{Code, Failure};
use crate::experiment::{FAMILY_ERROR, runs_for_change};

/// The change for which the list says how many runs find it.
const CHANGE_PERCENT: f64 = 10.0;
/// More runs are not said.
const MAX_RUNS: usize = 999;

const NOTES: &str = "\
varies: how far runs of an unchanged program differ (coefficient of variation,
  the median of three programs; docs/ci-study.md has the measurement)
runs: so many a side find a change of 10 % in 4 of 5 cases, if only this metric
  is judged
Of a metric with a value for each collection, .max and what varies least are
shown. Instead of them, use any of:";

/// Lists all metrics.
pub(super) fn run() -> Result<Code, Failure> {
    print(listed().as_bytes())
}

fn listed() -> String {
    let mut text = line("metric", "unit", "level", "varies", "runs");
    for metric in METRICS {
        for name in names(metric) {
            let (varies, runs) = match variation_percent(&name) {
                Some(percent) => (format!("{percent:.1} %"), runs(percent)),
                None => ("-".to_owned(), "-".to_owned()),
            };
            text += &line(&name, metric.unit.name(), metric.level.name(), &varies, &runs);
        }
        text += &format!("    {}\n    for {}\n", metric.about, metric.good_for);
    }
    let statistics = Statistic::ALL.map(|(name, _)| name).join(" ");
    text + &format!("\n{NOTES}\n  {statistics}\n")
}

fn line(name: &str, unit: &str, level: &str, varies: &str, runs: &str) -> String {
    format!("{name:<24} {unit:<16} {level:<6} {varies:>9} {runs:>6}\n")
}

/// The metric, or `.max` and the statistic that varies least, if that is another one.
fn names(metric: &Metric) -> Vec<String> {
    if !matches!(metric.value, Value::PerGc(_)) {
        return vec![metric.name.to_owned()];
    }
    let named = |statistic: &str| format!("{}.{statistic}", metric.name);
    let max = named("max");
    let measured = |name: String| Some((variation_percent(&name)?, name));
    let all = Statistic::ALL.iter().filter_map(|(statistic, _)| measured(named(statistic)));
    let least = all.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name);
    let is_better = |name: &String| variation_percent(name) < variation_percent(&max);
    [max.clone()].into_iter().chain(least.filter(is_better)).collect()
}

fn runs(variation_percent: f64) -> String {
    let runs = runs_for_change(CHANGE_PERCENT, variation_percent, 1, FAMILY_ERROR);
    if runs > MAX_RUNS { format!(">{MAX_RUNS}") } else { runs.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_says_what_it_is_good_for_within_80_columns() {
        let text = listed();
        for metric in METRICS {
            let first = names(metric).remove(0);
            let rows = text.lines().skip_while(|line| line.split_whitespace().next() != Some(first.as_str()));
            let words: Vec<&str> = rows.take(4).map(str::trim).collect();
            assert!(words.contains(&metric.about) && words.contains(&&*format!("for {}", metric.good_for)));
        }
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
        assert!(long.is_empty(), "{long:?}");
        let wide =
            text.lines().filter(|line| !line.starts_with("    ")).map(|line| line.chars().count()).max();
        assert!(wide <= Some(80), "{wide:?}");
    }

    #[test]
    fn what_varies_more_takes_more_runs() {
        assert_eq!((runs(0.0).as_str(), runs(1.0).as_str(), runs(1e9).as_str()), ("5", "5", ">999"));
        assert!(runs(20.0).parse::<usize>().is_ok_and(|runs| runs > 20));
    }
}
