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

pub(super) use rows::{IncomingRootRows, RootRows};
pub(crate) use stats::RootStats;
pub(crate) use totals::{PinnedTotals, RootStatsTotals};
#[cfg(test)]
pub(crate) use {
    methods::MethodRow, origins::Origins, pinned::PinnedRow, statics::StaticRow, types::TypeRow,
};

#[cfg(test)]
mod tests;
