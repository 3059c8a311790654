//! Two watches side by side: text, Markdown, JSON.

use std::io;

use serde::Serialize;

use super::diff_findings;
use super::diff_side::DiffSide;
use super::json::{Number, TOOL, Tool};
use super::style::{Role, Style, Terminal, wrapped};
use super::table::{Cell, Column, table};
use super::units::{Units, count, duration, in_unit};
use crate::assertion::{ChangeVerdict, Row, Test, Unit};
use crate::escape::{escape_untrusted, to_json_pretty};

/// The content of the comparison.
#[derive(Debug)]
pub(crate) struct DiffReport<'a> {
    pub(crate) before: DiffSide,
    pub(crate) after: DiffSide,
    pub(crate) rows: &'a [Row],
    pub(crate) judged: &'a [ChangeVerdict],
    pub(crate) warnings: &'a [String],
    /// So many runs a side could tell a change from the spread between runs.
    pub(crate) needed_runs: usize,
    /// The exit code.
    pub(crate) code: i32,
}

const FOOTNOTE: &str = "in this pair: more than the spread within the two runs (99 % interval of a moving-block bootstrap for \
statistics of pauses and sizes, Poisson test for counts); another pair may differ; ? where there is no test, or too little data";

fn shown(value: Option<f64>, unit: Unit, units: Units, unicode: bool) -> String {
    value.map_or_else(|| "-".to_owned(), |value| in_unit(value, unit, units, unicode))
}

/// The value per second, for watches of different lengths.
fn shown_per_second(value: Option<f64>, unit: Unit, units: Units, unicode: bool) -> String {
    let Some(rate) = value else { return "-".to_owned() };
    match unit {
        Unit::Count if rate == 0.0 => "0/s".to_owned(),
        Unit::Count => format!("{rate:.*}/s", if rate.abs() < 1.0 { 3 } else { 1 }),
        unit => shown(value, unit, units, unicode) + "/s",
    }
}

fn both(row: &Row, units: Units, unicode: bool) -> (String, String) {
    match row.rates() {
        Some((before, after)) => (
            shown_per_second(before, row.unit, units, unicode),
            shown_per_second(after, row.unit, units, unicode),
        ),
        None => (shown(row.before, row.unit, units, unicode), shown(row.after, row.unit, units, unicode)),
    }
}

/// The change in percent; a percentage changes by points.
fn change(row: &Row) -> String {
    if row.unit == Unit::Percent {
        return match row.change() {
            None => "-".to_owned(),
            Some(0.0) => "=".to_owned(),
            Some(points) => format!("{points:+.1} pt"),
        };
    }
    match row.change_percent() {
        None => "-".to_owned(),
        Some(0.0) => "=".to_owned(),
        Some(p) if p.is_infinite() => if p > 0.0 { "new" } else { "gone" }.to_owned(),
        Some(p) => {
            let digits = if p.abs() < 9.95 { format!("{:.1}", p.abs()) } else { format!("{:.0}", p.abs()) };
            format!("{}{digits} %", if p > 0.0 { "+" } else { "-" })
        }
    }
}

/// Worse or better, and whether the change exceeds the noise.
fn word(row: &Row) -> &'static str {
    match (row.change(), row.noise.beyond) {
        (None, _) => "on one side only",
        (Some(0.0), _) => "",
        (Some(_), Some(false)) => "within noise",
        (Some(c), Some(true)) if c > 0.0 => "worse, in this pair",
        (Some(_), Some(true)) => "better, in this pair",
        (Some(c), None) if c > 0.0 => "more ?",
        (Some(_), None) => "less ?",
    }
}

impl DiffReport<'_> {
    fn titles(&self) -> Vec<String> {
        let side = |name: &str, side: &DiffSide| {
            let mut text =
                format!("{name:<7}{}: {} collections", escape_untrusted(&side.file), count(side.gcs));
            if let Some(ns) = side.duration_ns {
                text += &format!(" in {}", duration(ns, true));
            }
            text + &format!(", {}", side.level.name())
        };
        vec![side("before", &self.before), side("after", &self.after)]
    }

    /// A line for each verdict.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        let line = |j: &ChangeVerdict| {
            let word = match j.fails {
                Some(true) => "FAIL",
                Some(false) => "ok",
                None => "?",
            };
            let row = self.rows.iter().find(|row| row.name == j.name);
            let why = match (j.fails, row) {
                (None, _) => "could not be judged: no data".to_owned(),
                (Some(true), Some(row)) if row.noise.beyond == Some(false) => {
                    format!("{}  (one run a side)", change(row))
                }
                (_, Some(row)) => format!("{}  {}", change(row), word_of(row)),
                (_, None) => String::new(),
            };
            format!("{word:<6}{}  {}", j.text, why.trim()).trim_end().to_owned()
        };
        self.judged.iter().map(line).collect()
    }

    fn one_run(&self) -> String {
        format!(
            "one run a side cannot tell a change from the spread between runs: {} runs a side can (gcwatch diff A1 A2 ... -- B1 B2 ...)",
            self.needed_runs
        )
    }

    /// For people.
    pub(crate) fn text(&self, terminal: Terminal, units: Units) -> String {
        let unicode = terminal.unicode;
        let mut lines = self.titles();
        for warning in self.warnings {
            let warning = format!("gcwatch: {}", escape_untrusted(warning));
            lines.extend(wrapped(&warning, 0, terminal.columns.min(100)));
        }
        lines.push(String::new());
        let plain = |text: String| (text, Role::Plain);
        let cells = |row: &Row| {
            let (before, after) = both(row, units, unicode);
            [row.name.clone(), before, after, change(row), word(row).to_owned()].map(plain).to_vec()
        };
        let names = [
            Column::left("", 0),
            Column::right("before", 2),
            Column::right("after", 2),
            Column::right("change", 2),
            Column::left("", 2),
        ];
        let rows: Vec<Vec<Cell>> = self.rows.iter().map(cells).collect();
        let table = table(Style { colour: false, unicode }, &names, &rows, terminal.columns);
        let paint = |row: Option<&Row>, line: String| {
            let alarm = row.is_some_and(|r| r.noise.beyond == Some(true) && r.change() > Some(0.0));
            if terminal.colour && alarm { format!("\x1b[31m{line}\x1b[0m") } else { line }
        };
        for (n, line) in table.into_iter().enumerate() {
            lines.push(paint(n.checked_sub(1).map(|n| &self.rows[n]), line.into_string()));
        }
        lines.push(String::new());
        lines.extend(wrapped(FOOTNOTE, 0, terminal.columns.min(100)));
        lines.extend(wrapped(&self.one_run(), 0, terminal.columns.min(100)));
        if !self.judged.is_empty() {
            lines.push(String::new());
            lines.extend(self.verdicts());
        }
        let (before, after) = (std::slice::from_ref(&self.before), std::slice::from_ref(&self.after));
        lines.extend(diff_findings::text(before, after, terminal.columns.min(100)));
        lines.join("\n") + "\n"
    }

    /// For a comment on a pull request.
    pub(crate) fn markdown(&self, units: Units) -> String {
        let mut lines = vec!["### gcwatch diff".to_owned(), String::new()];
        lines.extend(self.titles().into_iter().map(|t| format!("- {}", super::markdown::plain(&t))));
        lines.extend(self.warnings.iter().map(|w| format!("- ⚠️ {}", super::markdown::plain(w))));
        if !self.judged.is_empty() {
            lines.extend([String::new(), "```text".to_owned()]);
            lines.extend(self.verdicts());
            lines.push("```".to_owned());
        }
        let (before, after) = (std::slice::from_ref(&self.before), std::slice::from_ref(&self.after));
        let findings = diff_findings::lines(before, after);
        lines.extend(findings.iter().map(|line| format!("- {}", super::markdown::plain(line))));
        lines.extend([
            String::new(),
            "| metric | before | after | change | |".to_owned(),
            "|---|---:|---:|---:|---|".to_owned(),
        ]);
        for row in self.rows {
            let (before, after) = both(row, units, true);
            lines.push(format!("| `{}` | {before} | {after} | {} | {} |", row.name, change(row), word(row)));
        }
        lines.extend([String::new(), format!("<sub>{FOOTNOTE}; {}</sub>", self.one_run())]);
        lines.join("\n") + "\n"
    }

    /// For scripts.
    pub(crate) fn json(&self) -> io::Result<String> {
        #[derive(Serialize)]
        struct Wire<'a> {
            schema: &'static str,
            tool: Tool,
            before: &'a DiffSide,
            after: &'a DiffSide,
            metrics: Vec<Metric<'a>>,
            fail_on: Vec<FailOn<'a>>,
            warnings: &'a [String],
            needed_runs: usize,
            exit: Exit,
        }
        #[derive(Serialize)]
        struct Exit {
            gcwatch: i32,
        }
        #[derive(Serialize)]
        struct Metric<'a> {
            metric: &'a str,
            unit: &'static str,
            before: Option<Number>,
            after: Option<Number>,
            /// Null: both are compared as they are.
            before_per_second: Option<Number>,
            after_per_second: Option<Number>,
            change: Option<Number>,
            change_percent: Option<Number>,
            noise: NoiseOut,
        }
        #[derive(Serialize)]
        struct NoiseOut {
            test: &'static str,
            beyond: Option<bool>,
            low_percent: Option<Number>,
            high_percent: Option<Number>,
            reason: Option<&'static str>,
        }
        #[derive(Serialize)]
        struct FailOn<'a> {
            expr: &'a str,
            fails: Option<bool>,
        }
        let noise = |row: &Row| {
            let (test, low_percent, high_percent, reason) = match row.noise.test {
                Test::Bootstrap { low_percent, high_percent } => {
                    ("moving-block-bootstrap", Some(Number(low_percent)), Some(Number(high_percent)), None)
                }
                Test::Poisson => ("poisson", None, None, None),
                Test::Untested(why) => ("none", None, None, Some(why)),
            };
            NoiseOut { test, beyond: row.noise.beyond, low_percent, high_percent, reason }
        };
        let wire = Wire {
            schema: "gcwatch-diff/1",
            tool: TOOL,
            before: &self.before,
            after: &self.after,
            metrics: self
                .rows
                .iter()
                .map(|row| Metric {
                    metric: &row.name,
                    unit: row.unit.name(),
                    before: row.before.map(Number),
                    after: row.after.map(Number),
                    before_per_second: row.rates().and_then(|(before, _)| before).map(Number),
                    after_per_second: row.rates().and_then(|(_, after)| after).map(Number),
                    change: row.change().map(Number),
                    // JSON has no infinity.
                    change_percent: row.change_percent().filter(|p| p.is_finite()).map(Number),
                    noise: noise(row),
                })
                .collect(),
            fail_on: self.judged.iter().map(|j| FailOn { expr: &j.text, fails: j.fails }).collect(),
            warnings: self.warnings,
            needed_runs: self.needed_runs,
            exit: Exit { gcwatch: self.code },
        };
        Ok(to_json_pretty(&wire)? + "\n")
    }
}

fn word_of(row: &Row) -> String {
    match word(row) {
        "" => String::new(),
        word => format!("({word})"),
    }
}
