//! What the ids of classes and methods stand for: facts and names as the profiler tells them, each
//! once, and the texts made of them.

mod apply;
mod budget;
mod compose;
mod generated;
mod memory;
mod origin;
mod tables;

use std::sync::Arc;

pub(crate) use apply::apply;
pub(crate) use origin::Origin;
pub(crate) use tables::{Facts, Tables};

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
