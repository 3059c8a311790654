//! The summary of a watch.

mod conditions;
mod phases;
mod samples;
mod totals;

pub(crate) use conditions::{Conditions, condition_words};
pub(crate) use phases::{PhaseTotals, resume_ns};
pub(crate) use samples::{Samples, Tally, nearest_rank};
pub(crate) use totals::{Group, INCOMPLETE, RootsSummary, StopTotals, Summary, survived};
