//! The profiler library that gcwatch loads into a .NET process, and the event schema both share.
//!
//! This crate is a part of gcwatch, and any version may change its interface. What is not documented here is public only
//! for gcwatch itself and for tests.
//!
//! The same source is compiled twice. As an ordinary library it holds the schema ([`wire`]), the
//! configuration (`config`) and the bytes of the second build ([`LIBRARY`]). As `cfg(agent)` it is
//! that second build: a shared library without dependencies that a CLR loads as an ICorProfiler.
#![cfg_attr(no_std_agent, no_std)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "a test may panic"
    )
)]

#[doc(hidden)]
#[macro_use]
pub mod com;
#[doc(hidden)]
pub mod agent;
#[doc(hidden)]
pub mod build_options;
#[doc(hidden)]
pub mod callback;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod hresult;
#[doc(hidden)]
pub mod info;
#[doc(hidden)]
pub mod metadata;
mod sys;
pub mod wire;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The profiler library, to be written to a file that the target can open. Empty if the build left it out
/// (`NETCORE_PROFILER_SKIP`, `DOCS_RS`).
#[cfg(not(agent))]
pub const LIBRARY: &[u8] = include_bytes!(env!("NETCORE_PROFILER_LIBRARY"));

/// The file name for [`LIBRARY`]. It contains [`LIBRARY_HASH`], so that a file which a process has mapped never needs
/// to be overwritten.
#[cfg(not(agent))]
pub const LIBRARY_FILE_NAME: &str = env!("NETCORE_PROFILER_FILE_NAME");

/// FNV-1a 128 of [`LIBRARY`] in 32 lower-case hexadecimal digits.
#[cfg(not(agent))]
pub const LIBRARY_HASH: &str = env!("NETCORE_PROFILER_HASH");

/// Lints forbid everything that may panic, so only checks of the compiler itself can come here. Then abort the process
/// at the fault, so that a dump shows it.
#[cfg(no_std_agent)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        safe fn abort() -> !;
    }
    abort()
}
