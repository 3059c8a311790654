//! Runtimes that dial our port and that nobody watches.

use dotnet_diagnostics_client::{Error, PortClient, process};
use tokio::task::JoinSet;

/// Resumes runtimes that nobody watches, side by side: one that is stopped delays no other. The port keeps their
/// connections open, or they would dial again and again.
#[derive(Debug, Default)]
pub(crate) struct Unwatched(JoinSet<()>);

impl Unwatched {
    /// One more. Its watch may have resumed it already; a second time does no harm.
    pub(crate) fn resume(&mut self, client: PortClient) {
        while self.0.try_join_next().is_some() {}
        self.0.spawn(resume(client));
    }
}

async fn resume(client: PortClient) {
    let peer = client.transport().peer().and_then(|peer| peer.pid);
    loop {
        let resumed = client.resume_runtime().await;
        tracing::debug!("process {peer:?} is resumed: {resumed:?}");
        // One that is stopped (SIGSTOP, a debugger) answers when it goes on.
        let stopped = matches!(resumed, Err(Error::Timeout { .. }));
        if !stopped || !peer.is_some_and(process::exists) {
            return;
        }
    }
}
