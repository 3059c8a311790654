//! Running event sessions.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use crate::client::Client;
use crate::event_stream::{EventStream, StopHandle};
use crate::session::{CollectTracingVersion, SessionId};
use crate::transport::Stream;

/// A running session. [`into_split`](Self::into_split) gives its events; reading it gives the bytes of its nettrace
/// stream.
///
/// - Read until the end, also while [`Client::stop_tracing`] runs, so run both concurrently. The runtime answers the
///   stop only when it has written everything, and until then it serves no other connection.
/// - A runtime that is suspended at its start sends no byte before it is resumed. Do not wait for the header of the
///   stream before [`Client::resume_runtime`].
/// - If nobody reads the stream, the runtime drops events, and the process hangs when it exits. Drop the session to end
///   it early: the runtime notices at its next write.
/// - When a process is killed, the stream just ends. At most about the last 100 ms of events are then missing.
#[derive(Debug)]
#[must_use = "the process hangs when it exits, unless the session is read or dropped"]
pub struct EventSession {
    id: SessionId,
    version: CollectTracingVersion,
    stream: Stream,
    client: Client,
}

impl EventSession {
    pub(crate) fn new(id: SessionId, version: CollectTracingVersion, stream: Stream, client: Client) -> Self {
        Self { id, version, stream, client }
    }

    /// The id for [`Client::stop_tracing`].
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The variant of the command that the runtime has accepted.
    pub fn version(&self) -> CollectTracingVersion {
        self.version
    }

    /// Whether the runtime applies [`Provider::event_filter`](crate::Provider::event_filter). If not, it sends all
    /// events.
    pub fn honours_event_filters(&self) -> bool {
        self.version >= CollectTracingVersion::V5
    }

    /// Whether the runtime applies [`SessionConfig::buffer_mode`](crate::SessionConfig::buffer_mode). If not, it drops
    /// events.
    pub fn honours_buffer_mode(&self) -> bool {
        self.version >= CollectTracingVersion::V6
    }

    /// Whether the runtime applies [`Rundown::Keyword`](crate::Rundown::Keyword). If not, it sends no rundown.
    pub fn honours_rundown_keyword(&self) -> bool {
        self.version >= CollectTracingVersion::V4
    }

    /// Whether the runtime applies [`SessionConfig::stackwalk`](crate::SessionConfig::stackwalk). If not, events have
    /// stacks.
    pub fn honours_stackwalk(&self) -> bool {
        self.version >= CollectTracingVersion::V3
    }

    /// The events of the session, and what stops it. Stopping cannot block: [`EventStream::next`] sends the command while
    /// it reads.
    pub fn into_split(self) -> (EventStream, StopHandle) {
        EventStream::new(self.stream, self.client, self.id)
    }

    /// The connection that the stream comes on.
    pub fn into_stream(self) -> Stream {
        self.stream
    }
}

impl AsyncRead for EventSession {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}
