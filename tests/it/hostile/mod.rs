//! Targets, files and settings that try to do harm.

pub(crate) mod hostile_output;
pub(crate) mod hostile_places;
pub(crate) mod hostile_recordings;
pub(crate) mod hostile_settings;
pub(crate) mod hostile_target;
pub(crate) mod inflated;

use super::suite::files;

files!(hostile_output, hostile_places, hostile_recordings, hostile_settings, hostile_target, inflated);
