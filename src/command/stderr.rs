//! Writes lines to stderr, apart from the report.

use std::io::{self, Write};

use crate::escape::escape_untrusted;

/// Writes one or more lines to stderr.
pub(super) fn say(message: &str) {
    for line in message.lines() {
        // There is no place to report a failure.
        let _ = writeln!(io::stderr(), "{}", escape_untrusted(line));
    }
}
