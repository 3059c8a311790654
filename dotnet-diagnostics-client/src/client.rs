//! Sends one command per connection: connect, write the request in one piece, read the reply, close.

use std::time::Duration;

use crate::error::Result;
use crate::exchange::{Deadline, exchange};
use crate::message::{Operation, Request};
use crate::transport::Stream;
use crate::way::Transport;

/// Timeout of a command, unless [`Client::with_timeout`] sets another.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends commands to one runtime.
///
/// Commands are methods, grouped by the protocol's command sets. Each command opens its own connection. The timeout
/// applies to the whole command, including retries and older variants of the command. A runtime serves one connection
/// at a time, so run commands one after another.
///
/// The way to the runtime is an [`Endpoint`](crate::Endpoint) that the client connects to, one that a certain process
/// must listen on ([`Dial`](crate::Dial)), or the connections that the runtime opens to a diagnostic port
/// ([`PortConnections`](crate::PortConnections)).
///
/// Every method is cancel safe in that dropping its future closes the connection. Whether the runtime has executed the
/// command is then not known.
///
/// # Panics
/// Commands need a tokio runtime with IO and time.
///
/// # Errors of every command
/// [`Error::Stale`], [`Error::PermissionDenied`] and [`Error::Impostor`] from connecting; [`Error::Timeout`],
/// [`Error::Closed`] and [`Error::Io`] from the connection; [`Error::InvalidRequest`] for values that must not be sent;
/// [`Error::Runtime`] if the runtime refuses; and [`Error::Protocol`] if the answer is not understood.
///
/// [`Error::Stale`]: crate::Error::Stale
/// [`Error::PermissionDenied`]: crate::Error::PermissionDenied
/// [`Error::Impostor`]: crate::Error::Impostor
/// [`Error::Timeout`]: crate::Error::Timeout
/// [`Error::Closed`]: crate::Error::Closed
/// [`Error::Io`]: crate::Error::Io
/// [`Error::InvalidRequest`]: crate::Error::InvalidRequest
/// [`Error::Runtime`]: crate::Error::Runtime
/// [`Error::Protocol`]: crate::Error::Protocol
#[derive(Debug, Clone)]
pub struct Client {
    transport: Transport,
    timeout: Duration,
}

impl Client {
    /// A client with the [default timeout](DEFAULT_TIMEOUT). It does not connect yet.
    #[must_use]
    pub fn new(transport: impl Into<Transport>) -> Self {
        Self { transport: transport.into(), timeout: DEFAULT_TIMEOUT }
    }

    /// The same client with another timeout per command.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The way to the runtime.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The timeout of each command.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The deadline of a command that starts now.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::after(self.timeout)
    }

    /// Sends a request on a new connection. Returns the payload of the OK reply, and the connection.
    pub(crate) async fn run(&self, request: &Request, deadline: Deadline) -> Result<(Vec<u8>, Stream)> {
        let mut stream = deadline.bound(Operation::Connect, self.transport.connect()).await?;
        let payload = deadline.bound(request.command.into(), exchange(&mut stream, request)).await?;
        Ok((payload, stream))
    }

    /// As [`run`](Self::run), with the newest variant of a command that the runtime knows. Also returns that variant.
    pub(crate) async fn run_newest<V: Copy>(
        &self,
        newest: V,
        older: &[V],
        request: impl Fn(V) -> Result<Request>,
    ) -> Result<(V, Vec<u8>, Stream)> {
        let deadline = self.deadline();
        let (mut variant, mut older) = (newest, older.iter());
        loop {
            match (self.run(&request(variant)?, deadline).await, older.next()) {
                (Err(error), Some(next)) if error.is_unknown_command() => variant = *next,
                (result, _) => return result.map(|(payload, stream)| (variant, payload, stream)),
            }
        }
    }
}
