//! Compares gcwatch's figures of collections with independent sources.

pub(crate) mod allocations;
pub(crate) mod blocks;
pub(crate) mod dynamic_methods;
pub(crate) mod each_gc;
pub(crate) mod facts;
pub(crate) mod generations;
pub(crate) mod handle_storm;
pub(crate) mod heaps;
pub(crate) mod identity;
pub(crate) mod lost;
pub(crate) mod modes;
pub(crate) mod moves;
pub(crate) mod names;
pub(crate) mod promoted;
pub(crate) mod roots;
pub(crate) mod roots_frames;
pub(crate) mod roots_held;
pub(crate) mod sums;
pub(crate) mod trace_event;
pub(crate) mod unloading;

use super::suite::files;

files!(
    allocations,
    blocks,
    dynamic_methods,
    each_gc,
    facts,
    generations,
    handle_storm,
    heaps,
    identity,
    lost,
    modes,
    moves,
    names,
    promoted,
    roots,
    roots_frames,
    roots_held,
    sums,
    trace_event,
    unloading
);
