//! The agent: what runs inside the target.
//!
//! Everything that callbacks use is made before the first of them and lives as long as the process: atomics in one
//! static, and memory that is mapped once. Callbacks take no lock, allocate nothing and cannot panic. A thread of our
//! own (`lease_thread`) does what is not allowed inside a collection.

#[macro_use]
mod zero;
mod accumulator;
mod arming;
mod bounds;
mod collection;
mod delivered;
mod events;
mod factory;
mod finished;
mod hello;
mod lease;
mod lease_thread;
mod leave;
mod load;
mod names;
mod profiler;
mod references;
mod slots;
mod table;
mod text;
mod window;

pub use factory::{DllGetClassObject, gcwatch_profiler_abi};
pub use profiler::Profiler;
