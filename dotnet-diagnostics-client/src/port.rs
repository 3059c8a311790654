//! Diagnostic ports: this side listens, runtimes dial.
//!
//! A runtime that was started with `DOTNET_DiagnosticPorts=ADDRESS,suspend` dials the address, introduces itself with an
//! advertisement, takes one command, and dials again within a millisecond for the next. While no command comes it waits
//! at its start, or runs if the address was given as `nosuspend`.

mod advertisement;
mod router;

use std::fmt;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio::time::{Duration, timeout};

use crate::client::Client;
use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::guid::Guid;
use crate::transport::{BoundName, Peer, RawListener, Stream, Transport};

pub use advertisement::Advertised;
use router::{Queue, Router};

/// How long something that has dialled may take to introduce itself.
const ADVERTISEMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// The listening end of a diagnostic port, connection by connection. [`Port`] sorts them by runtime.
///
/// The socket has mode 0600; put it into a directory that only this user may enter. Its file is removed on drop.
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
    /// Listens. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::PathTooLong`] for a socket path of more than 100 bytes: at 108 .NET 8 and 9 hang at their start.
    /// [`Error::Io`] for everything else, an existing file included.
    pub fn bind(endpoint: Endpoint) -> Result<Self> {
        Ok(Self { raw: RawListener::bind(&endpoint)?, endpoint, admit: None })
    }

    /// Hangs up on whoever is not admitted, before anything is read. Where the operating system does not say who has
    /// dialled, everybody is.
    #[must_use]
    pub fn admitting(self, admit: impl Fn(Peer) -> bool + Send + Sync + 'static) -> Self {
        Self { admit: Some(Box::new(admit)), ..self }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Value for `DOTNET_DiagnosticPorts` that makes a runtime dial here and wait at its start until it is resumed.
    /// Further ports can be given in front, separated by `;`.
    pub fn port_setting(&self) -> String {
        let address = match &self.endpoint {
            Endpoint::Socket(path) => path.display().to_string(),
            Endpoint::Pipe(name) => name.clone(),
        };
        format!("{address},suspend,connect")
    }

    /// Waits for the next runtime to dial and introduce itself. Cancel safe as long as nobody has dialled.
    ///
    /// # Errors
    /// [`Error::Io`] from the socket; [`Error::Timeout`], [`Error::Closed`] and [`Error::Protocol`] for a peer that is no
    /// runtime, after which the listener can still be used.
    pub async fn accept(&mut self) -> Result<Advertised> {
        let stream = self.accept_raw().await?;
        introduce(stream).await
    }

    async fn accept_raw(&mut self) -> Result<Stream> {
        loop {
            let accepted = self.raw.accept().await;
            let stream = accepted
                .map(Stream::new)
                .map_err(|source| Error::io(format!("accepting on {}", self.endpoint), source))?;
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

async fn introduce(stream: Stream) -> Result<Advertised> {
    let read = timeout(ADVERTISEMENT_TIMEOUT, Advertised::read(stream));
    read.await
        .unwrap_or(Err(Error::Timeout { operation: advertisement::OPERATION, after: ADVERTISEMENT_TIMEOUT }))
}

/// A diagnostic port that serves any number of runtimes: each is a [`PortClient`] whose commands run one after another
/// on the connections that the runtime opens.
///
/// A connection that nobody needs is kept open and silent: closing it would make the runtime dial again at once, and
/// each command does so too. This holds after the `PortClient` was dropped as well, until the port is. Children of a
/// process inherit its `DOTNET_DiagnosticPorts` and wait for ever unless somebody resumes them, so keep
/// [accepting](Self::accept).
///
/// Dropping the port removes its socket and closes the connections that no `PortClient` can use any more; sessions go
/// on, and a `PortClient` can still run one command if its runtime has dialled already.
#[derive(Debug)]
pub struct Port {
    endpoint: Endpoint,
    setting: String,
    router: Arc<Router>,
    acceptor: JoinHandle<()>,
    name: Arc<BoundName>,
}

/// The runtime behind some of a port's connections.
pub type PortClient = Client<PortConnections>;

impl Port {
    /// Listens and begins to accept in a task of the current tokio runtime.
    ///
    /// # Errors
    /// Those of [`Listener::bind`].
    pub fn bind(endpoint: Endpoint) -> Result<Self> {
        Ok(Self::serve(Listener::bind(endpoint)?))
    }

    /// Begins to accept on this listener in a task of the current tokio runtime.
    pub fn serve(listener: Listener) -> Self {
        let router = Arc::new(Router::default());
        Self {
            endpoint: listener.endpoint().clone(),
            setting: listener.port_setting(),
            name: listener.raw.name(),
            acceptor: tokio::spawn(accept_all(listener, Arc::clone(&router))),
            router,
        }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// See [`Listener::port_setting`].
    pub fn setting(&self) -> &str {
        &self.setting
    }

    /// The next runtime that has dialled for the first time. Cancel safe.
    ///
    /// A process whose environment switches diagnostics off never dials: wait for its exit at the same time.
    ///
    /// # Errors
    /// [`Error::Io`] when the port can accept no more connections.
    pub async fn accept(&self) -> Result<PortClient> {
        let (cookie, pid, peer, queue) = self.router.next_runtime().await?;
        Ok(Client::new(PortConnections { cookie, pid, peer, queue }))
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // The task, and with it the listener, may go only later.
        self.name.remove();
        self.acceptor.abort();
        self.router.close(None);
    }
}

/// Accepts until that fails. Introductions are awaited side by side, so that a silent peer holds up nobody.
async fn accept_all(mut listener: Listener, router: Arc<Router>) {
    let mut introductions = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept_raw() => match accepted {
                Ok(stream) => {
                    introductions.spawn(introduce(stream));
                }
                Err(error) => {
                    router.close(Some(error));
                    return;
                }
            },
            Some(introduced) = introductions.join_next() => {
                // A peer that is no runtime is hung up on by dropping it.
                if let Ok(Ok(advertised)) = introduced {
                    router.deliver(advertised);
                }
            }
        }
    }
}

/// The connections that one runtime opens to a [`Port`].
#[derive(Debug, Clone)]
pub struct PortConnections {
    cookie: Guid,
    pid: u64,
    peer: Option<Peer>,
    queue: Arc<Queue>,
}

impl PortConnections {
    /// Identity of the runtime.
    pub fn cookie(&self) -> Guid {
        self.cookie
    }

    /// Process id as the target sees it.
    pub fn pid(&self) -> u64 {
        self.pid
    }

    /// Who has dialled first, as the operating system vouches for it. Unlike [`pid`](Self::pid) the target cannot choose
    /// it, and in a container it is the id as this process sees it.
    pub fn peer(&self) -> Option<Peer> {
        self.peer
    }
}

impl Transport for PortConnections {
    /// Waits until the runtime has dialled; [`Error::Closed`] when the port is gone.
    async fn connect(&self) -> Result<Stream> {
        self.queue.next().await
    }
}
