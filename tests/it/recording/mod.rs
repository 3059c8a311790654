//! Recordings and their replays.

pub(crate) mod foreign;
pub(crate) mod record;
pub(crate) mod recording_files;
pub(crate) mod replayed;
pub(crate) mod rotation;

use super::suite::files;

files!(foreign, record, recording_files, replayed, rotation);
