//! Writes lines to stderr, apart from the report.

use std::io::{self, IsTerminal, Write};

use crate::escape::escape_untrusted;
use crate::report::wrapped;

/// Writes one or more lines to stderr. A terminal gets them broken between words; a file or pipe, whose reader may look
/// for the text, as they are.
pub(crate) fn say(message: &str) {
    let columns = columns();
    for line in message.lines() {
        let line = escape_untrusted(line);
        let lines = match columns {
            Some(columns) if line.chars().count() > columns => broken(&line, columns),
            _ => vec![line],
        };
        for line in lines {
            // There is no place to report a failure.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

/// The lines of a failure after its first have a label of eight columns.
fn broken(line: &str, columns: usize) -> Vec<String> {
    const LABEL: usize = 8;
    if !line.starts_with("  ") {
        return wrapped(line, 2, columns);
    }
    let kept = |(n, c)| if n < LABEL && c == ' ' { '\u{a0}' } else { c };
    wrapped(&line.chars().enumerate().map(kept).collect::<String>(), LABEL, columns)
}

/// The width of the terminal; `None`: there is none.
fn columns() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stderr()).filter(|_| io::stderr().is_terminal())?;
    Some(usize::from(width.0).max(20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_under_their_text() {
        let said = "  do:   start the program without that variable, or watch it in windows";
        let lines = ["  do:   start the program without that", "        variable, or watch it in windows"];
        assert_eq!(broken(said, 40), lines);
        assert_eq!(broken("gcwatch: one two three", 16), ["gcwatch: one two", "  three"]);
    }
}
