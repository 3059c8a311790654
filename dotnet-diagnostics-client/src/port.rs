//! Diagnostic ports: this process listens, and runtimes connect.
//!
//! A runtime with `DOTNET_DiagnosticPorts=ADDRESS,suspend` in its environment connects to the address and sends an
//! advertisement. It takes one command per connection and connects again within a millisecond. It is suspended at its
//! start until it gets the command to resume; with `nosuspend` it is not.

mod advertise;
pub(crate) mod router;

use std::fmt;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Duration, sleep, timeout};

use crate::client::Client;
use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::transport::{BoundName, Peer, RawListener, Stream};

pub use advertise::Advertise;
pub use router::PortConnections;
use router::Router;

/// How long a peer may take to send its advertisement.
const ADVERTISEMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// The listening end of a diagnostic port. It gives single connections; [`DiagnosticPort`] sorts them by runtime.
///
/// The socket has mode 0600. Put it into a directory that only this user may enter. Its file is removed on drop.
pub struct Listener {
    raw: RawListener,
    endpoint: Endpoint,
    admit: Option<Box<Admit>>,
}

type Admit = dyn Fn(Peer) -> bool + Send + Sync;

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Listener {
    /// Starts to listen.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO.
    ///
    /// # Errors
    /// [`Error::PathTooLong`] for a socket path of more than 100 bytes (with 108 bytes, .NET 8 and 9 hang at their
    /// start). [`Error::Io`] for everything else, for example if the file exists.
    pub fn bind(endpoint: Endpoint) -> Result<Self> {
        Ok(Self { raw: RawListener::bind(&endpoint)?, endpoint, admit: None })
    }

    /// Closes the connections of peers for which `admit` is false, before anything is read from them. If the operating
    /// system does not say who the peer is, the peer is admitted.
    #[must_use]
    pub fn admitting(self, admit: impl Fn(Peer) -> bool + Send + Sync + 'static) -> Self {
        Self { admit: Some(Box::new(admit)), ..self }
    }

    /// The endpoint on which it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The value of `DOTNET_DiagnosticPorts` with which a runtime connects here and is suspended at its start until it
    /// is resumed. Other ports can precede it, separated by `;`.
    pub fn port_setting(&self) -> String {
        let address = match &self.endpoint {
            Endpoint::Socket(path) => path.display().to_string(),
            Endpoint::Pipe(name) => name.clone(),
        };
        format!("{address},suspend,connect")
    }

    /// Waits until a runtime connects and has sent its advertisement. Cancel safe until a peer connects.
    ///
    /// # Errors
    /// [`Error::Io`] from the socket. [`Error::Timeout`], [`Error::Closed`] and [`Error::Protocol`] for a peer that is
    /// no runtime; the listener can then still be used.
    pub async fn accept(&mut self) -> Result<Advertise> {
        let stream = self.accept_raw().await?;
        advertised(stream).await
    }

    async fn accept_raw(&mut self) -> Result<Stream> {
        loop {
            let failed = |source| Error::io(format!("accepting on {}", self.endpoint), source);
            let stream = Stream::new(self.raw.accept().await.map_err(failed)?);
            let admitted = match (&self.admit, stream.peer()) {
                (Some(admit), Some(peer)) => admit(peer),
                _ => true,
            };
            if admitted {
                return Ok(stream);
            }
        }
    }
}

async fn advertised(stream: Stream) -> Result<Advertise> {
    let read = timeout(ADVERTISEMENT_TIMEOUT, Advertise::read(stream));
    read.await
        .unwrap_or(Err(Error::Timeout { operation: advertise::OPERATION, after: ADVERTISEMENT_TIMEOUT }))
}

/// A diagnostic port for any number of runtimes. Each is a [`PortClient`], which runs its commands one after another on
/// the connections that the runtime opens.
///
/// The port keeps connections open that no command needs, even after the `PortClient` was dropped, because the runtime
/// would connect again at once. Child processes inherit `DOTNET_DiagnosticPorts` and are suspended until somebody
/// resumes them, so keep [accepting](Self::accept).
///
/// Dropping the port removes its socket and closes the connections that no `PortClient` can use any more. Sessions
/// continue, and a `PortClient` can still run one command if its runtime has connected already.
#[derive(Debug)]
#[must_use = "a runtime that has connected waits until it is resumed"]
pub struct DiagnosticPort {
    endpoint: Endpoint,
    setting: String,
    /// New runtimes, or why there can be no more.
    runtimes: Mutex<UnboundedReceiver<Result<PortConnections>>>,
    /// Its result are connections to keep open.
    acceptor: JoinHandle<Vec<PortConnections>>,
    name: Arc<BoundName>,
}

/// A runtime that has connected to a [`DiagnosticPort`].
#[derive(Debug, Clone)]
pub struct PortClient {
    client: Client,
    connections: PortConnections,
}

impl PortClient {
    fn new(connections: PortConnections) -> Self {
        Self { client: Client::new(connections.clone()), connections }
    }

    /// Sends commands to the runtime.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The same with another timeout per command.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { client: self.client.with_timeout(timeout), ..self }
    }

    /// Who the runtime is.
    pub fn connections(&self) -> &PortConnections {
        &self.connections
    }
}

impl DiagnosticPort {
    /// Listens, and accepts connections in a task of the current tokio runtime.
    ///
    /// # Errors
    /// Those of [`Listener::bind`].
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time.
    pub fn bind(endpoint: Endpoint) -> Result<Self> {
        Ok(Self::serve(Listener::bind(endpoint)?))
    }

    /// Accepts connections on this listener in a task of the current tokio runtime.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time.
    pub fn serve(listener: Listener) -> Self {
        let (sender, runtimes) = mpsc::unbounded_channel();
        Self {
            endpoint: listener.endpoint().clone(),
            setting: listener.port_setting(),
            name: listener.raw.name(),
            acceptor: tokio::spawn(accept_all(listener, sender)),
            runtimes: Mutex::new(runtimes),
        }
    }

    /// The endpoint on which it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// See [`Listener::port_setting`].
    pub fn setting(&self) -> &str {
        &self.setting
    }

    /// Waits until a new runtime connects. Cancel safe.
    ///
    /// A process whose environment switches diagnostics off never connects, so wait for its exit at the same time.
    ///
    /// # Errors
    /// [`Error::Io`] if the port cannot accept more connections.
    pub async fn accept(&self) -> Result<PortClient> {
        let closed = Error::Closed { operation: advertise::OPERATION };
        self.runtimes.lock().await.recv().await.unwrap_or(Err(closed)).map(PortClient::new)
    }
}

impl Drop for DiagnosticPort {
    fn drop(&mut self) {
        // The task, and with it the listener, may be dropped later.
        self.name.remove();
        self.acceptor.abort();
    }
}

/// Connections that have not said who they are. More have to wait, for [`ADVERTISEMENT_TIMEOUT`] at most.
const MAX_UNREAD: usize = 256;
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Accepts until that fails. Advertisements are read concurrently, so that a silent peer delays no other.
async fn accept_all(
    mut listener: Listener,
    runtimes: UnboundedSender<Result<PortConnections>>,
) -> Vec<PortConnections> {
    let mut router = Router::default();
    let mut advertisements = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept_raw(), if advertisements.len() < MAX_UNREAD => match accepted {
                Ok(stream) => {
                    advertisements.spawn(advertised(stream));
                }
                Err(Error::Io { source, .. }) if RawListener::can_go_on_after(&source) => sleep(ACCEPT_RETRY_INTERVAL).await,
                Err(error) => {
                    let _ = runtimes.send(Err(error));
                    return router.close();
                }
            },
            Some(received) = advertisements.join_next() => {
                // Dropping the connection of a peer that is no runtime closes it.
                if let Ok(Ok(advertised)) = received
                    && let Some(new) = router.deliver(advertised)
                {
                    let _ = runtimes.send(Ok(new));
                }
            }
        }
    }
}
