//! The result of `gcwatch try`: text, Markdown, JSON.

mod json;
mod markdown;
mod text;
mod words;

use crate::experiment::{Results, Winner};

/// The content of the report.
#[derive(Debug)]
pub(crate) struct TrialReport<'a> {
    pub(crate) results: &'a Results,
    /// For each goal that was asked for.
    pub(crate) winners: Vec<Winner>,
    /// The sides are commands, not settings.
    pub(crate) several_commands: bool,
    /// Variants that were not tried, and why.
    pub(crate) left_out: &'a [(String, String)],
    /// Runs of each variant that were asked for.
    pub(crate) runs: u32,
    pub(crate) warmup: u32,
    pub(crate) processors: usize,
    /// The version of the runtime.
    pub(crate) runtime: Option<&'a str>,
    pub(crate) warnings: &'a [String],
    /// The exit code.
    pub(crate) code: i32,
}
