//! What integration tests share: processes to start and talk to, and reasons to skip a test.

pub(crate) mod skip;
mod target;

pub use skip::{Skip, peer, recordings};
pub use target::Target;
