//! The profiler library that gcwatch loads into a .NET process, and the event schema both share.
//!
//! The same source is compiled twice. As an ordinary library it holds the schema ([`wire`]), the
//! configuration ([`config`]) and the bytes of the second build ([`LIBRARY`]). As `cfg(agent)` it is
//! that second build: a shared library without dependencies that a CLR loads as an ICorProfiler.
#![cfg_attr(all(agent, not(windows)), no_std)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "tests say what is wrong by failing"
    )
)]

#[macro_use]
pub mod com;
pub mod agent;
pub mod build_options;
pub mod callback;
pub mod config;
pub mod hresult;
pub mod info;
pub mod metadata;
mod sys;
pub mod wire;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The profiler library, to be written to a file that the target can open. Empty where the build was
/// told to leave it out.
#[cfg(not(agent))]
pub const LIBRARY: &[u8] = include_bytes!(env!("NETCORE_PROFILER_LIBRARY"));

/// The name to write [`LIBRARY`] under. It holds [`LIBRARY_HASH`], so that a file of that name never
/// has to be overwritten while a process has it mapped.
#[cfg(not(agent))]
pub const LIBRARY_FILE_NAME: &str = env!("NETCORE_PROFILER_FILE_NAME");

/// FNV-1a 128 of [`LIBRARY`] in 32 lower-case hexadecimal digits.
#[cfg(not(agent))]
pub const LIBRARY_HASH: &str = env!("NETCORE_PROFILER_HASH");

/// Nothing here may panic, and lints see to it; what is left is the compiler's own checks. The
/// process cannot be helped then: stop it where the fault is, for the dump to show.
#[cfg(all(agent, not(windows)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        safe fn abort() -> !;
    }
    abort()
}
