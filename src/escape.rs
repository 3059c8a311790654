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
            // Not allowed in XML, not even as a reference.
            | '\u{fffe}'..='\u{ffff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Whether the logs of CI systems take a `#` as part of a command: the second one of `##[error]` or `##vso[...]`, which
/// are commands anywhere in a line. `rest` is the text behind it.
fn is_command_hash(before: Option<char>, rest: &str) -> bool {
    before == Some('#') && rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('[')
}

/// Whether the log of GitHub takes a `:` as the beginning of a command: `::error::` is one at the beginning of a line.
/// Text may come to stand there when a line is broken at a blank.
fn is_command_colon(before: Option<char>, rest: &str) -> bool {
    let mut rest = rest.chars();
    before.is_none_or(char::is_whitespace)
        && rest.next() == Some(':')
        && rest.next().is_some_and(char::is_alphabetic)
}

/// The text in one line, its unsafe characters as escapes such as `\u{1b}`. Escaped text stays as it is. The log of a CI
/// system that holds it finds no command in it.
pub(crate) fn escape_untrusted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for (at, c) in text.char_indices() {
        let rest = || &text[at + c.len_utf8()..];
        match c {
            '\t' | '\n' | '\r' => out.extend(c.escape_default()),
            '#' if is_command_hash(before, rest()) => out.extend(c.escape_unicode()),
            ':' if is_command_colon(before, rest()) => out.extend(c.escape_unicode()),
            c if is_unsafe(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
        before = out.chars().next_back();
    }
    out
}

/// JSON whose unsafe characters are JSON escapes. They occur in strings only, so every reader gets the original text.
pub(crate) fn escape_untrusted_json(json: Vec<u8>) -> Vec<u8> {
    // The usual case needs no escapes.
    if json.iter().all(|byte| *byte < 0x7f) && !json.windows(2).any(|two| two == b"##") {
        return json;
    }
    let Ok(text) = str::from_utf8(&json) else { return json };
    let mut out = Vec::with_capacity(json.len() + 64);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let before = before.replace(c);
        match c {
            // A raw line feed stands between values; in strings JSON escapes it.
            '\n' => out.push(b'\n'),
            c if is_unsafe(c) || c == '#' && is_command_hash(before, &text[at + 1..]) => {
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
    fn text_is_no_command_of_a_ci_system() {
        for (hostile, shown) in [
            ("::error::x", "\\u{3a}:error::x"),
            ("a ::stop-commands::x", "a \\u{3a}:stop-commands::x"),
            ("a\u{a0}\u{3000}::debug::", "a\u{a0}\u{3000}\\u{3a}:debug::"),
            ("\n::error::", "\\n::error::"),
            ("a##[error]b", "a#\\u{23}[error]b"),
            ("##vso[task.setvariable x=y]z", "#\\u{23}vso[task.setvariable x=y]z"),
            ("###teamcity[", "##\\u{23}teamcity["),
            ("##[##[", "#\\u{23}[#\\u{23}["),
        ] {
            assert_eq!(escape_untrusted(hostile), shown);
            assert_eq!(escape_untrusted(shown), shown);
        }
        for harmless in ["std::vec", "a :: b", "try -- A ::: B", "C# #1 ## b", "List<T>::Add", "F##m"] {
            assert_eq!(escape_untrusted(harmless), harmless);
        }
        let json = to_json(&["##[error]", "a##vso[b]", "## c"]).unwrap();
        assert_eq!(json, "[\"#\\u0023[error]\",\"a#\\u0023vso[b]\",\"## c\"]");
        let read: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(read, ["##[error]", "a##vso[b]", "## c"]);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(cut("äöü".to_owned(), 3), "äöü");
        assert_eq!(cut("äöüß".to_owned(), 3), "äö…");
        assert_eq!(cut("x".repeat(5000), MAX_NAME_CHARS).chars().count(), MAX_NAME_CHARS);
    }
}
