//! Goals of one run or of several, from what the runs wrote: how many were met, and every one that was not.

use std::fmt::Write as _;

use serde_json::Value;

use super::markdown::{interval, short};
use super::pooled;
use super::statistics::Estimate;

/// A goal, with what each run found.
#[derive(Debug)]
struct Line<'a> {
    row: &'a str,
    case: &'a str,
    figure: &'a str,
    unit: &'a str,
    variant: &'a str,
    goal: &'a str,
    /// What was found and the outcome; `None` where a run did not judge it.
    runs: Vec<Option<(String, &'a str)>>,
    /// What it was judged by, of each run that did.
    figures: Vec<&'a Value>,
}

impl Line<'_> {
    /// The ratio from the rounds of all runs, where it is one and there are several.
    fn of_all_runs(&self) -> Option<Estimate> {
        let to = held_against(self.figures.first()?, self.goal)?;
        (self.figures.len() > 1).then(|| pooled::of_all(&self.figures, self.variant, to))?
    }

    /// What the runs say together. One that found a goal met and one that found it missed contradict each other; one that
    /// could not decide it contradicts neither.
    fn conclusion(&self) -> &'static str {
        let found = |wanted: &str| self.runs.iter().flatten().any(|(_, outcome)| *outcome == wanted);
        match (found("met"), found("undecided"), found("missed")) {
            (true, _, true) => "runs differ",
            (true, true, false) => "met or undecided",
            (true, false, false) => "met",
            (false, _, true) => "missed",
            (false, true, false) => "undecided",
            (false, false, false) => "not measured",
        }
    }
}

const CONCLUSIONS: [&str; 6] =
    ["met", "met or undecided", "undecided", "missed", "runs differ", "not measured"];

/// Counts for each row of the goals, what many loads say together, and the goals that were not met in every run.
pub(crate) fn render(runs: &[Value]) -> String {
    let lines = lines(runs);
    let mut text = format!(
        "| row | goals | {} |\n|---|--:|{}\n",
        CONCLUSIONS.join(" | "),
        "--:|".repeat(CONCLUSIONS.len())
    );
    let mut rows: Vec<&str> = Vec::new();
    for line in &lines {
        if !rows.contains(&line.row) {
            rows.push(line.row);
        }
    }
    for row in rows {
        let of_row: Vec<&Line<'_>> = lines.iter().filter(|line| line.row == row).collect();
        let _ = write!(text, "| {row} | {} |", of_row.len());
        for conclusion in CONCLUSIONS {
            let count = of_row.iter().filter(|line| line.conclusion() == conclusion).count();
            let _ = write!(text, " {count} |");
        }
        text.push('\n');
    }
    let pooled = pooled::render(runs);
    if !pooled.is_empty() {
        let _ = write!(text, "\n{pooled}");
    }
    let several = runs.len() > 1;
    let open: Vec<&Line<'_>> = lines.iter().filter(|line| line.conclusion() != "met").collect();
    if open.is_empty() {
        return text;
    }
    let _ = write!(
        text,
        "\n| row | case | figure | goal |{}{}\n|---|---|---|---|{}\n",
        (1..=runs.len()).fold(String::new(), |text, run| format!("{text} run {run} |")),
        if several { " all rounds |" } else { "" },
        "---|".repeat(runs.len() + usize::from(several))
    );
    for line in open {
        let unit = if line.unit.is_empty() { String::new() } else { format!(", {}", line.unit) };
        let _ = write!(
            text,
            "| {} | {} | {}{unit} | {} {} |",
            line.row, line.case, line.figure, line.variant, line.goal
        );
        for run in &line.runs {
            let _ = match run {
                Some((found, "missed")) => write!(text, " {found}: **missed** |"),
                Some((found, outcome)) => write!(text, " {found}: {outcome} |"),
                None => write!(text, " - |"),
            };
        }
        if several {
            let all = line.of_all_runs().map_or_else(|| "-".to_owned(), interval);
            let _ = write!(text, " {all} |");
        }
        text.push('\n');
    }
    text
}

fn lines(runs: &[Value]) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for figure in array(&run["figures"]) {
            for goal in array(&figure["goals"]) {
                let text = |value: &'_ Value| -> String { value.as_str().unwrap_or_default().to_owned() };
                let found = (told(figure, goal), goal["outcome"].as_str().unwrap_or_default());
                let same = |line: &&mut Line<'_>| {
                    line.row == figure["row"]
                        && line.case == figure["case"]
                        && line.figure == figure["figure"]
                        && line.variant == goal["variant"]
                        && line.goal == text(&goal["goal"])
                };
                if let Some(line) = lines.iter_mut().find(same) {
                    line.runs[index] = Some(found);
                    line.figures.push(figure);
                    continue;
                }
                let mut found_by = vec![None; runs.len()];
                found_by[index] = Some(found);
                lines.push(Line {
                    row: figure["row"].as_str().unwrap_or_default(),
                    case: figure["case"].as_str().unwrap_or_default(),
                    figure: figure["figure"].as_str().unwrap_or_default(),
                    unit: figure["unit"].as_str().unwrap_or_default(),
                    variant: goal["variant"].as_str().unwrap_or_default(),
                    goal: goal["goal"].as_str().unwrap_or_default(),
                    runs: found_by,
                    figures: vec![figure],
                });
            }
        }
    }
    lines
}

/// The ratio that was judged, or the median.
fn told(figure: &Value, goal: &Value) -> String {
    let ratio = &goal["ratio"];
    if let (Some(value), Some(low), Some(high)) =
        (ratio["value"].as_f64(), ratio["low"].as_f64(), ratio["high"].as_f64())
    {
        return format!("{value:.2}x [{low:.2}, {high:.2}]");
    }
    let variant = array(&figure["variants"]).iter().find(|variant| variant["name"] == goal["variant"]);
    variant.and_then(|variant| variant["median"].as_f64()).map_or_else(|| "-".to_owned(), short)
}

/// What a goal of a figure holds its variant against, by the goal's words.
pub(crate) fn held_against<'f>(figure: &'f Value, goal: &str) -> Option<&'f str> {
    let names = array(&figure["variants"]).iter().filter_map(|variant| variant["name"].as_str());
    names.filter(|name| goal.contains(name)).max_by_key(|name| name.len())
}

pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(outcome: &str, value: f64) -> Value {
        json!({"figures": [{
            "row": "size", "case": "executable", "figure": "size", "unit": "MiB",
            "variants": [{"name": "gcwatch", "median": value}],
            "goals": [{"variant": "gcwatch", "goal": "<= 6 MiB", "ratio": null, "outcome": outcome}],
        }]})
    }

    #[test]
    fn rounds_of_all_runs_are_taken_together() {
        let run = |values: [f64; 2]| {
            json!({"figures": [{
                "row": "target", "case": "mix", "figure": "pause", "unit": "x",
                "variants": [
                    {"name": "none", "values": [1.0, 1.0]},
                    {"name": "none again", "values": [7.0, 7.0]},
                    {"name": "roots", "values": values},
                ],
                "goals": [{"variant": "roots", "goal": "<= 1.05x none", "ratio": null, "outcome": "missed"}],
            }]})
        };
        let text = render(&[run([1.1, 1.2]), run([1.3, 1.4])]);
        assert!(text.contains("| all rounds |") && text.contains("| 1.25x [1.10, 1.40] |"), "{text}");
        assert!(!render(&[run([1.1, 1.2])]).contains("all rounds"));
    }

    #[test]
    fn runs_that_agree_are_told_from_those_that_do_not() {
        let text = render(&[run("missed", 7.0), run("missed", 6.5)]);
        assert!(text.contains("| size | 1 | 0 | 0 | 0 | 1 | 0 | 0 |"), "{text}");
        let line =
            "| size | executable | size, MiB | gcwatch <= 6 MiB | 7.00: **missed** | 6.50: **missed** | - |";
        assert!(text.contains(line), "{text}");
        for (first, second, counts) in [
            ("missed", "met", "0 | 0 | 0 | 0 | 1 | 0"),
            ("missed", "undecided", "0 | 0 | 0 | 1 | 0 | 0"),
            ("undecided", "met", "0 | 1 | 0 | 0 | 0 | 0"),
            ("undecided", "undecided", "0 | 0 | 1 | 0 | 0 | 0"),
        ] {
            let text = render(&[run(first, 7.0), run(second, 5.0)]);
            assert!(text.contains(&format!("| size | 1 | {counts} |")), "{first}, {second}: {text}");
        }
        assert!(!render(&[run("met", 5.0), run("met", 5.0)]).contains("executable"));
    }
}
