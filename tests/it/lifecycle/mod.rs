//! Starting and attaching, the end of the target, and how gcwatch leaves it.

pub(crate) mod attach;
pub(crate) mod descriptors;
pub(crate) mod detach;
pub(crate) mod endless;
pub(crate) mod environment;
pub(crate) mod follow;
pub(crate) mod grandchild;
pub(crate) mod killed;
pub(crate) mod left_behind;
pub(crate) mod loaded_late;
pub(crate) mod overlapping;
pub(crate) mod run_child;
pub(crate) mod run_signals;
pub(crate) mod single_file;
pub(crate) mod stopped;

use super::suite::files;

files!(
    attach,
    descriptors,
    detach,
    endless,
    environment,
    follow,
    grandchild,
    killed,
    left_behind,
    loaded_late,
    overlapping,
    run_child,
    run_signals,
    single_file,
    stopped
);
