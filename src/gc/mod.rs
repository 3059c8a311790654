//! The model: it turns events into one record per garbage collection. It does no IO.

pub(crate) mod allocation;
pub(crate) mod allocations;
mod block_totals;
pub(crate) mod callers;
pub(crate) mod events;
pub(crate) mod facts;
pub(crate) mod fold;
mod followed;
pub(crate) mod following;
pub(crate) mod generation;
mod generation_bounds;
pub(crate) mod growth;
mod heaps;
pub(crate) mod histogram;
mod identity;
pub(crate) mod induced;
mod kept_rows;
mod map;
pub(crate) mod named;
pub(crate) mod names;
pub(crate) mod numbers;
mod open;
mod profiled;
mod queue;
pub(crate) mod record;
pub(crate) mod replayable_state;
pub(crate) mod root_kind;
pub(crate) mod root_stats;
mod stops;
pub(crate) mod stream_event;
pub(crate) mod stream_info;
pub(crate) mod summary;

#[cfg(test)]
mod tests;
