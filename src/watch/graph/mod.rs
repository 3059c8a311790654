//! Takes a graph of the whole heap of a running process, and keeps it in a file. What the file means is the business of
//! the crate `dotnet-heap-graph`.

pub(crate) mod attached;
mod connection;
pub(crate) mod during;
pub(crate) mod file;
mod group;
pub(crate) mod moves;
mod naming;
mod place;
mod process;
mod room;
pub(crate) mod take;

pub(crate) use place::{new_file, not_written};
pub(crate) use process::{Limits, Way};
pub(crate) use room::free_bytes;
