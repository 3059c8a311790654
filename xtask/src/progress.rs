//! Progress on stderr: a bar in a terminal, one line per step elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Writes a line to stderr.
pub(crate) fn say(text: &str) {
    // A closed stderr must not end the run.
    let _ = writeln!(io::stderr(), "{text}");
}

/// A step of unknown length.
pub(crate) fn step(text: String) -> ProgressBar {
    start(ProgressBar::new_spinner(), "{spinner} {msg} ({elapsed})", text)
}

/// A step that goes through a known number of bytes.
pub(crate) fn bytes(text: String, total_bytes: u64) -> ProgressBar {
    start(
        ProgressBar::new(total_bytes),
        "{spinner} {msg} [{bar:30}] {binary_bytes} of {binary_total_bytes}",
        text,
    )
}

fn start(bar: ProgressBar, template: &str, text: String) -> ProgressBar {
    if !io::stderr().is_terminal() {
        say(&text);
        return ProgressBar::hidden();
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(text);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
