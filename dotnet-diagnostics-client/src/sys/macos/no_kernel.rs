//! The BSDs: what only a call without a safe binding tells is not known.

use std::path::PathBuf;

pub(super) struct Status {
    pub(super) parent_pid: u32,
    pub(super) uid: u32,
    pub(super) start_time: Option<u64>,
}

pub(super) fn status(_pid: u32) -> Option<Status> {
    None
}

pub(super) fn pids() -> Vec<u32> {
    Vec::new()
}

pub(super) fn executable(_pid: u32) -> Option<PathBuf> {
    None
}

pub(super) fn arguments(_pid: u32) -> Option<Vec<u8>> {
    None
}
