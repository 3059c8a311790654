//! The model: events folded into one record per garbage collection. Pure; knows no IO.

pub(crate) mod facts;
pub(crate) mod histogram;
pub(crate) mod record;
