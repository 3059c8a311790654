//! A CLR of our own making, for tests: it loads the built library as the runtime would, answers
//! `ICorProfilerInfo`, plays collections, and writes down all that it was asked.
//!
//! It follows the runtime in what matters to a profiler: ranges and roots are told only while
//! `COR_PRF_MONITOR_GC` is on, in batches of 512; the first versions of callbacks get a batch only
//! where the second answered with success; every heap reports on a thread of its own.

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
