//! The user that gcwatch runs as.

/// The effective user id.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether gcwatch acts as root, which in a container may lack root's usual rights.
pub(crate) fn is_root() -> bool {
    own_uid() == 0
}
