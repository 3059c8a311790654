//! The ways to a runtime.

use crate::endpoint::Endpoint;
use crate::error::Result;
use crate::pinned::{Dial, Pinned};
use crate::port::router::PortConnections;
use crate::transport::Stream;

/// The way to a runtime. Made from an [`Endpoint`], a [`Dial`] or [`PortConnections`].
#[derive(Debug, Clone)]
pub struct Transport(Way);

#[derive(Debug, Clone)]
enum Way {
    Endpoint(Endpoint),
    Dial(Dial),
    Port(PortConnections),
    /// A runtime that answers every command with the same bytes and closes the connection.
    #[cfg(feature = "fuzz")]
    Answering(std::sync::Arc<[u8]>),
}

impl Transport {
    /// Opens a connection, on which the runtime takes one command.
    pub(crate) async fn connect(&self) -> Result<Stream> {
        match &self.0 {
            Way::Endpoint(endpoint) => endpoint.connect().await,
            Way::Dial(dial) => dial.connect().await,
            Way::Port(connections) => connections.connect().await,
            #[cfg(feature = "fuzz")]
            Way::Answering(bytes) => {
                Stream::answering(bytes).await.map_err(|source| crate::error::Error::io("answering", source))
            }
        }
    }

    /// The endpoint that the client connects to. `None` if the runtime connects to a port.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match &self.0 {
            Way::Endpoint(endpoint) => Some(endpoint),
            Way::Dial(dial) => Some(dial.endpoint()),
            _ => None,
        }
    }

    /// The process that must listen there, see [`Dial::process`].
    pub fn process(&self) -> Option<&Pinned> {
        match &self.0 {
            Way::Dial(dial) => dial.process(),
            _ => None,
        }
    }

    #[cfg(feature = "fuzz")]
    pub(crate) fn answering(bytes: &[u8]) -> Self {
        Self(Way::Answering(bytes.into()))
    }
}

impl From<Endpoint> for Transport {
    fn from(endpoint: Endpoint) -> Self {
        Self(Way::Endpoint(endpoint))
    }
}

impl From<Dial> for Transport {
    fn from(dial: Dial) -> Self {
        Self(Way::Dial(dial))
    }
}

impl From<PortConnections> for Transport {
    fn from(connections: PortConnections) -> Self {
        Self(Way::Port(connections))
    }
}
