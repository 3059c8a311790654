//! What was measured of many loads as one, with the rounds of all runs: one line a figure, from what the runs wrote.

use std::fmt::Write as _;

use serde_json::Value;

use super::goals::{array, held_against};
use super::markdown::interval;
use super::statistics::{Estimate, ratio};

/// What the names of such cases have in them.
pub(crate) const TOGETHER: &str = ", all ";

/// Of each tool its ratio to no tool, then of each goal that names another tool the ratio to that one; nothing where
/// no run has such a case.
pub(crate) fn render(runs: &[Value]) -> String {
    let figures = || runs.iter().flat_map(|run| array(&run["figures"]));
    let Some(first) = figures().find(|figure| is_pooled(figure)) else { return String::new() };
    let against = first["against"].as_str().unwrap_or_default();
    let tools = array(&first["variants"]).iter().filter_map(|variant| variant["name"].as_str());
    let mut columns: Vec<(&str, &str)> =
        tools.filter(|name| *name != against).map(|name| (name, against)).collect();
    for goal in array(&first["goals"]) {
        let to = goal["goal"].as_str().and_then(|text| held_against(first, text));
        if let (Some(name), Some(to)) = (goal["variant"].as_str(), to.filter(|to| *to != against)) {
            columns.push((name, to));
        }
    }
    let title = |(name, to): &(&str, &str)| match *to == against {
        true => (*name).to_owned(),
        false => format!("{name} / {to}"),
    };
    let titles: Vec<String> = columns.iter().map(title).collect();
    let mut text = format!(
        "| case | figure | n | {} |\n|---|---|--:|{}\n",
        titles.join(" | "),
        "---|".repeat(titles.len())
    );
    let mut told: Vec<(&Value, &Value)> = Vec::new();
    for figure in figures().filter(|figure| is_pooled(figure)) {
        let (case, what) = (&figure["case"], &figure["figure"]);
        if told.contains(&(case, what)) {
            continue;
        }
        told.push((case, what));
        let same: Vec<&Value> =
            figures().filter(|other| other["case"] == *case && other["figure"] == *what).collect();
        let count: usize = same.iter().map(|figure| values(figure, against).len()).sum();
        let _ = write!(
            text,
            "| {} | {} | {count} |",
            case.as_str().unwrap_or_default(),
            what.as_str().unwrap_or_default()
        );
        for (name, to) in &columns {
            let cell = of_all(&same, name, to).map_or_else(|| "-".to_owned(), interval);
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    text
}

fn is_pooled(figure: &Value) -> bool {
    figure["case"].as_str().is_some_and(|case| case.contains(TOGETHER))
}

/// The ratio of one variant to another, from the rounds of all these figures.
pub(crate) fn of_all(figures: &[&Value], name: &str, to: &str) -> Option<Estimate> {
    let rounds = figures.iter().flat_map(|figure| values(figure, name).into_iter().zip(values(figure, to)));
    let (each, against): (Vec<f64>, Vec<f64>) = rounds.unzip();
    ratio(&each, &against)
}

fn values(figure: &Value, name: &str) -> Vec<f64> {
    let variant = array(&figure["variants"]).iter().find(|variant| variant["name"] == name);
    variant.map_or_else(Vec::new, |found| array(&found["values"]).iter().filter_map(Value::as_f64).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rounds_of_two_runs_are_one_line() {
        let run = |roots: [f64; 2]| {
            json!({"figures": [{
                "row": "target", "case": "10.0.12 server, all mixes", "figure": "pause", "unit": "x", "against": "none",
                "variants": [
                    {"name": "none", "values": [1.0, 1.0]},
                    {"name": "roots", "values": roots},
                    {"name": "floor", "values": [1.0, 2.0]},
                ],
                "goals": [
                    {"variant": "roots", "goal": "<= 1.05x floor"},
                    {"variant": "roots", "goal": "<= 1.20x none"},
                ],
            }]})
        };
        let text = render(&[run([1.0, 2.0]), run([3.0, 4.0])]);
        assert!(text.contains("| roots | floor | roots / floor |"), "{text}");
        let line = "| 10.0.12 server, all mixes | pause | 4 | 2.50x [1.00, 4.00] | 1.50x [1.00, 2.00] | 1.50x [1.00, 3.00] |";
        assert!(text.contains(line), "{text}");
        assert_eq!(render(&[json!({"figures": []})]), "");
    }
}
