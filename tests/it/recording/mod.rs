//! Recordings and their replays.

pub(crate) mod event_fields;
pub(crate) mod foreign;
pub(crate) mod peer_events;
pub(crate) mod record;
pub(crate) mod recording_files;
pub(crate) mod replayed;
pub(crate) mod rotation;

use super::suite::files;

files!(event_fields, foreign, peer_events, record, recording_files, replayed, rotation);
