//! Runs gcwatch against real CLRs. The program lists its tests at start, one for each runtime that it finds:
//! `cargo test --test integration -- net9` runs the tests on .NET 9.
//!
//! Tests that cannot run on this machine are listed first as `skipped NAME: REASON`, and counted as ignored. (nextest
//! counts them too, but does not show the reasons.)

// The tests send signals and read /proc; Windows gets tests of its own when gcwatch runs there.
#[cfg(unix)]
mod it;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    it::main()
}

#[cfg(not(unix))]
fn main() {}
