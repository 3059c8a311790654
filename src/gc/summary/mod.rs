//! The summary of a watch.

mod parts;
mod samples;
mod totals;

pub(crate) use parts::{Group, RootsSummary, StopTotals};
pub(crate) use samples::{Samples, Tally, nearest_rank};
pub(crate) use totals::{INCOMPLETE, Summary, survived};
