//! Several runs against several others: text, Markdown, JSON.

use std::io;

use serde::Serialize;

use super::diff_findings;
use super::diff_side::DiffSide;
use super::gate;
use super::json::{Number, TOOL, Tool};
use super::markdown::plain;
use super::style::{Role, Style, Terminal, wrapped};
use super::table::{Cell, Column, table};
use super::units::{Units, in_unit, plural};
use crate::assertion::{ChangeAssertion, ChangeVerdict, Unit};
use crate::escape::{escape_untrusted, to_json_pretty};
use crate::experiment::{Comparison, FAMILY_ERROR, Outcome};

/// One metric of all runs.
#[derive(Debug, Clone)]
pub(crate) struct RunsRow {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) comparison: Comparison,
    /// The others are shown only: each that is judged makes all the others harder to find.
    pub(crate) is_judged: bool,
}

/// The content of the comparison.
#[derive(Debug)]
pub(crate) struct RunsReport<'a> {
    /// The runs before and after.
    pub(crate) sides: [Vec<DiffSide>; 2],
    pub(crate) rows: &'a [RunsRow],
    pub(crate) judged: &'a [ChangeVerdict],
    /// Those of the verdicts.
    pub(crate) assertions: &'a [ChangeAssertion],
    pub(crate) warnings: &'a [String],
    /// Smaller differences are not called better or worse, in percent.
    pub(crate) min_effect_percent: f64,
    /// The exit code.
    pub(crate) code: i32,
}

const WORSE: &str = "worse, beyond noise";
const BETTER: &str = "better, beyond noise";

fn interval(row: &RunsRow) -> String {
    let both = match row.unit {
        Unit::Percent => row.comparison.shift.and_then(|shift| shift.interval),
        _ => row.comparison.interval_percent(),
    };
    match both {
        Some((low, high)) if low.is_finite() && high.is_finite() && low != high => {
            format!("{low:+.1} to {high:+.1}")
        }
        _ => String::new(),
    }
}

fn word(row: &RunsRow, min_effect_percent: f64) -> String {
    let more = row.comparison.shift.is_some_and(|shift| shift.by > 0.0);
    let word = match row.comparison.outcome {
        _ if !row.is_judged => "",
        Outcome::Differs if more => WORSE,
        Outcome::Differs => BETTER,
        Outcome::Small => return format!("differs, below {min_effect_percent} %"),
        Outcome::Noise => "within noise",
        Outcome::Equal => "",
        Outcome::TooFew => "too few runs",
        Outcome::Unknown => "on one side only",
    };
    word.to_owned()
}

impl RunsReport<'_> {
    fn method(&self) -> String {
        let judged = self.rows.iter().filter(|row| row.is_judged).count();
        format!(
            "medians of the runs; beyond noise: by the exact rank-sum test (Mann-Whitney, two-sided) across runs, at {:.0} % for {} (Holm); change: by the median of all ratios between runs (Hodges-Lehmann), with its 95 % interval; better and worse from {} %",
            FAMILY_ERROR * 100.0,
            match judged {
                1 => "the one metric judged".to_owned(),
                n => format!("the {n} metrics judged together"),
            },
            self.min_effect_percent
        )
    }

    fn titles(&self) -> [String; 2] {
        let title = |name: &str, side: &[DiffSide]| {
            let files: Vec<String> = side.iter().map(|run| escape_untrusted(&run.file)).collect();
            format!("{name:<7}{}: {}", plural(side.len() as u64, "run"), files.join(" "))
        };
        [title("before", &self.sides[0]), title("after", &self.sides[1])]
    }

    /// How many runs a side would do, if these are too few to find anything.
    fn too_few(&self) -> Option<String> {
        let few = self.rows.iter().find(|row| row.comparison.outcome == Outcome::TooFew)?;
        Some(format!(
            "these are too few runs to tell a change from the spread between runs: {} a side can",
            few.comparison.needed_runs
        ))
    }

    /// A line for each verdict.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        let one = |(judged, assertion): (&ChangeVerdict, &ChangeAssertion)| {
            let row = self.rows.iter().find(|row| row.name == judged.name);
            gate::line(judged, assertion, row.map(|row| &row.comparison))
        };
        self.judged.iter().zip(self.assertions).map(one).collect()
    }

    /// For people.
    pub(crate) fn text(&self, terminal: Terminal, units: Units) -> String {
        let columns = terminal.columns.min(100);
        let mut lines: Vec<String> =
            self.titles().iter().flat_map(|title| wrapped(title, 0, columns)).collect();
        for warning in self.warnings.iter().cloned().chain(self.too_few()) {
            lines.extend(wrapped(&format!("gcwatch: {}", escape_untrusted(&warning)), 0, columns));
        }
        lines.push(String::new());
        let style = Style { colour: terminal.colour, unicode: terminal.unicode };
        let names = [
            Column::left("", 0),
            Column::right("before", 2),
            Column::right("after", 2),
            Column::right("change", 2),
            Column::right("95 %", 2),
            Column::left("", 2),
        ];
        let rows: Vec<Vec<Cell>> = self
            .rows
            .iter()
            .map(|row| cells(row, self.min_effect_percent, units, terminal.unicode))
            .collect();
        let table = table(style, &names, &rows, terminal.columns);
        lines.extend(table.into_iter().map(super::style::Line::into_string));
        lines.push(String::new());
        lines.extend(wrapped(&self.method(), 0, columns));
        if !self.judged.is_empty() {
            lines.push(String::new());
            lines.extend(self.verdicts().iter().flat_map(|line| gate::in_columns(line, columns)));
        }
        lines.extend(diff_findings::text(&self.sides[0], &self.sides[1], columns));
        lines.join("\n") + "\n"
    }

    /// For a comment on a pull request.
    pub(crate) fn markdown(&self, units: Units) -> String {
        let mut lines = vec!["### gcwatch diff".to_owned(), String::new()];
        if !self.judged.is_empty() {
            lines.push("```text".to_owned());
            lines.extend(self.verdicts());
            lines.extend(["```".to_owned(), String::new()]);
        }
        lines.extend(self.titles().iter().map(|title| format!("- {}", plain(title))));
        let notes = self.warnings.iter().cloned().chain(self.too_few());
        lines.extend(notes.map(|warning| format!("- ⚠️ {}", plain(&warning))));
        let findings = diff_findings::lines(&self.sides[0], &self.sides[1]);
        lines.extend(findings.iter().map(|line| format!("- {}", plain(line))));
        lines.extend([
            String::new(),
            "| metric | before | after | change | 95 % | |".to_owned(),
            "|---|---:|---:|---:|---|---|".to_owned(),
        ]);
        for row in self.rows {
            let cells: Vec<String> = cells(row, self.min_effect_percent, units, true)
                .into_iter()
                .skip(1)
                .map(|(text, _)| text)
                .collect();
            lines.push(format!("| `{}` | {} |", row.name, cells.join(" | ")));
        }
        lines.extend([String::new(), format!("<sub>{}</sub>", self.method())]);
        lines.join("\n") + "\n"
    }

    /// For scripts.
    pub(crate) fn json(&self) -> io::Result<String> {
        let wire = Wire {
            schema: "gcwatch-diff-runs/1",
            tool: TOOL,
            before: &self.sides[0],
            after: &self.sides[1],
            test: "rank-sum-exact-two-sided",
            correction: "holm",
            family_error: FAMILY_ERROR,
            min_effect_percent: Number(self.min_effect_percent),
            metrics: self.rows.iter().map(MetricOut::of).collect(),
            fail_on: self.judged.iter().map(|j| FailOn { expr: &j.text, fails: j.fails }).collect(),
            warnings: self.warnings,
            exit: Exit { gcwatch: self.code },
        };
        Ok(to_json_pretty(&wire)? + "\n")
    }
}

fn cells(row: &RunsRow, min_effect_percent: f64, units: Units, unicode: bool) -> Vec<Cell> {
    let median = |side: usize| {
        row.comparison.medians[side].map_or_else(|| "-".to_owned(), |m| in_unit(m, row.unit, units, unicode))
    };
    let word = word(row, min_effect_percent);
    let role = match word.as_str() {
        WORSE => Role::Alarm,
        BETTER => Role::Strong,
        _ => Role::Dim,
    };
    vec![
        (row.name.clone(), Role::Plain),
        (median(0), Role::Plain),
        (median(1), Role::Plain),
        (gate::change(&row.comparison, row.unit), Role::Plain),
        (interval(row), Role::Dim),
        (word, role),
    ]
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    tool: Tool,
    before: &'a [DiffSide],
    after: &'a [DiffSide],
    test: &'static str,
    correction: &'static str,
    /// The permitted probability of any false alarm, for all metrics judged.
    family_error: f64,
    min_effect_percent: Number,
    metrics: Vec<MetricOut<'a>>,
    fail_on: Vec<FailOn<'a>>,
    warnings: &'a [String],
    exit: Exit,
}

#[derive(Serialize)]
struct MetricOut<'a> {
    metric: &'a str,
    unit: &'static str,
    /// How many runs of each side have a value.
    runs: [usize; 2],
    /// Medians.
    before: Option<Number>,
    after: Option<Number>,
    /// Half of the runs lie within this distance of the median.
    before_spread: Option<Number>,
    after_spread: Option<Number>,
    change: Option<Number>,
    change_low: Option<Number>,
    change_high: Option<Number>,
    change_percent: Option<Number>,
    p: Option<f64>,
    judged: bool,
    adjusted_p: Option<f64>,
    /// Null: not judged, or too few runs.
    beyond_noise: Option<bool>,
    needed_runs: Option<usize>,
}

impl MetricOut<'_> {
    fn of(row: &RunsRow) -> MetricOut<'_> {
        // JSON has no infinity.
        let number = |value: Option<f64>| value.filter(|value| value.is_finite()).map(Number);
        let RunsRow { name, unit, comparison: c, is_judged } = row;
        let interval = c.shift.and_then(|shift| shift.interval);
        MetricOut {
            metric: name,
            unit: unit.name(),
            runs: c.runs,
            before: number(c.medians[0]),
            after: number(c.medians[1]),
            before_spread: number(c.spreads[0]),
            after_spread: number(c.spreads[1]),
            change: number(c.shift.map(|shift| shift.by)),
            change_low: number(interval.map(|(low, _)| low)),
            change_high: number(interval.map(|(_, high)| high)),
            change_percent: number(c.change_percent()),
            p: c.p,
            judged: *is_judged,
            adjusted_p: c.adjusted_p,
            beyond_noise: c.beyond_noise(),
            needed_runs: is_judged.then_some(c.needed_runs),
        }
    }
}

#[derive(Serialize)]
struct FailOn<'a> {
    expr: &'a str,
    fails: Option<bool>,
}

#[derive(Serialize)]
struct Exit {
    gcwatch: i32,
}
