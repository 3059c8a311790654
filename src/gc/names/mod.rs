//! What the ids of classes and methods stand for: facts and names as the profiler tells them, each
//! once, and the texts made of them.

mod compose;
mod effort;
mod generated;
mod origin;
mod size;
mod tables;
mod telling;

use std::sync::Arc;

pub(crate) use origin::Origin;
pub(crate) use tables::{Facts, Tables};
pub(crate) use telling::tell;

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
