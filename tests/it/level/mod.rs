//! The levels of a watch: which one gcwatch uses, and what it does to the target.

pub(crate) mod careful;
pub(crate) mod filtered;
pub(crate) mod levels;
pub(crate) mod old_callbacks;
pub(crate) mod other_profiler;
pub(crate) mod sampled;

use super::suite::files;

files!(careful, filtered, levels, old_callbacks, other_profiler, sampled);
