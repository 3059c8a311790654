//! What happens inside the watched process.
//!
//! Everything the callbacks touch is made before the first of them and lives as long as the process:
//! atomics in one static, and memory mapped once. They take no lock, allocate nothing and cannot
//! panic. One thread of our own (`lease`) does all that must not be done inside a collection.

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
mod text;
mod window;

pub use factory::{DllGetClassObject, gcwatch_profiler_abi};
pub use profiler::Profiler;
