//! The files of other tools.

mod gcdump_builder;
mod gcdump_hostile;
mod gcdump_read;
mod gcdump_write;
mod oracle;
mod snapshot_events;
mod snapshot_read;
