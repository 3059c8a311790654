//! Sorts the connections of a port by runtime.

use std::collections::HashMap;
use std::iter;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::error::{Error, Result};
use crate::guid::Guid;
use crate::message::Operation;
use crate::transport::{Peer, Stream};

use super::advertise::Advertise;

/// The connections that one runtime opens to a [`DiagnosticPort`](crate::DiagnosticPort).
#[derive(Debug, Clone)]
pub struct PortConnections {
    cookie: Guid,
    pid: u64,
    peer: Option<Peer>,
    /// Those that are open: one while the runtime waits for a command, none just after a command.
    open: Arc<Mutex<UnboundedReceiver<Stream>>>,
}

impl PortConnections {
    /// Id of the runtime instance, see [`ProcessInfo::cookie`](crate::ProcessInfo::cookie).
    pub fn cookie(&self) -> Guid {
        self.cookie
    }

    /// Process id in the PID namespace of the target.
    pub fn pid(&self) -> u64 {
        self.pid
    }

    /// The process that connected first, according to the operating system. Unlike with [`pid`](Self::pid), the process
    /// cannot choose the id, and for a process in a container it is the id outside of it.
    pub fn peer(&self) -> Option<Peer> {
        self.peer
    }
}

impl PortConnections {
    /// Waits until the runtime connects. [`Error::Closed`] if the port was dropped.
    pub(crate) async fn connect(&self) -> Result<Stream> {
        let closed = Error::Closed { operation: Operation::NextConnection };
        self.open.lock().await.recv().await.ok_or(closed)
    }
}

/// A runtime, and the sending end of its connections.
#[derive(Debug)]
struct Runtime {
    connections: PortConnections,
    sender: UnboundedSender<Stream>,
}

impl Runtime {
    /// Drops the connections whose runtime has ended, so that they do not accumulate. A client that still exists learns
    /// from the connection that its runtime has ended.
    fn purge_without_client(&mut self) {
        let Some(open) = Arc::get_mut(&mut self.connections.open) else { return };
        let open = open.get_mut();
        let streams: Vec<Stream> = iter::from_fn(|| open.try_recv().ok()).collect();
        for stream in streams.into_iter().filter(|stream| !stream.has_ended()) {
            let _ = self.sender.send(stream);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Router {
    /// Kept as long as the port: the runtime of a dropped client can connect again, but is not a new one.
    runtimes: HashMap<Guid, Runtime>,
}

impl Router {
    /// Hands a connection to its runtime. Returns the connections of a new runtime.
    pub(super) fn deliver(&mut self, advertise: Advertise) -> Option<PortConnections> {
        let Advertise { cookie, pid, stream } = advertise;
        for (_, other) in self.runtimes.iter_mut().filter(|(known, _)| **known != cookie) {
            other.purge_without_client();
        }
        let mut new = None;
        let runtime = self.runtimes.entry(cookie).or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let open = Arc::new(Mutex::new(receiver));
            let connections = PortConnections { cookie, pid, peer: stream.peer(), open };
            new = Some(connections.clone());
            Runtime { connections, sender }
        });
        let _ = runtime.sender.send(stream);
        new
    }

    /// Ends all waiting for connections. Those that are open stay open as long as the result.
    pub(super) fn close(self) -> Vec<PortConnections> {
        self.runtimes.into_values().map(|runtime| runtime.connections).collect()
    }
}
