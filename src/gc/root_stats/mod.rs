//! Root stats: the profiler's rows of single roots, added up by method, type, static field and pin once their names are
//! known.

mod methods;
mod origins;
mod pinned;
mod rows;
mod statics;
mod stats;
mod totals;
mod types;

pub(crate) use methods::MethodRow;
pub(crate) use origins::Origins;
pub(crate) use pinned::PinnedRow;
pub(super) use rows::{IncomingRootRows, RootRows};
pub(crate) use statics::StaticRow;
pub(crate) use stats::RootStats;
pub(crate) use totals::{MethodTotals, PinnedTotals, RootStatsTotals, TypeTotals};
pub(crate) use types::TypeRow;

#[cfg(test)]
mod tests;
