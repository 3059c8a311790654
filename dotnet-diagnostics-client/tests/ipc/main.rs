//! Tests of the IPC client with real runtimes, and with scripted peers for what runtimes do rarely or never.
#![cfg(unix)]

mod commands;
mod failures;
mod ports;
mod real_runtime;
mod scripted_runtime;
mod streams;

use std::future::Future;
use std::time::Duration;

/// Runs a test on a single-threaded runtime. A test that hangs fails.
fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await })
        .expect("the test hangs")
}
