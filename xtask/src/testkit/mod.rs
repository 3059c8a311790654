//! What integration tests share: starting and talking to a process, and reasons for not testing.

mod skip;
mod target;

pub use skip::{Skip, peer, recordings};
pub use target::Target;
