//! The progress of an experiment, on stderr if that is a terminal.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::escape::escape_untrusted;

/// A progress bar, or nothing.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// `hidden`: something else is written there.
    pub(super) fn new(hidden: bool) -> Progress {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let bar = ProgressBar::new(0);
        if hidden || dumb || !io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        // The template is ours, so it can be parsed.
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} {eta} {wide_msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress(bar)
    }

    /// How many runs there are in all.
    pub(super) fn length(&self, runs: usize) {
        self.0.set_length(runs as u64);
    }

    /// A run of a variant begins.
    pub(super) fn begins(&self, name: &str, round: usize, warmup: usize) {
        let name = escape_untrusted(name);
        self.0.set_message(match round.checked_sub(warmup) {
            Some(run) => format!("{name}, run {}", run + 1),
            None => format!("{name}, warm-up"),
        });
    }

    /// The run has ended.
    pub(super) fn ended(&self) {
        self.0.inc(1);
    }

    /// All runs have ended.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    /// A failure is written where the bar was.
    fn drop(&mut self) {
        self.finish();
    }
}
