//! Our diagnostic port: its name in the environment, and the runtimes that connect to it and that nobody watches.

use std::ffi::OsStr;

use dotnet_diagnostics_client::{Error, PortClient, process};
use tokio::task::JoinSet;

/// A runtime connects to the ports that this variable names.
pub(crate) const PORTS: &str = "DOTNET_DiagnosticPorts";

/// Whether a value of [`PORTS`] names the port with this address, alone or among others.
pub(crate) fn names_port(value: &OsStr, port: &OsStr) -> bool {
    let port = port.as_encoded_bytes();
    value.as_encoded_bytes().windows(port.len()).any(|part| part == port)
}

/// Resumes runtimes that nobody watches, at the same time: a stopped one delays no other. The port keeps their
/// connections open, because they would otherwise connect again and again.
#[derive(Debug, Default)]
pub(crate) struct Unwatched(JoinSet<()>);

impl Unwatched {
    /// Resumes one more. Its watch may have resumed it already; a second time does no harm.
    pub(crate) fn resume(&mut self, client: PortClient) {
        while self.0.try_join_next().is_some() {}
        self.0.spawn(resume(client));
    }
}

async fn resume(client: PortClient) {
    let peer = client.connections().peer().and_then(|peer| peer.pid);
    loop {
        let resumed = client.client().resume_runtime().await;
        tracing::debug!("resuming process {peer:?}: {resumed:?}");
        // A stopped process (SIGSTOP, a debugger) answers when it continues.
        let stopped = matches!(resumed, Err(Error::Timeout { .. }));
        if !stopped || !peer.is_some_and(process::exists) {
            return;
        }
    }
}
