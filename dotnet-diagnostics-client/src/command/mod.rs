//! The commands, one file per command set.

mod event_pipe;
mod process;
mod profiler;

pub use event_pipe::{
    CollectCommand, EventFilter, EventSession, Provider, Rundown, SessionConfig, SessionId,
};
pub use process::ProcessInfo;
