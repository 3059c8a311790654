//! `--format markdown`: for a comment on a pull request or the summary of a CI job. First the verdict, then what is wrong
//! and where to look, then the figures, folded.

mod document;
mod figures;
mod held;
mod processes;
mod report;
mod words;

pub(crate) use processes::MarkdownProcesses;
pub(crate) use report::MarkdownReport;
pub(super) use words::plain;

#[cfg(test)]
mod tests;
