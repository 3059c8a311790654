//! A peer that answers from a script, on a real socket, with bytes that are encoded independently of the crate.

use std::path::PathBuf;

use dotnet_diagnostics_client::{Client, Endpoint};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

pub(crate) const UNKNOWN_COMMAND: u32 = 0x8013_1385;

/// The answer on one connection. The connection is then closed.
pub(crate) type Answer = Vec<u8>;

#[derive(Debug)]
pub(crate) struct ScriptedRuntime {
    directory: TempDir,
    server: JoinHandle<Vec<Vec<u8>>>,
}

impl ScriptedRuntime {
    /// Serves one connection for each answer.
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let server = tokio::spawn(async move {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                requests.push(read_request(&mut stream).await);
                stream.write_all(&answer).await.unwrap();
            }
            requests
        });
        Self { directory, server }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(Endpoint::socket(self.path()))
    }

    /// All requests, after every answer was sent.
    pub(crate) async fn requests(self) -> Vec<Vec<u8>> {
        self.server.await.unwrap()
    }
}

/// Reads one frame by its size field.
pub(crate) async fn read_request(stream: &mut UnixStream) -> Vec<u8> {
    let mut frame = vec![0; 20];
    stream.read_exact(&mut frame).await.unwrap();
    assert_eq!(&frame[..14], b"DOTNET_IPC_V1\0");
    let size = usize::from(u16::from_le_bytes([frame[14], frame[15]]));
    frame.resize(size, 0);
    stream.read_exact(&mut frame[20..]).await.unwrap();
    frame
}

pub(crate) fn frame(set: u8, id: u8, payload: &[u8]) -> Answer {
    let size = u16::try_from(20 + payload.len()).unwrap().to_le_bytes();
    [b"DOTNET_IPC_V1\0", &size[..], &[set, id, 0, 0], payload].concat()
}

pub(crate) fn ok(payload: &[u8]) -> Answer {
    frame(0xff, 0x00, payload)
}

pub(crate) fn error(code: u32) -> Answer {
    frame(0xff, 0xff, &code.to_le_bytes())
}

/// Encodes a text.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let mut bytes = u32::try_from(units.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    bytes
}
