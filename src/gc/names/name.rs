//! Names, and the texts that stand for things without a name.

use std::sync::Arc;

/// A name as people read it, or a text in parentheses for things without a name.
pub(crate) type Name = Arc<str>;

/// A frame without a method: the runtime's own.
pub(crate) const NO_FRAME: &str = "(no frame)";
/// Code made at run time.
pub(crate) const DYNAMIC: &str = "(dynamic method)";
/// Its module has been unloaded.
pub(crate) const UNLOADED: &str = "(unloaded)";
/// There is no definition.
pub(crate) const UNNAMED: &str = "(unnamed)";
