//! The messages of the profiler, as they come over the connection.

use std::io;

use netcore_profiler::wire::graph::{self, Ask, HEAD_BYTES, MAX_MESSAGE_BYTES, Outcome, Request, kind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The size of the message with the outcome.
const OUTCOME_BYTES: usize = HEAD_BYTES + Outcome::BYTES;

/// The connection. The process at its other end may send anything.
#[derive(Debug)]
pub(super) struct Connection<S> {
    stream: S,
    head: [u8; HEAD_BYTES],
    /// How much of the head has come.
    head_used: usize,
    payload: Vec<u8>,
    /// How much of the payload has come.
    used: usize,
    /// The last bytes that have come.
    last: [u8; OUTCOME_BYTES],
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(stream: S) -> Connection<S> {
        let (head, last) = ([0; HEAD_BYTES], [0; OUTCOME_BYTES]);
        Connection { stream, head, head_used: 0, payload: Vec::new(), used: 0, last }
    }

    /// Says what is wanted.
    pub(super) async fn request(&mut self, request: &Request) -> io::Result<()> {
        let mut bytes = [0; Request::BYTES];
        graph::write(request, &mut bytes).map_err(io::Error::other)?;
        self.stream.write_all(&bytes).await
    }

    /// Asks questions, whose answers end with [`graph::kind::ANSWERED`].
    pub(super) async fn ask(&mut self, questions: &[Ask]) -> io::Result<()> {
        let mut bytes = vec![0; questions.len() * Ask::BYTES];
        for (bytes, question) in bytes.chunks_exact_mut(Ask::BYTES).zip(questions) {
            graph::write(question, bytes).map_err(io::Error::other)?;
        }
        self.stream.write_all(&bytes).await
    }

    /// The next message: its kind and its payload, which [`payload`](Self::payload) holds until the next call. `None`:
    /// the other end has closed the connection. Cancel safe.
    ///
    /// # Errors
    /// The connection is broken, it ended within a message, or a message is too large.
    pub(super) async fn next(&mut self) -> io::Result<Option<u8>> {
        if self.head_used == HEAD_BYTES && self.used == self.payload.len() {
            self.head_used = 0;
        }
        while self.head_used < HEAD_BYTES {
            match self.stream.read(&mut self.head[self.head_used..]).await? {
                0 if self.head_used == 0 => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => {
                    let from = self.head_used;
                    self.head_used += count;
                    keep_last(&mut self.last, &self.head[from..self.head_used]);
                }
            }
            if self.head_used == HEAD_BYTES {
                let [_, length @ ..] = self.head;
                let length = u32::from_le_bytes(length) as usize;
                if length > MAX_MESSAGE_BYTES {
                    let what = format!("a message of {length} bytes");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                self.payload.clear();
                self.payload.resize(length, 0);
                self.used = 0;
            }
        }
        while self.used < self.payload.len() {
            match self.stream.read(&mut self.payload[self.used..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => {
                    let from = self.used;
                    self.used += count;
                    keep_last(&mut self.last, &self.payload[from..self.used]);
                }
            }
        }
        Ok(Some(self.head[0]))
    }

    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The outcome that was sent behind a part of a message, after [`next`](Self::next) has failed: a copy that is killed
    /// ends anywhere, and the profiler sends the outcome, and closes the connection.
    pub(super) async fn outcome_at_end(&mut self) -> Option<Outcome> {
        let mut rest = [0; OUTCOME_BYTES];
        // What is left is at most the outcome. Whoever sends more sends no outcome.
        for _ in 0..OUTCOME_BYTES {
            match self.stream.read(&mut rest).await.ok()? {
                0 => break,
                count => keep_last(&mut self.last, &rest[..count]),
            }
        }
        let head = [kind::OUTCOME, Outcome::BYTES as u8, 0, 0, 0];
        let payload = self.last.strip_prefix(&head)?;
        graph::read(payload).ok()
    }
}

/// Keeps the last bytes of a connection.
fn keep_last(last: &mut [u8; OUTCOME_BYTES], bytes: &[u8]) {
    let new = &bytes[bytes.len().saturating_sub(OUTCOME_BYTES)..];
    last.rotate_left(new.len());
    let from = OUTCOME_BYTES - new.len();
    last[from..].copy_from_slice(new);
}
