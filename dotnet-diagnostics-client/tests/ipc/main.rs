//! The IPC client against scripted peers, for what a runtime does rarely or never, and against real runtimes.
#![cfg(unix)]

mod commands;
mod failures;
mod ports;
mod real_runtime;
mod scripted_runtime;

use std::future::Future;
use std::time::Duration;

/// Runs a test on a single-threaded runtime; one that hangs fails.
fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await })
        .expect("the test hangs")
}
