//! Fuzzes a runtime's answers to the client's commands.
#![no_main]

use std::cell::LazyCell;

use gcwatch_fuzz::bounded;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: LazyCell<Runtime> =
        LazyCell::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));
}

fuzz_target!(|bytes: &[u8]| {
    RUNTIME.with(|runtime| {
        bounded(bytes.len(), || runtime.block_on(dotnet_diagnostics_client::fuzz::answers(bytes)));
    });
});
