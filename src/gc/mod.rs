//! The model: events folded into one record per garbage collection. Pure; knows no IO.

mod bounds;
pub(crate) mod events;
pub(crate) mod facts;
pub(crate) mod fold;
pub(crate) mod growth;
mod heaps;
pub(crate) mod histogram;
pub(crate) mod holders;
mod identity;
pub(crate) mod lasting;
mod map;
pub(crate) mod names;
pub(crate) mod numbers;
mod open;
mod profiled;
mod queue;
pub(crate) mod record;
mod stops;
pub(crate) mod summary;
mod sums;
pub(crate) mod told;

#[cfg(test)]
mod tests;
