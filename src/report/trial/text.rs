//! Text, a table for each variant; who is best comes last.

use super::{TrialReport, words};
use crate::escape::escape_untrusted;
use crate::experiment::{Comparison, Measure, Outcome, Side, median, spread};
use crate::report::gate;
use crate::report::style::{Role, Terminal, wrapped};
use crate::report::table::{Cell, Column, table};
use crate::report::units::{Units, plural};

impl TrialReport<'_> {
    /// For people.
    pub(crate) fn text(&self, terminal: Terminal, units: Units) -> String {
        let columns = terminal.columns.min(100);
        let mut lines = wrapped(&words::about(self), 0, columns);
        for (n, side) in self.results.sides.iter().enumerate() {
            if n == 0 || self.several_commands {
                let name =
                    if self.several_commands { format!("{}: ", side.variant.name) } else { String::new() };
                lines.push(format!("{name}{}", words::command(side)));
            }
        }
        let notes = self.left_out.iter().map(|(name, why)| format!("left out: {name}: {why}"));
        for note in notes.chain(self.warnings.iter().cloned()) {
            lines.extend(wrapped(&format!("gcwatch: {}", escape_untrusted(&note)), 0, columns));
        }
        for (n, side) in self.results.sides.iter().enumerate() {
            lines.push(String::new());
            lines.extend(self.side(n, side, terminal, units));
        }
        lines.push(String::new());
        lines.extend(wrapped(&words::method(self), 0, columns));
        lines.push(String::new());
        lines.extend(self.end(terminal, units));
        if !self.gated.is_empty() {
            lines.push(String::new());
            lines.extend(words::gates(self).iter().flat_map(|line| gate::in_columns(line, columns)));
        }
        lines.join("\n") + "\n"
    }

    fn side(&self, place: usize, side: &Side, terminal: Terminal, units: Units) -> Vec<String> {
        let style = terminal.style();
        let variables = side.variant.variables.line();
        let about = if variables.is_empty() || variables == side.variant.name {
            String::new()
        } else {
            format!(" ({variables})")
        };
        let title = format!("{}{about}, {}", side.variant.name, plural(side.runs.len() as u64, "run"));
        let title = escape_untrusted(&title);
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        for (n, measure) in self.results.measures.iter().enumerate() {
            let values: Vec<f64> = side.values(n).collect();
            if values.is_empty() {
                continue;
            }
            let middle = median(&values);
            let mut row = vec![
                (measure.name.clone(), Role::Dim),
                (words::value(middle, measure, units, terminal.unicode), Role::Plain),
                (words::spread(spread(&values), middle, terminal.unicode), Role::Dim),
            ];
            if let Some(comparison) = side.comparisons.get(n) {
                row.extend(compared(comparison, measure));
            }
            rows.push(row);
        }
        let mut columns = vec![Column::left("", 2), Column::right("median", 2), Column::right("", 1)];
        if place > 0 {
            columns.extend([Column::right("ratio", 2), Column::right("95 %", 2), Column::left("", 2)]);
        }
        let mut lines = vec![title];
        lines.extend(
            table(style, &columns, &rows, terminal.columns).into_iter().map(|line| line.into_string()),
        );
        lines
    }

    /// Who is best, and with which settings.
    fn end(&self, terminal: Terminal, units: Units) -> Vec<String> {
        let columns = terminal.columns.min(100);
        if self.results.sides.len() < 2 {
            return vec!["there is nothing to compare".to_owned()];
        }
        let mut lines = Vec::new();
        lines.extend(words::too_few(self).into_iter().flat_map(|text| wrapped(&text, 0, columns)));
        lines.push("Best for".to_owned());
        for winner in &self.winners {
            let text = words::winner(self, winner, units, terminal.unicode);
            lines.extend(
                wrapped(&text, 0, columns.saturating_sub(2)).into_iter().map(|line| format!("  {line}")),
            );
        }
        for side in words::winning_sides(self) {
            let Some(settings) = words::settings(side) else { continue };
            lines.extend([String::new(), format!("{}:", escape_untrusted(&side.variant.name))]);
            lines.push(settings.line);
            lines.extend(
                settings
                    .json
                    .into_iter()
                    .flat_map(|json| json.lines().map(str::to_owned).collect::<Vec<_>>()),
            );
            for name in settings.only_in_environment {
                lines.push(format!("{name} works in the environment only"));
            }
        }
        lines
    }
}

fn compared(comparison: &Comparison, measure: &Measure) -> [Cell; 3] {
    let word = words::word(comparison, measure);
    let role = match (word, comparison.outcome) {
        ("worse", _) => Role::Alarm,
        (_, Outcome::Differs) => Role::Strong,
        _ => Role::Dim,
    };
    [
        (words::ratio(comparison), Role::Plain),
        (words::interval(comparison), Role::Dim),
        (word.to_owned(), role),
    ]
}
