//! Escapes text that a target, another user or a file chose, so that it cannot control a terminal. All output of
//! gcwatch is escaped here: by [`escape_untrusted`] for people, by [`escape_untrusted_json`] for scripts.

use std::io::{self, Write};

/// The maximum length of a name, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 1000;

/// The maximum length of a command line, in characters; a process may have a longer one.
pub(crate) const MAX_LINE_CHARS: usize = 32 << 10;

/// Control characters (C0, DEL, C1), and characters that are invisible or change the direction of writing.
fn is_unsafe(c: char) -> bool {
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

/// The text in one line, its unsafe characters as escapes such as `\u{1b}`. Escaped text stays as it is.
pub(crate) fn escape_untrusted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => out.extend(c.escape_default()),
            c if is_unsafe(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// JSON whose unsafe characters are JSON escapes. They occur in strings only, so every reader gets the original text.
pub(crate) fn escape_untrusted_json(json: Vec<u8>) -> Vec<u8> {
    // The usual case needs no escapes.
    if json.iter().all(|byte| *byte < 0x7f) {
        return json;
    }
    let Ok(text) = str::from_utf8(&json) else { return json };
    let mut out = Vec::with_capacity(json.len() + 64);
    for c in text.chars() {
        match c {
            // A raw line feed stands between values; in strings JSON escapes it.
            '\n' => out.push(b'\n'),
            c if is_unsafe(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// A value as JSON without unsafe characters.
///
/// # Errors
/// It cannot be serialised.
pub(crate) fn to_json(value: &impl serde::Serialize) -> io::Result<String> {
    let json = escape_untrusted_json(serde_json::to_vec(value)?);
    String::from_utf8(json).map_err(io::Error::other)
}

/// A value as JSON in several lines, without unsafe characters.
///
/// # Errors
/// It cannot be serialised.
pub(crate) fn to_json_pretty(value: &impl serde::Serialize) -> io::Result<String> {
    let json = escape_untrusted_json(serde_json::to_vec_pretty(value)?);
    String::from_utf8(json).map_err(io::Error::other)
}

/// A writer that makes each message one line without unsafe characters.
#[derive(Debug)]
pub(crate) struct EscapedLines<W>(pub(crate) W);

impl<W: Write> Write for EscapedLines<W> {
    /// `message` is complete: the log writes each message with one call.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(message);
        let line = escape_untrusted(text.strip_suffix('\n').unwrap_or(&text)) + "\n";
        self.0.write_all(line.as_bytes()).map(|()| message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// At most `longest` characters; the last one is `…` if the text was longer.
pub(crate) fn cut(mut text: String, longest: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(longest) {
        // Make room for the `…`.
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
    fn text_of_the_target_cannot_control_the_terminal() {
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
            assert!(!json.chars().any(|c| is_unsafe(c) && c != '\n'), "{json:?}");
            assert!(json.contains("é\\udb40\\udc41\u{1f600}"), "{json}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
        }
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(cut("äöü".to_owned(), 3), "äöü");
        assert_eq!(cut("äöüß".to_owned(), 3), "äö…");
        assert_eq!(cut("x".repeat(5000), MAX_NAME_CHARS).chars().count(), MAX_NAME_CHARS);
    }
}
