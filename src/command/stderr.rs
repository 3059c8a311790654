//! Lines on stderr beside the report.

use std::io::{self, Write};

use crate::escape::escape_untrusted;

/// Says something on stderr, a line or more.
pub(super) fn say(message: &str) {
    for line in message.lines() {
        // Nobody is left to tell of a failure.
        let _ = writeln!(io::stderr(), "{}", escape_untrusted(line));
    }
}
