//! One command on a connection: the request in one piece, and the answer.

use std::future::Future;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use crate::error::{Error, Result};
use crate::message::{
    self, Command, HEADER_SIZE, Operation, PayloadWriter, ProtocolError, ReplyKind, Request,
};

/// Frames a command whose payload `write` encodes.
pub(crate) fn prepare(
    code: Command,
    write: impl FnOnce(&mut PayloadWriter) -> &mut PayloadWriter,
) -> Result<Request> {
    Request::new(code, write).map_err(|source| Error::InvalidRequest { operation: code.into(), source })
}

/// A command without payload.
pub(crate) fn prepare_empty(code: Command) -> Result<Request> {
    prepare(code, |payload| payload)
}

/// The point in time at which a command has taken too long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    after: Duration,
}

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        let now = Instant::now();
        // A day instead of a timeout that the clock cannot represent.
        let at = now.checked_add(timeout).unwrap_or(now + Duration::from_secs(86_400));
        Self { at, after: timeout }
    }

    pub(crate) async fn bound<R>(
        &self,
        operation: Operation,
        work: impl Future<Output = Result<R>>,
    ) -> Result<R> {
        timeout_at(self.at, work).await.unwrap_or(Err(Error::Timeout { operation, after: self.after }))
    }
}

/// Sends a request and returns the payload of the OK reply.
pub(crate) async fn exchange<S>(stream: &mut S, request: &Request) -> Result<Vec<u8>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let operation: Operation = request.command.into();
    let written = match stream.write_all(&request.bytes).await {
        Ok(()) => stream.flush().await,
        failed => failed,
    };
    // A runtime may refuse and close before it has read the whole request. Its answer can still be read.
    let mut header = [0; HEADER_SIZE];
    match (read_exact(stream, &mut header, operation).await, written) {
        (Ok(()), _) => {}
        (Err(Error::Closed { .. }), Err(source)) if !is_disconnect(&source) => {
            return Err(Error::io(format!("sending {operation}"), source));
        }
        (Err(error), _) => return Err(error),
    }
    let (kind, length) = decode(operation, message::decode_header(&header))?;
    let mut payload = vec![0; length];
    read_exact(stream, &mut payload, operation).await?;
    match kind {
        ReplyKind::Ok => Ok(payload),
        ReplyKind::Error => {
            let (code, text) = decode(operation, message::decode_error(&payload))?;
            Err(Error::Runtime { operation, code, text })
        }
    }
}

/// Fills the buffer. If the connection ends before, the error is [`Error::Closed`].
pub(crate) async fn read_exact<S>(stream: &mut S, buffer: &mut [u8], operation: Operation) -> Result<()>
where
    S: AsyncRead + Unpin,
{
    match stream.read_exact(buffer).await {
        Ok(_) => Ok(()),
        Err(error) if is_disconnect(&error) => Err(Error::Closed { operation }),
        Err(source) => Err(Error::io(format!("reading the answer to {operation}"), source)),
    }
}

fn is_disconnect(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe)
}

/// Adds the name of the command to a decoding error.
pub(crate) fn decode<R>(operation: Operation, decoded: Result<R, ProtocolError>) -> Result<R> {
    decoded.map_err(|source| Error::Protocol { operation, source })
}

/// Decodes the result code that some commands put into the payload of an OK reply.
pub(crate) fn decode_result(operation: Operation, payload: &[u8]) -> Result<()> {
    match decode(operation, message::decode_code(payload))? {
        code if code.is_success() => Ok(()),
        code => Err(Error::Runtime { operation, code, text: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: Command = Command::PROCESS_INFO;

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    fn answered(reply: &[u8]) -> Result<Vec<u8>> {
        block_on(async {
            let (mut near, mut far) = tokio::io::duplex(4096);
            far.write_all(reply).await.unwrap();
            far.shutdown().await.unwrap();
            exchange(&mut near, &prepare_empty(PROBE)?).await
        })
    }

    #[test]
    fn an_answer_that_is_cut_off_is_a_closed_connection() {
        let whole = b"DOTNET_IPC_V1\0\x18\x00\xff\x00\x00\x00\x01\x02\x03\x04";
        assert_eq!(answered(whole).unwrap(), [1, 2, 3, 4]);
        for cut in 0..whole.len() {
            assert!(
                matches!(
                    answered(&whole[..cut]),
                    Err(Error::Closed { operation: Operation::Command(PROBE) })
                ),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn a_silent_peer_is_a_timeout() {
        let error = block_on(async {
            let (mut near, _far) = tokio::io::duplex(4096);
            let after = Duration::from_millis(20);
            let deadline = Deadline { at: Instant::now() + after, after };
            let request = prepare_empty(PROBE).unwrap();
            deadline.bound(PROBE.into(), exchange(&mut near, &request)).await.unwrap_err()
        });
        assert_eq!(error.to_string(), "no answer to ProcessInfo within 0.02 s");
    }
}
