//! The events of a running session.

use std::fmt;
use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::nettrace::{self, Item, Reader};
use crate::session::SessionId;
use crate::transport::Stream;

const CHUNK_BYTES: usize = 64 * 1024;
/// The runtime flushes its buffers about every 100 ms. After a stream has been quiet for this long, a flush is over.
const QUIET: Duration = Duration::from_millis(250);
/// How long the stream may go on after the runtime has hung up on the command to stop.
const GRACE: Duration = Duration::from_secs(5);

/// The events of a session, see [`EventSession::into_split`](crate::EventSession::into_split).
///
/// Events come in the order of time, at most about a third of a second after they occurred. If nobody calls
/// [`next`](Self::next), the runtime drops events, and the process hangs when it exits.
#[must_use = "the process hangs when it exits, unless the stream is read or dropped"]
pub struct EventStream {
    stream: Stream,
    reader: Reader,
    chunk: Box<[u8]>,
    stop: Arc<StopState>,
    stopping: Stopping,
}

/// Stops a session. It can be cloned and used from anywhere, for example from a handler of Ctrl-C.
#[derive(Debug, Clone)]
pub struct StopHandle(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    requested: AtomicBool,
    changed: Notify,
}

/// The command that ends the session.
enum Stopping {
    NotYet(Client, SessionId),
    Sent(Answer),
    /// The runtime has hung up. If the process has ended, so does the stream, which says enough.
    HungUp(Instant, Option<Error>),
    Done,
}

/// The client and the id come back for another attempt.
type Answer = Pin<Box<dyn Future<Output = (Client, SessionId, Result<()>)> + Send>>;

impl StopHandle {
    /// Asks for the end of the session and returns at once. [`EventStream::next`] then sends the command, and gives the
    /// events that the runtime still has and the rundown. The runtime may take as long as it wants; drop the stream to
    /// end it at once. Asking again has no effect, unless [`StreamError::Stop`] has come.
    pub fn stop(&self) {
        self.0.requested.store(true, Ordering::Release);
        self.0.changed.notify_one();
    }
}

/// Why there is no next event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The connection failed.
    #[error("reading the event stream failed")]
    Io(#[source] io::Error),
    /// A part of the stream is damaged. The next call goes on after it.
    #[error(transparent)]
    Damaged(#[from] nettrace::Error),
    /// The runtime did not accept the command to stop. The session continues and can be asked to stop again.
    #[error("the session could not be stopped")]
    Stop(#[source] Error),
}

impl EventStream {
    pub(crate) fn new(stream: Stream, client: Client, id: SessionId) -> (Self, StopHandle) {
        let stop = Arc::new(StopState::default());
        let events = Self {
            stream,
            reader: Reader::new(),
            chunk: vec![0; CHUNK_BYTES].into_boxed_slice(),
            stop: Arc::clone(&stop),
            stopping: Stopping::NotYet(client, id),
        };
        (events, StopHandle(stop))
    }

    /// The next item of the stream. `None` after [`Item::End`]. Cancel safe: nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// [`StreamError`]. Only [`StreamError::Io`] ends the stream.
    pub async fn next(&mut self) -> Result<Option<Item<'_>>, StreamError> {
        let ready = loop {
            if let Some(ready) = self.reader.advance()? {
                break ready;
            }
            if self.reader.has_ended() {
                return Ok(None);
            }
            if self.reader.flush_ended() && self.reader.held_events() > 0 {
                self.reader.release_held();
                if let Some(ready) = self.reader.advance()? {
                    break ready;
                }
            }
            self.read_more().await?;
        };
        Ok(self.reader.item(ready))
    }

    /// The reader, which knows the trace object and the lost events so far.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Reads some bytes, or ends the wait for them after a while. Sends the command to stop when it is asked for.
    async fn read_more(&mut self) -> Result<(), StreamError> {
        let Self { stream, reader, chunk, stop, stopping } = self;
        tokio::select! {
            biased;
            // First: a stream that always has bytes must not put the stop off.
            stopped = stopping.drive(stop) => stopped.map_err(StreamError::Stop)?,
            read = timeout(QUIET, stream.read(chunk)) => match read {
                Ok(Ok(0)) => reader.finish(),
                Ok(Ok(bytes)) => reader.feed(&chunk[..bytes]),
                Ok(Err(error)) if is_end(&error) => reader.finish(),
                Ok(Err(error)) => return Err(StreamError::Io(error)),
                Err(_quiet) => reader.release_held(),
            },
        }
        Ok(())
    }
}

/// A process that is killed can reset the connection.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

impl Stopping {
    /// Sends the command once it is asked for, and waits for the answer. Cancel safe.
    async fn drive(&mut self, stop: &StopState) -> Result<()> {
        loop {
            match self {
                Self::NotYet(client, id) => {
                    while !stop.requested.load(Ordering::Acquire) {
                        stop.changed.notified().await;
                    }
                    let (client, id) = (client.clone(), *id);
                    *self = Self::Sent(Box::pin(async move {
                        let answer = client.clone().stop_tracing_without_timeout(id).await;
                        (client, id, answer)
                    }));
                }
                Self::Sent(answer) => match answer.await {
                    (_, _, Ok(())) => *self = Self::Done,
                    (_, _, Err(error @ (Error::Stale { .. } | Error::Closed { .. }))) => {
                        *self = Self::HungUp(Instant::now() + GRACE, Some(error));
                    }
                    (client, id, Err(error)) => {
                        stop.requested.store(false, Ordering::Release);
                        *self = Self::NotYet(client, id);
                        return Err(error);
                    }
                },
                Self::HungUp(until, error) => {
                    sleep_until(*until).await;
                    let error = error.take();
                    *self = Self::Done;
                    if let Some(error) = error {
                        return Err(error);
                    }
                }
                Self::Done => pending().await,
            }
        }
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").field("reader", &self.reader).finish_non_exhaustive()
    }
}
