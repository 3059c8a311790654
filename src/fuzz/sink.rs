//! Checks the reports that fuzzing makes, and keeps nothing.

use std::io::{self, Write};

use crate::report::style::Terminal;

/// The kind of a report, which decides what must hold for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// No control characters except line feeds.
    Text,
    /// Also holds the control characters that return to the start of a line and clear it.
    LiveText,
    /// One JSON document.
    Json,
    /// A JSON document on each line.
    Ndjson,
}

/// The terminal of the reports. `live`: with a line that changes.
pub(super) fn terminal(live: bool) -> Terminal {
    Terminal { columns: 80, rows: live.then_some(24), colour: false, live, unicode: live }
}

/// A longer report is not checked, to bound memory.
const MAX_CHECKED_BYTES: usize = 1 << 20;

/// Accepts every write, and checks the report when dropped.
#[derive(Debug)]
pub(super) struct Sink {
    kind: Kind,
    kept: Vec<u8>,
    more: bool,
}

impl Sink {
    pub(super) fn new(kind: Kind) -> Sink {
        Sink { kind, kept: Vec::new(), more: false }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.more |= self.kept.len() + bytes.len() > MAX_CHECKED_BYTES;
        if self.more {
            self.kept = Vec::new();
        } else {
            self.kept.extend(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if !self.more && !std::thread::panicking() {
            checked(self.kind, &self.kept);
        }
    }
}

/// Panics if a report is not valid.
pub(super) fn checked(kind: Kind, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { panic!("a report is not UTF-8") };
    if kind == Kind::LiveText {
        return;
    }
    let raw = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(raw, None, "a control character is in a report");
    let is_command = |rest: &str| rest.starts_with(char::is_alphabetic);
    assert!(!text.split("##[").skip(1).any(is_command), "a command of a CI system is in a report");
    let parsed = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text);
    match kind {
        Kind::Json if !text.is_empty() => assert!(parsed(text).is_ok(), "a document is not JSON"),
        Kind::Ndjson => assert!(text.lines().all(|line| parsed(line).is_ok()), "a line is not JSON"),
        _ => {}
    }
}
