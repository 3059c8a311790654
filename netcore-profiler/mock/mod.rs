//! A mock CLR for tests: it loads the built library like the runtime, answers
//! `ICorProfilerInfo`, runs collections, and records all calls.
//!
//! It behaves like the runtime in what matters to a profiler: ranges and roots are reported only while
//! `COR_PRF_MONITOR_GC` is on, in batches of 512; the first versions of callbacks get a batch only
//! if the second returned success; every heap reports on a thread of its own.

#![allow(unreachable_pub, reason = "a module of every test program that includes it")]

pub mod calls;
pub mod gc;
pub mod info;
pub mod library;
pub mod random;
pub mod world;

pub use gc::{Collection, Heap};
pub use info::{Clr, Written};
pub use library::Library;
pub use random::Random;
