//! Renders a table of every figure that has goals. The JSON holds all other figures too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::figure::{Figure, Outcome, Run, Variant};

/// A line for each figure, with the rounds of all runs pooled; then how many goals were met.
pub(crate) fn render(runs: &[Run]) -> String {
    let mut text = String::from("| figure | n | median: ratio [95 %] | goals |\n|---|--:|---|---|\n");
    let mut figures: Vec<(String, Vec<&Figure>)> = Vec::new();
    for figure in runs.iter().flat_map(|run| &run.figures).filter(|figure| !figure.goals.is_empty()) {
        let unit = if figure.unit.is_empty() { String::new() } else { format!(", {}", figure.unit) };
        let name = format!("{}: {}: {}{unit}", figure.group, figure.case, figure.what);
        match figures.iter_mut().find(|(other, _)| *other == name) {
            Some((_, same)) => same.push(figure),
            None => figures.push((name, vec![figure])),
        }
    }
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for (name, same) in figures {
        let Some(figure) = Figure::pool(&same, &same[0].case) else { continue };
        let mut goals = Vec::new();
        for goal in &figure.goals {
            *counts.entry(goal.outcome).or_default() += 1;
            if goal.outcome != Outcome::Met {
                let ratio = goal.ratio.map_or(String::new(), |found| format!(" (is {:.2})", found.value));
                goals.push(format!("{goal}{ratio}: **{:?}**", goal.outcome));
            }
        }
        goals.push(format!("{} met", figure.goals.len() - goals.len()));
        let n = figure.variants.iter().map(|variant| variant.values.len()).min().unwrap_or(0);
        let cells: Vec<String> = figure.variants.iter().map(cell).collect();
        let _ = writeln!(text, "| {name} | {n} | {} | {} |", cells.join("; "), goals.join("; "));
    }
    let counts: Vec<String> = counts.iter().map(|(outcome, count)| format!("{outcome:?} {count}")).collect();
    let _ = writeln!(text, "\nGoals: {}.", counts.join(", "));
    for (what, why) in runs.iter().flat_map(|run| &run.skipped) {
        let _ = writeln!(text, "Not measured: {what}: {}", why.lines().next().unwrap_or_default());
    }
    text
}

fn cell(variant: &Variant) -> String {
    let ratio = variant.ratio.map_or(String::new(), |found| {
        format!(": {:.2}x [{:.2}, {:.2}]", found.value, found.low, found.high)
    });
    format!("{} {}{ratio}", variant.name, variant.median.map_or_else(|| "-".to_owned(), short))
}

/// Three significant digits, without an exponent.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figure::Bound;

    fn run(value: f64) -> Run {
        let figure = Figure::new("size", "MiB").against("cat").with("cat", vec![1.0]);
        let figure = figure.with("gcwatch", vec![value]).goal("gcwatch", Bound::AtMost(6.0));
        let figures =
            vec![figure.of("size", "executable"), Figure::new("no goals", "").of("size", "library")];
        Run { figures, skipped: vec![("Kestrel".to_owned(), "no wrk".to_owned())], ..Run::default() }
    }

    #[test]
    fn rounds_of_several_runs_are_one_line() {
        let text = render(&[run(7.0), run(8.0)]);
        let line = "| size: executable: size, MiB | 2 | cat 1.00; gcwatch 7.50: 7.50x [7.00, 8.00] | \
                    gcwatch <= 6: **Missed**; 0 met |";
        assert!(text.contains(line), "{text}");
        assert!(
            text.contains("Goals: Missed 1.") && text.contains("Not measured: Kestrel: no wrk"),
            "{text}"
        );
        assert!(!text.contains("library"), "{text}");
        let numbers = [0.0, 0.01234, 1.234, 12.34, 123.4, 1_234_567.0].map(short);
        assert_eq!(numbers, ["0", "0.012", "1.23", "12.3", "123", "1234567"]);
    }

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let written = serde_json::to_string(&run(7.0)).unwrap();
        let read: Run = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), written);
    }
}
