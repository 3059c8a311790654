//! The user that gcwatch runs as.

/// The user we act as.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether we act as the user who usually may do everything.
pub(crate) fn is_root() -> bool {
    own_uid() == 0
}
