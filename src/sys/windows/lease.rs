//! gcwatch's end of the lease: a named pipe.

use std::io;
use std::time::Duration;

use dotnet_diagnostics_client::PipeAccess;
use netcore_profiler::wire::{LEASE_GOODBYE, LEASE_GRAPH, LEASE_HEARTBEAT};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::windows::named_pipe::NamedPipeServer;

use super::port_place::pipe_name;
use super::process::client_of;

/// The connection over which a heap graph comes.
pub(crate) type GraphStream = NamedPipeServer;

/// Keeps the profiler in the target: gcwatch sends a byte a second. If it stops or says goodbye, the profiler leaves.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The full name of the pipe.
    name: String,
    access: PipeAccess,
    /// The process that may connect; `None`: any process of the user.
    pid: Option<u32>,
    /// The one that the next profiler connects to; `None`: the last one has a connection.
    waiting: Option<NamedPipeServer>,
    held: Option<NamedPipeServer>,
}

impl Lease {
    /// Makes the pipe for this process; without one, for any process of this user.
    ///
    /// # Errors
    /// The process has ended, or this user may not ask whose it is.
    pub(crate) fn listen(pid: Option<u32>) -> io::Result<Lease> {
        let name = format!(r"\\.\pipe\{}", pipe_name("lease"));
        let own = PipeAccess::own_user()?;
        let access = match pid {
            Some(pid) => own.and_reader(pid)?,
            None => own,
        };
        let waiting = access.create(&name, true)?;
        Ok(Lease { name, access, pid, waiting: Some(waiting), held: None })
    }

    /// The full name of the pipe.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Takes the next connection, whoever it is from. Cancel safe.
    async fn arrival(&mut self) -> io::Result<NamedPipeServer> {
        let waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None => self.access.create(&self.name, false)?,
        };
        let waiting = self.waiting.insert(waiting);
        waiting.connect().await?;
        self.waiting.take().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Waits until the profiler connects. Any other connection is closed.
    pub(crate) async fn taken(&mut self) -> io::Result<()> {
        self.held = Some(self.expected().await?);
        self.beat();
        Ok(())
    }

    /// Asks the profiler, which has connected before, for a heap graph. Returns its second connection to come.
    ///
    /// # Errors
    /// The profiler is not there.
    pub(crate) async fn ask_for_graph(
        &mut self,
    ) -> io::Result<impl Future<Output = io::Result<GraphStream>> + use<>> {
        let held = self.held.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        // Only one instance waits at a time, so that the connection comes to this one.
        let pipe = match self.waiting.take() {
            Some(waiting) => waiting,
            None => self.access.create(&self.name, false)?,
        };
        held.write_all(&[LEASE_GRAPH]).await?;
        let pid = self.pid;
        Ok(async move {
            pipe.connect().await?;
            pipe.writable().await?;
            match is_expected(pid, &pipe) {
                true => Ok(pipe),
                false => Err(io::ErrorKind::PermissionDenied.into()),
            }
        })
    }

    async fn expected(&mut self) -> io::Result<NamedPipeServer> {
        let pipe = loop {
            let pipe = self.arrival().await?;
            if is_expected(self.pid, &pipe) {
                break pipe;
            }
            tracing::debug!("closed a stranger's connection to the lease");
        };
        // A connection that was waiting already is not yet known to be writable.
        pipe.writable().await?;
        Ok(pipe)
    }

    /// Sends a heartbeat, and never waits: if the last one is not sent yet, one more would not help. A failed write
    /// does not show that the profiler has left; [`Lease::gone`] does.
    pub(crate) fn beat(&self) {
        if let Some(pipe) = &self.held
            && let Err(e) = pipe.try_write(&[LEASE_HEARTBEAT])
        {
            tracing::trace!("could not send a heartbeat: {e}");
        }
    }

    /// The system does not say what a pipe's reader has read.
    pub(crate) fn all_read(&self) -> Option<bool> {
        None
    }

    /// Closes the waiting connections: a profiler that came too late for its window must leave again.
    pub(crate) async fn forget_arrivals(&mut self) {
        /// Peers could keep connecting without end.
        const MAX_ARRIVALS: usize = 64;
        // Without a waiting connection, this is pending at its first poll.
        for _ in 0..MAX_ARRIVALS {
            if !matches!(tokio::time::timeout(Duration::ZERO, self.arrival()).await, Ok(Ok(_))) {
                return;
            }
        }
    }

    /// Tells the profiler to leave. The pipe stays open, to see when it has left.
    pub(crate) async fn end(&mut self) {
        /// If a heartbeat is still on its way, the target does not read.
        const GOODBYE_TIMEOUT: Duration = Duration::from_millis(200);
        let Some(pipe) = &mut self.held else { return };
        let ready = tokio::time::timeout(GOODBYE_TIMEOUT, pipe.writable()).await;
        let said = matches!(ready, Ok(Ok(()))) && pipe.try_write(&[LEASE_GOODBYE]).is_ok();
        if !said {
            // The end of the pipe says the same, but hides when the profiler has left.
            let ended = pipe.disconnect();
            tracing::debug!("could not say goodbye, ended the lease: {ended:?}");
        }
    }

    /// Waits until the profiler has left. Cancel safe.
    pub(crate) async fn gone(&mut self) {
        if let Some(pipe) = &mut self.held {
            // The profiler sends nothing: the read fails when it closes the pipe.
            let _end = pipe.read(&mut [0]).await;
            self.held = None;
        }
    }
}

/// Whether a pipe's client is the expected process. The system may not say who it is; the pipe's access list has let in
/// this user and the target's only.
fn is_expected(pid: Option<u32>, pipe: &NamedPipeServer) -> bool {
    let client = client_of(pipe);
    pid.is_none_or(|pid| client.is_none_or(|client| client == pid))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[tokio::test]
    async fn heartbeats_goodbye_and_the_end_are_seen() -> io::Result<()> {
        let mut lease = Lease::listen(Some(std::process::id()))?;
        let mut profiler = std::fs::OpenOptions::new().read(true).open(lease.name())?;
        lease.taken().await?;
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            while bytes.last() != Some(&LEASE_GOODBYE) {
                let mut buffer = [0; 8];
                let count = profiler.read(&mut buffer)?;
                bytes.extend_from_slice(&buffer[..count]);
            }
            Ok::<_, io::Error>((profiler, bytes))
        });
        // The profiler reads all the time, so that each byte finds an empty pipe.
        tokio::time::sleep(Duration::from_millis(50)).await;
        lease.beat();
        tokio::time::sleep(Duration::from_millis(50)).await;
        lease.end().await;
        let (profiler, bytes) = read.await.map_err(io::Error::other)??;
        assert_eq!(bytes, [LEASE_HEARTBEAT, LEASE_HEARTBEAT, LEASE_GOODBYE]);
        assert!(tokio::time::timeout(Duration::from_millis(100), lease.gone()).await.is_err());
        drop(profiler);
        tokio::time::timeout(Duration::from_secs(30), lease.gone()).await?;
        Ok(())
    }

    #[tokio::test]
    async fn a_stranger_does_not_get_the_lease() -> io::Result<()> {
        let mut lease = Lease::listen(Some(std::process::id()))?;
        lease.pid = Some(std::process::id() + 1);
        let _stranger = std::fs::OpenOptions::new().read(true).open(lease.name())?;
        let took = tokio::time::timeout(Duration::from_millis(300), lease.taken()).await;
        assert!(took.is_err(), "{took:?}");
        Ok(())
    }
}
