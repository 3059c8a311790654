//! Resumes runtimes that connect to our port and that nobody watches.

use dotnet_diagnostics_client::{Error, PortClient, process};
use tokio::task::JoinSet;

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
    let peer = client.transport().peer().and_then(|peer| peer.pid);
    loop {
        let resumed = client.resume_runtime().await;
        tracing::debug!("resuming process {peer:?}: {resumed:?}");
        // A stopped process (SIGSTOP, a debugger) answers when it continues.
        let stopped = matches!(resumed, Err(Error::Timeout { .. }));
        if !stopped || !peer.is_some_and(process::exists) {
            return;
        }
    }
}
