//! gcwatch against real CLRs. The tests are made at start, one for each runtime that was found:
//! `cargo test --test integration -- net9` runs those of .NET 9.
//!
//! What cannot run on this machine is listed first as `skipped NAME: REASON`, and counted as ignored. (nextest counts
//! them too, and swallows the reasons.)

// The tests speak to processes by signals and look at /proc; Windows gets its own when gcwatch runs there.
#[cfg(unix)]
mod it;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    it::main()
}

#[cfg(not(unix))]
fn main() {}
