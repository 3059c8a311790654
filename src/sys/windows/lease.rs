//! gcwatch's end of the lease: a named pipe.

use std::io;
use std::time::Duration;

use dotnet_diagnostics_client::PipeAccess;
use netcore_profiler::wire::{LEASE_GOODBYE, LEASE_HEARTBEAT};
use tokio::io::AsyncReadExt;
use tokio::net::windows::named_pipe::NamedPipeServer;

use super::port_place::pipe_name;
use super::process::client_of;

/// Keeps the profiler in the target: gcwatch sends a byte a second. If it stops or says goodbye, the profiler leaves.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The full name of the pipe.
    name: String,
    access: PipeAccess,
    /// The process that may connect; `None`: any process of the user.
    pid: Option<u32>,
    waiting: NamedPipeServer,
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
        Ok(Lease { name, access, pid, waiting, held: None })
    }

    /// The full name of the pipe.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Takes the next connection, whoever it is from. Cancel safe.
    async fn arrival(&mut self) -> io::Result<NamedPipeServer> {
        self.waiting.connect().await?;
        let next = self.access.create(&self.name, false)?;
        Ok(std::mem::replace(&mut self.waiting, next))
    }

    /// Waits until the profiler connects. Any other connection is closed.
    pub(crate) async fn taken(&mut self) -> io::Result<()> {
        let pipe = loop {
            let pipe = self.arrival().await?;
            let client = client_of(&pipe);
            // The system may not say who it is; the pipe's access list has let in this user and the target's only.
            if self.pid.is_none_or(|pid| client.is_none_or(|client| client == pid)) {
                break pipe;
            }
            tracing::debug!("closed a stranger's connection to the lease: process {client:?}");
        };
        // A connection that was waiting already is not yet known to be writable.
        pipe.writable().await?;
        self.held = Some(pipe);
        self.beat();
        Ok(())
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
