//! The agent: what runs inside the target.
//!
//! Everything that callbacks use is made before the first of them and lives as long as the process: atomics in one
//! static, and memory that is mapped once. Callbacks take no lock, allocate nothing and cannot panic. A thread of our
//! own (`lease_thread`) does what is not allowed inside a collection.
//!
//! # Orderings
//! They must hold on processors that reorder reads and writes, such as arm64:
//!
//! - A collection: GC threads run callbacks only between the suspension of the program and the thread that ends the
//!   collection, and the runtime joins them with full barriers. So what one collection writes is visible at its end and
//!   in the next one, whatever the ordering, and counters of a collection are `Relaxed`.
//! - Memory that is made once: its pointer is stored with `Release` after its content and loaded with `Acquire`.
//! - What only one thread may use at a time has a flag that is taken with `Acquire` and given back with `Release`.
//! - Where a thread writes one place and then reads another, and a second thread does the reverse, both use `SeqCst`:
//!   with less, both could read the old value. These are the mask, the lease, the gate of modules, and all that leaving
//!   waits for. They run seldom, so `SeqCst` is also used wherever it costs nothing.
//! - `Relaxed` outside collections: numbers that are only compared with a limit, and values that are the same whoever
//!   writes them.

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
mod graph;
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
