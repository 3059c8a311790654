//! Root stats: the profiler's rows of single roots, added up by method, type, static field and pin once their names are
//! known.

mod methods;
mod pinned;
mod rows;
mod stats;
mod totals;
mod types;

pub(crate) use methods::MethodRow;
pub(crate) use pinned::PinnedRow;
pub(super) use rows::{IncomingRootRows, RootRows};
pub(crate) use stats::{Origins, RootStats, StaticRow};
pub(crate) use totals::{MethodTotals, PinnedTotals, RootStatsTotals, TypeTotals};
pub(crate) use types::TypeRow;

#[cfg(test)]
mod tests;
