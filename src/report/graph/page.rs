//! The lines of a report on a graph, as they are made.

use super::amounts::Amounts;
use super::object::ReferrerRow;
use super::steps::PathDocument;
use crate::escape::escape_untrusted;
use crate::report::root_lines::shortened;
use crate::report::style::{Line, Role, Style, Terminal, wrap};
use crate::report::table::{Cell, Column, table};
use crate::report::units::{Units, bytes, count, plural};

/// A longer text is not read by anybody, and a file can make it as long as it wants.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The lines of a report, as they are made.
pub(super) struct Page {
    pub(super) style: Style,
    pub(super) units: Units,
    pub(super) columns: usize,
    lines: Vec<String>,
    /// Of all lines.
    bytes: usize,
    /// How many lines did not fit, at least.
    left_out: u64,
}

/// Joins words. No line breaks between a number and its unit.
fn with_units(words: impl Iterator<Item = String>) -> String {
    const UNITS: [&str; 14] =
        ["B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "%", "ns", "µs", "us", "ms"];
    let mut text = String::new();
    for word in words {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', ':', '.', ')']));
        let behind_number = text.ends_with(|c: char| c.is_ascii_digit());
        if !text.is_empty() {
            text.push(if is_unit && behind_number { '\u{a0}' } else { ' ' });
        }
        text += &word;
    }
    text
}

impl Page {
    pub(super) fn new(terminal: &Terminal, units: Units) -> Page {
        Page {
            style: terminal.style(),
            units,
            columns: terminal.columns.max(40),
            lines: Vec::new(),
            bytes: 0,
            left_out: 0,
        }
    }

    /// Adds lines, as far as they fit.
    pub(super) fn add(&mut self, lines: impl IntoIterator<Item = impl Into<String>>) {
        for line in lines {
            let line = line.into();
            self.bytes = self.bytes.saturating_add(line.len() + 1);
            match self.bytes <= MAX_TEXT_BYTES {
                true => self.lines.push(line),
                false => self.left_out += 1,
            }
        }
    }

    /// Whether nothing more fits. Then it need not be made, either: that can be very much.
    fn is_full(&self) -> bool {
        self.bytes > MAX_TEXT_BYTES
    }

    /// Adds an empty line.
    pub(super) fn blank(&mut self) {
        self.add([""]);
    }

    /// A sentence. Names that fit into no line are shortened.
    pub(super) fn sentence(&mut self, role: Role, indent: usize, text: &str) {
        if self.is_full() {
            self.left_out += 1;
            return;
        }
        let blanks = " ".repeat(indent);
        let room = self.columns.saturating_sub(indent);
        let text = escape_untrusted(text);
        let word = |word: &str| shortened(word, room.saturating_sub(2), self.style);
        let text = with_units(text.split(' ').map(word));
        let lines = wrap(self.style, role, &text, 2, room);
        self.add(lines.into_iter().map(|line| format!("{blanks}{line}")));
    }

    pub(super) fn head(&mut self, title: &str) {
        self.blank();
        self.sentence(Role::Strong, 0, title);
    }

    /// A table. Names in its last column are shortened to the room that the others leave.
    pub(super) fn rows(&mut self, columns: &[Column], rows: &[Vec<Cell>]) {
        const GAP: usize = 2;
        const MIN_NAME: usize = 16;
        let width = |nth: usize, column: &Column| {
            let cells = rows.iter().filter_map(|row| row.get(nth));
            let widest = cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0);
            widest.max(column.name.chars().count()) + GAP
        };
        let last = columns.len().saturating_sub(1);
        let others: usize =
            columns.iter().enumerate().take(last).map(|(nth, column)| width(nth, column)).sum();
        let room = self.columns.saturating_sub(others + GAP).max(MIN_NAME);
        let mut rows = rows.to_vec();
        for (text, _) in rows.iter_mut().filter_map(|row| row.get_mut(last)) {
            *text = shortened(text, room, self.style);
        }
        let lines = table(self.style, columns, &rows, self.columns);
        self.add(lines.into_iter().map(Line::into_string));
    }

    pub(super) fn size(&self, size: u64) -> String {
        bytes(size, self.units)
    }

    pub(super) fn amount(&self, amount: Amounts) -> String {
        format!("{}, {}", plural(amount.objects, "object"), self.size(amount.bytes))
    }

    pub(super) fn way(&mut self, path: Option<&PathDocument>) {
        let text = path.map_or_else(
            || "garbage: nothing keeps it alive".to_owned(),
            |path| path.text(self.style.arrow()),
        );
        self.sentence(Role::Plain, 2, &text);
    }

    pub(super) fn referrers(&mut self, rows: &[ReferrerRow]) {
        if rows.is_empty() {
            return;
        }
        self.head("referred to by");
        let cells = |row: &ReferrerRow| {
            vec![
                (count(row.objects), Role::Plain),
                (count(row.references), Role::Dim),
                (row.example.clone(), Role::Dim),
                (escape_untrusted(&row.class), Role::Plain),
            ]
        };
        let rows: Vec<_> = rows.iter().map(cells).collect();
        let columns = [
            Column::right("objects", 2),
            Column::right("references", 2),
            Column::left("one of them", 2),
            Column::left("type", 2),
        ];
        self.rows(&columns, &rows);
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Takes lines back.
    pub(super) fn truncate(&mut self, length: usize) {
        self.lines.truncate(length);
    }

    pub(super) fn finish(mut self) -> String {
        if self.left_out > 0 {
            let left = plural(self.left_out, "more line");
            let text =
                format!("and at least {left}, which are left out; give a smaller --top, or --format json");
            // The last line is here in any case.
            self.bytes = 0;
            self.sentence(Role::Alarm, 0, &text);
        }
        self.lines.join("\n") + "\n"
    }
}
