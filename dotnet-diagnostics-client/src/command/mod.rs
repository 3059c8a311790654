//! The commands, one file per command set.

mod dump;
mod event_pipe;
mod process;
mod profiler;

pub use dump::{CoreDump, DumpKind};
pub use process::{PerfMap, ProcessInfo};
