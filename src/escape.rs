//! Text that a target, another user or a file chose: whatever could act on a terminal is made visible. All that gcwatch
//! writes goes through here: [`visible`] for people, [`escape_untrusted_json`] for scripts.

use std::io::{self, Write};

/// No name is longer, in characters.
pub(crate) const LONGEST: usize = 1000;

/// A command line is kept up to so many characters: what a process says of its arguments may have any length.
pub(crate) const LONGEST_LINE: usize = 32 << 10;

/// Controls (C0, DEL, C1), and characters that change the direction of writing or are not there to be seen.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The same text in one line that can be printed. Once more changes nothing.
pub(crate) fn escape_untrusted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => out.extend(c.escape_default()),
            c if acts(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// The same JSON, with escapes for what JSON itself would let through. Such characters are in its strings only, so
/// every reader gets the text as it was.
pub(crate) fn escape_untrusted_json(json: Vec<u8>) -> Vec<u8> {
    // Mostly there is nothing to do.
    if json.iter().all(|byte| *byte < 0x7f) {
        return json;
    }
    let Ok(text) = str::from_utf8(&json) else { return json };
    let mut out = Vec::with_capacity(json.len() + 64);
    for c in text.chars() {
        match c {
            // Between its values; within them JSON escapes it.
            '\n' => out.push(b'\n'),
            c if acts(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// The value as JSON that can be printed.
///
/// # Errors
/// It cannot be serialised.
pub(crate) fn to_json(value: &impl serde::Serialize) -> io::Result<String> {
    let json = escape_untrusted_json(serde_json::to_vec(value)?);
    String::from_utf8(json).map_err(io::Error::other)
}

/// The same over several lines.
///
/// # Errors
/// It cannot be serialised.
pub(crate) fn to_json_pretty(value: &impl serde::Serialize) -> io::Result<String> {
    let json = escape_untrusted_json(serde_json::to_vec_pretty(value)?);
    String::from_utf8(json).map_err(io::Error::other)
}

/// Makes every message that is written a line that can be printed.
#[derive(Debug)]
pub(crate) struct EscapedLines<W>(pub(crate) W);

impl<W: Write> Write for EscapedLines<W> {
    /// `message` is whole: the log writes each in one go.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(message);
        let line = escape_untrusted(text.strip_suffix('\n').unwrap_or(&text)) + "\n";
        self.0.write_all(line.as_bytes()).map(|()| message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// At most `longest` characters, the last one telling that there were more.
pub(crate) fn cut(mut text: String, longest: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(longest) {
        // One character goes for the sign.
        let end = text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_target_acts_on_the_terminal() {
        let hostile = "a\x1b[2J\u{9b}31m\n\u{7f}\u{202e}é\u{e0041}";
        let shown = "a\\u{1b}[2J\\u{9b}31m\\n\\u{7f}\\u{202e}é\\u{e0041}";
        assert_eq!(escape_untrusted(hostile), shown);
        assert_eq!(escape_untrusted(shown), shown);
        let mut log = EscapedLines(Vec::new());
        log.write_all(format!("one {hostile}\n").as_bytes()).unwrap();
        assert_eq!(log.0, format!("one {shown}\n").into_bytes());
    }

    #[test]
    fn json_says_the_same_in_characters_that_can_be_printed() {
        let hostile = "a\x1b[2J\u{9b}31m\n\u{7f}\u{202e}é\u{e0041}\u{1f600}";
        let value = serde_json::json!({ hostile: [hostile, 1] });
        for json in [to_json(&value).unwrap(), to_json_pretty(&value).unwrap()] {
            assert!(!json.chars().any(|c| acts(c) && c != '\n'), "{json:?}");
            assert!(json.contains("é\\udb40\\udc41\u{1f600}"), "{json}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
        }
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(cut("äöü".to_owned(), 3), "äöü");
        assert_eq!(cut("äöüß".to_owned(), 3), "äö…");
        assert_eq!(cut("x".repeat(5000), LONGEST).chars().count(), LONGEST);
    }
}
