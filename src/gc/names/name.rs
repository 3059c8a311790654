//! Names, and the texts that stand for what has none.

use std::sync::Arc;

/// A name as people read it, or a bucket in parentheses.
pub(crate) type Name = Arc<str>;

/// A frame without a method: the runtime's own.
pub(crate) const NO_FRAME: &str = "(no frame)";
/// Code made at run time.
pub(crate) const DYNAMIC: &str = "(dynamic method)";
/// What it was part of has been unloaded.
pub(crate) const UNLOADED: &str = "(unloaded)";
/// Nobody could tell.
pub(crate) const UNNAMED: &str = "(unnamed)";
