//! The types of the JSON format `gcwatch/1`. Their doc comments are the descriptions in `gcwatch schema`.

mod allocations;
pub(crate) mod assertions;
pub(crate) mod blocks;
pub(crate) mod collection;
pub(crate) mod document;
pub(crate) mod findings;
pub(crate) mod processes;
pub(crate) mod root_stats;
pub(crate) mod roots;
pub(crate) mod summary;
pub(crate) mod watch;
