//! The summary of a watch.

mod samples;
mod totals;

pub(crate) use samples::{Samples, Tally, nearest_rank};
pub(crate) use totals::{Group, INCOMPLETE, RootsSummary, StopTotals, Summary, survived};
