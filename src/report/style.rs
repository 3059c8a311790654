//! Colour, glyphs and lines of known width. A colour has one meaning, and a sign or word says the same without colour.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style as Ansi};

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Ordinary text.
    Plain,
    /// Gen2, and the figures that matter most.
    Strong,
    /// Routine, and the names around figures.
    Dim,
    /// Notable: above the p90 of the pauses so far, or changed by watching.
    High,
    /// Exceptional: above the p99 of the pauses so far, or missing data.
    Alarm,
}

/// Terminals at least this wide get more columns.
pub(crate) const WIDE_COLUMNS: usize = 120;

/// What the text goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Width in columns; 80 for a file.
    pub(crate) columns: usize,
    /// Height in lines, after which the names of the columns are repeated; `None` for a file.
    pub(crate) rows: Option<usize>,
    pub(crate) colour: bool,
    /// The last line may be overwritten again and again.
    pub(crate) live: bool,
    /// Arrows, dots and bars can be shown.
    pub(crate) unicode: bool,
}

impl Terminal {
    pub(crate) fn style(self) -> Style {
        Style { colour: self.colour, unicode: self.unicode }
    }
}

/// What the terminal, or the file, can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: bool,
    pub(crate) unicode: bool,
}

impl Style {
    fn ansi(self, role: Role) -> Ansi {
        match role {
            _ if !self.colour => Ansi::new(),
            Role::Plain => Ansi::new(),
            Role::Strong => Ansi::new().bold(),
            Role::Dim => Ansi::new().dimmed(),
            Role::High => AnsiColor::Yellow.on_default(),
            Role::Alarm => AnsiColor::Red.on_default().bold(),
        }
    }

    /// Dim text that keeps the blanks at its end; a [`Line`] would lose them.
    pub(crate) fn dim(self, text: &str) -> String {
        let ansi = self.ansi(Role::Dim);
        format!("{ansi}{text}{ansi:#}")
    }

    /// Between the parts of a line: ` · `.
    pub(crate) fn dot(self) -> &'static str {
        if self.unicode { " · " } else { " | " }
    }

    /// From one size to another.
    pub(crate) fn arrow(self) -> &'static str {
        if self.unicode { "→" } else { "->" }
    }

    /// The sign that something is left out.
    pub(crate) fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    /// At most.
    pub(crate) fn at_most(self) -> &'static str {
        if self.unicode { "≤" } else { "<=" }
    }
}

/// A line and its width on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    text: String,
    width: usize,
}

impl Line {
    /// One piece of text.
    pub(crate) fn of(style: Style, role: Role, text: &str) -> Line {
        let mut line = Line::default();
        line.push(style, role, text);
        line
    }

    /// Adds text. It must be of characters one column wide.
    pub(crate) fn push(&mut self, style: Style, role: Role, text: &str) {
        if text.is_empty() {
            return;
        }
        let ansi = style.ansi(role);
        // Writing to a String cannot fail.
        let _ = write!(self.text, "{ansi}{text}{ansi:#}");
        self.width += text.chars().count();
    }

    /// Adds text at the right end of a field.
    pub(crate) fn push_right(&mut self, style: Style, role: Role, text: &str, width: usize) {
        self.space(width.saturating_sub(text.chars().count()));
        self.push(style, role, text);
    }

    /// Adds blanks.
    pub(crate) fn space(&mut self, count: usize) {
        self.text.extend(std::iter::repeat_n(' ', count));
        self.width += count;
    }

    /// Adds blanks up to a column.
    pub(crate) fn pad_to(&mut self, width: usize) {
        self.space(width.saturating_sub(self.width));
    }

    /// Adds another line at the end.
    pub(crate) fn append(&mut self, other: &Line) {
        self.text.push_str(&other.text);
        self.width += other.width;
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The text without blanks at its end.
    pub(crate) fn into_string(mut self) -> String {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text
    }
}

/// Joins parts by dots, in as many lines as it takes; lines after the first are indented.
pub(crate) fn join(style: Style, parts: &[Line], indent: usize, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = Line::default();
    for part in parts {
        let dot = if line.width == indent || line.width == 0 { 0 } else { style.dot().chars().count() };
        if line.width > indent && line.width + dot + part.width > columns {
            lines.push(std::mem::take(&mut line).into_string());
            line.space(indent);
        } else if dot > 0 {
            line.push(style, Role::Dim, style.dot());
        }
        line.append(part);
    }
    lines.push(line.into_string());
    lines
}

/// Breaks a sentence at blanks, not at no-break spaces; lines after the first are indented.
pub(crate) fn wrap(style: Style, role: Role, text: &str, indent: usize, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let first = lines.len() == 1;
        let line = lines.last_mut().expect("there is always a line");
        let start = if first { 0 } else { indent };
        let width = line.chars().count();
        if width == start {
            line.push_str(word);
        } else if width + 1 + word.chars().count() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(" ".repeat(indent) + word);
        }
    }
    lines.iter().map(|line| Line::of(style, role, &line.replace('\u{a0}', " ")).into_string()).collect()
}

/// A sentence in lines of plain text.
pub(crate) fn wrapped(text: &str, indent: usize, columns: usize) -> Vec<String> {
    wrap(Style { colour: false, unicode: true }, Role::Plain, text, indent, columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { colour: false, unicode: true };

    #[test]
    fn lines_break_between_parts_and_words() {
        let parts = ["one", "two", "three"].map(|t| Line::of(PLAIN, Role::Plain, t));
        assert_eq!(join(PLAIN, &parts, 2, 12), ["one · two", "  three"]);
        assert_eq!(wrap(PLAIN, Role::Plain, "one two three", 2, 8), ["one two", "  three"]);
    }

    #[test]
    fn without_colour_there_is_no_escape_and_the_width_is_what_is_seen() {
        for role in [Role::Plain, Role::Strong, Role::Dim, Role::High, Role::Alarm] {
            let plain = Line::of(PLAIN, role, "µs");
            assert_eq!((plain.text.as_str(), plain.width()), ("µs", 2));
            let painted = Line::of(Style { colour: true, unicode: true }, role, "µs");
            assert_eq!(painted.width(), 2);
            assert_eq!(painted.text.contains('\x1b'), role != Role::Plain);
        }
    }
}
