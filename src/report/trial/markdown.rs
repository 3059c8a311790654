//! Markdown, for a comment on a pull request: who is best comes first.

use super::{TrialReport, words};
use crate::experiment::{Side, median, spread};
use crate::report::markdown::plain;
use crate::report::units::{Units, plural};

impl TrialReport<'_> {
    /// For a comment on a pull request.
    pub(crate) fn markdown(&self, units: Units) -> String {
        let mut lines = vec!["### gcwatch try".to_owned(), String::new()];
        if !self.gated.is_empty() {
            lines.push("```text".to_owned());
            lines.extend(words::gates(self));
            lines.extend(["```".to_owned(), String::new()]);
        }
        lines.extend([plain(&words::about(self)), String::new()]);
        for (n, side) in self.results.sides.iter().enumerate() {
            if n == 0 || self.several_commands {
                lines.push(format!("- {}: {}", plain(&side.variant.name), plain(&words::command(side))));
            }
        }
        let left_out = self.left_out.iter().map(|(name, why)| format!("left out: {name}: {why}"));
        let notes = left_out.chain(self.warnings.iter().cloned()).chain(words::too_few(self));
        lines.extend(notes.map(|note| format!("- ⚠️ {}", plain(&note))));
        lines.push(String::new());
        for winner in &self.winners {
            lines.push(format!("- best for {}", plain(&words::winner(self, winner, units, true))));
        }
        for side in words::winning_sides(self) {
            let Some(settings) = words::settings(side) else { continue };
            lines.extend([String::new(), format!("{}:", plain(&side.variant.name))]);
            lines.extend([String::new(), "```text".to_owned(), settings.line]);
            lines.extend(settings.json);
            lines.push("```".to_owned());
            let only = settings.only_in_environment.iter();
            lines.extend(only.map(|name| format!("\n{} works in the environment only", plain(name))));
        }
        for (n, side) in self.results.sides.iter().enumerate() {
            lines.extend(self.side_table(n, side, units));
        }
        lines.extend([String::new(), format!("<sub>{}</sub>", words::method(self))]);
        lines.join("\n") + "\n"
    }

    fn side_table(&self, place: usize, side: &Side, units: Units) -> Vec<String> {
        let mut lines = vec![
            String::new(),
            format!("**{}** ({})", plain(&side.variant.name), plural(side.runs.len() as u64, "run")),
            String::new(),
        ];
        let (names, rules) = if place > 0 { (" ratio | 95 % | |", "---:|---|---|") } else { ("", "") };
        lines.push(format!("| | median | |{names}"));
        lines.push(format!("|---|---:|---|{rules}"));
        for (n, measure) in self.results.measures.iter().enumerate() {
            let values: Vec<f64> = side.values(n).collect();
            if values.is_empty() {
                continue;
            }
            let middle = median(&values);
            let mut row = format!(
                "| `{}` | {} | {} |",
                measure.name,
                words::value(middle, measure, units, true),
                words::spread(spread(&values), middle, true)
            );
            if let Some(c) = side.comparisons.get(n) {
                row +=
                    &format!(" {} | {} | {} |", words::ratio(c), words::interval(c), words::word(c, measure));
            }
            lines.push(row);
        }
        lines
    }
}
