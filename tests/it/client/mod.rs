//! The client library against running programs. What needs no program is tested in the library itself.

pub(crate) mod client_commands;
pub(crate) mod client_counters;
pub(crate) mod client_stacks;

use super::suite::files;

files!(client_commands, client_counters, client_stacks);

use std::future::Future;

use anyhow::Result;
use dotnet_diagnostics_client::{Client, discovery};

/// Runs a test on a runtime of one thread.
fn block_on<R>(test: impl Future<Output = Result<R>>) -> Result<R> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(test)
}

/// A client of a running program.
fn client_of(pid: u32) -> Result<Client> {
    Ok(Client::new(discovery::find(pid)?).with_timeout(super::support::DEADLINE))
}
