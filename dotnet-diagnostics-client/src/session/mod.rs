//! What a session asks the runtime for.

mod config;
mod provider;

pub use config::{BufferMode, CollectTracingVersion, Rundown, SessionConfig};
pub use provider::{EventFilter, Keywords, Level, Provider};
