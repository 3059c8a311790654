//! What a session asks the runtime for.

mod config;
mod provider;

pub use config::{BufferMode, CollectTracingVersion, Rundown, SessionConfig};
pub use provider::{EventFilter, Keywords, Level, Provider};

/// Id of a session in its runtime. The id is an address there, so two sessions in a row can have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(pub u64);
