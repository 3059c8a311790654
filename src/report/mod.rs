//! The output formats. `model` is their interface; each format imports that, and no other format.

mod blocking;
mod both;
mod child_exit;
mod csv;
mod diff;
mod diff_findings;
mod diff_runs;
mod diff_side;
mod gate;
mod github;
pub(crate) mod graph;
mod in_short;
mod json;
mod junit;
mod markdown;
mod missing;
mod model;
pub(crate) mod multi_process;
mod openmetrics;
mod outcome;
mod root_lines;
mod share;
pub(crate) mod style;
mod table;
mod text;
mod trial;
pub(crate) mod units;
mod verdicts;

#[cfg(test)]
mod sample;

pub(crate) use both::Both;
pub(crate) use csv::CsvReport;
pub(crate) use diff::DiffReport;
pub(crate) use diff_findings::found;
pub(crate) use diff_runs::{RunsReport, RunsRow};
pub(crate) use diff_side::{DiffSide, Found, told};
pub(crate) use github::{GithubOptions, GithubProcesses, GithubReport, change_annotations};
#[cfg(feature = "fuzz")]
pub(crate) use json::Read as ReadDocument;
pub(crate) use json::{JsonProcesses, JsonReport, NdjsonReport, read as read_document, schema};
pub(crate) use junit::{JunitProcesses, JunitReport};
pub(crate) use markdown::{MarkdownProcesses, MarkdownReport};
pub(crate) use model::{End, Filter, Report};
pub(crate) use multi_process::{MultiProcess, NOT_WATCHED, UNREADABLE, label};
pub(crate) use openmetrics::{OpenMetricsProcesses, OpenMetricsReport, Place};
pub(crate) use style::{Terminal, wrapped};
pub(crate) use text::{TextOptions, TextReport};
pub(crate) use trial::TrialReport;
pub(crate) use units::{Units, plural};
pub(crate) use verdicts::verdict_lines;
