//! Findings as tables in Markdown.

use std::fmt::Write as _;

use super::figure::{Figure, Findings, Outcome};
use super::machine::Machine;
use super::statistics::{Estimate, median};

pub(crate) fn render(machine: &Machine, goals: &str, findings: &Findings) -> String {
    let mut text = format!("{machine}\n\n### Goals\n\n{goals}");
    let mut row = "";
    let mut columns: Vec<&str> = Vec::new();
    for figure in &findings.figures {
        let names: Vec<&str> = figure.variants.iter().map(|variant| variant.name).collect();
        if figure.row != row || names != columns {
            if figure.row != row {
                let _ = write!(text, "\n### {}\n", figure.row);
            }
            let _ = write!(
                text,
                "\n| case | figure | n | {} | goals |\n|---|---|--:|{}---|\n",
                names.join(" | "),
                "---|".repeat(names.len())
            );
            (row, columns) = (figure.row, names);
        }
        line(&mut text, figure);
    }
    if !findings.growth.is_empty() {
        text.push_str("\n### Growth\n\n| row | figure | input | cost at each | exponent | of the last step |\n|---|---|---|---|--:|--:|\n");
        for growth in &findings.growth {
            let (all, last) = growth.exponents();
            let points: Vec<String> = growth
                .points
                .iter()
                .map(|(input, cost)| format!("{}: {} {}", short(*input), short(*cost), growth.unit))
                .collect();
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                growth.row,
                growth.what,
                growth.input,
                points.join(", "),
                or_dash(all),
                or_dash(last)
            );
        }
    }
    if !findings.skipped.is_empty() {
        let _ = write!(text, "\n### Not measured: {}\n\n", findings.skipped.len());
        for (what, why) in &findings.skipped {
            let _ = writeln!(text, "- {what}: {}", why.lines().next().unwrap_or_default());
        }
    }
    if !findings.notes.is_empty() {
        text.push_str("\n### Notes\n\n");
        for note in &findings.notes {
            let _ = writeln!(text, "- {note}");
        }
    }
    text
}

/// A cell for each variant: its median, its least and most where it is what others are held against, else its ratio.
fn line(text: &mut String, figure: &Figure) {
    let n = figure.variants.iter().map(|variant| variant.values.len()).min().unwrap_or(0);
    let unit = if figure.unit.is_empty() { String::new() } else { format!(", {}", figure.unit) };
    let _ = write!(text, "| {} | {}{unit} | {n} |", figure.case, figure.what);
    for variant in &figure.variants {
        let fold = |start: f64, pick: fn(f64, f64) -> f64| variant.values.iter().copied().fold(start, pick);
        let cell = match (median(&variant.values), figure.ratio_of(variant.name)) {
            (None, _) => "-".to_owned(),
            (Some(median), Some(ratio)) => format!("{}: {}", short(median), interval(ratio)),
            (Some(median), None) if n == 1 => short(median),
            (Some(median), None) => {
                let (least, most) = (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max));
                format!("{} ({} to {})", short(median), short(least), short(most))
            }
        };
        let _ = write!(text, " {cell} |");
    }
    let goals: Vec<String> = figure
        .verdicts()
        .into_iter()
        .map(|verdict| {
            let outcome = match verdict.outcome {
                Outcome::Missed => "**missed**",
                other => other.text(),
            };
            match verdict.ratio {
                Some(found) => {
                    format!("{} {} (is {:.2}): {outcome}", verdict.variant, verdict.text, found.value)
                }
                None => format!("{} {}: {outcome}", verdict.variant, verdict.text),
            }
        })
        .collect();
    let _ = writeln!(text, " {} |", goals.join("; "));
}

pub(crate) fn interval(found: Estimate) -> String {
    format!("{:.2}x [{:.2}, {:.2}]", found.value, found.low, found.high)
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

/// Three significant digits, without an exponent.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value == 0.0 => "0".to_owned(),
        _ if size >= 1e6 && value % 1e5 == 0.0 => format!("{} M", value / 1e6),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figure::{Goal, Growth};

    #[test]
    fn numbers_are_short() {
        let told = [0.0, 0.01234, 1.234, 12.34, 123.4, 1234.5, 2e6, 1_234_567.0].map(short);
        assert_eq!(told, ["0", "0.012", "1.23", "12.3", "123", "1234", "2 M", "1234567"]);
    }

    #[test]
    fn a_missed_goal_and_a_skip_are_seen() {
        let figure = Figure::new("start-up", "ps", "wall", "ms")
            .against("cat")
            .with("cat", vec![1.0])
            .with("gcwatch", vec![6.0])
            .goal("gcwatch", Goal::AtMost(5.0));
        let growth = Growth {
            row: "replay",
            input: "bytes",
            what: "wall".to_owned(),
            unit: "ms",
            points: vec![(1.0, 1.0), (10.0, 10.0)],
        };
        let findings = Findings {
            figures: vec![figure],
            growth: vec![growth],
            skipped: vec![("Kestrel".to_owned(), "no wrk".to_owned())],
            notes: vec!["busy".to_owned()],
        };
        let text = render(&Machine::of_this(), "", &findings);
        assert!(text.contains("| case | figure | n | cat | gcwatch | goals |"), "{text}");
        let line = "| ps | wall, ms | 1 | 1.00 | 6.00: 6.00x [6.00, 6.00] | gcwatch <= 5 ms: **missed** |";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("1.00: 1.00 ms, 10.0: 10.0 ms | 1.00 | 1.00 |"), "{text}");
        assert!(text.contains("Not measured: 1") && text.contains("- Kestrel: no wrk"));
    }
}
