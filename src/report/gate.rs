//! The verdicts on changes that must not occur, by several runs a side.

use super::style::wrapped;
use crate::assertion::{ChangeAssertion, ChangeVerdict, Unit};
use crate::experiment::{Comparison, Outcome};

/// In percent; a percentage changes by points.
fn percent(unit: Unit, change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    match unit {
        _ if change == 0.0 => "=".to_owned(),
        Unit::Percent => format!("{sign}{change:.1} pt"),
        _ if change.is_infinite() => if change > 0.0 { "new" } else { "gone" }.to_owned(),
        _ => format!("{sign}{change:.1} %"),
    }
}

/// The change, as reports show it.
pub(super) fn change(comparison: &Comparison, unit: Unit) -> String {
    let by = match unit {
        Unit::Percent => comparison.shift.map(|shift| shift.by),
        _ => comparison.change_percent(),
    };
    by.map_or_else(|| "-".to_owned(), |by| percent(unit, by))
}

/// A line: the verdict, the assertion, and why.
pub(super) fn line(
    judged: &ChangeVerdict,
    assertion: &ChangeAssertion,
    comparison: Option<&Comparison>,
) -> String {
    let sign = match judged.fails {
        Some(true) => "FAIL",
        Some(false) => "ok",
        None => "?",
    };
    let why = comparison.map_or_else(
        || "could not be judged: no data".to_owned(),
        |comparison| why(judged, assertion, comparison),
    );
    format!("{sign:<6}{}  {why}", judged.text)
}

/// The line in as many columns as there are.
pub(super) fn in_columns(line: &str, columns: usize) -> Vec<String> {
    // Wrapping makes one space of several.
    wrapped(&line.replace("  ", "\u{a0}\u{a0}"), 6, columns)
}

fn why(judged: &ChangeVerdict, assertion: &ChangeAssertion, comparison: &Comparison) -> String {
    let change = change(comparison, assertion.unit());
    match (judged.fails, comparison.outcome) {
        (None, Outcome::TooFew) => {
            let [before, after] = comparison.runs;
            format!(
                "could not be judged: it takes {} runs a side with this figure, and there are {before} and {after}",
                comparison.needed_runs
            )
        }
        (None, _) => "could not be judged: a side has no data".to_owned(),
        (Some(true), _) => format!("{change}  (beyond noise)"),
        (Some(false), Outcome::Noise) => {
            let runs = assertion.bound_percent().and_then(|percent| comparison.runs_for(percent));
            let few = runs.filter(|runs| *runs > comparison.runs[0].min(comparison.runs[1]));
            let more = few.map_or_else(String::new, |runs| {
                format!("; to find such a change 4 times in 5 takes about {runs} runs a side")
            });
            format!("{change}  (within noise{more})")
        }
        (Some(false), _) => change,
    }
}
