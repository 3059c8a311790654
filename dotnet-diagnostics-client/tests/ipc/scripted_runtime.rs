//! A peer that answers from a script, on a real socket, with bytes that are encoded independently of the crate.

use dotnet_diagnostics_client::{Client, Endpoint};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use crate::run;

pub(crate) const UNKNOWN_COMMAND: u32 = 0x8013_1385;

/// The answer on one connection. The connection is then closed.
pub(crate) type Answer = Vec<u8>;

/// Runs a test against a peer that serves one connection for each answer. Returns the requests.
pub(crate) fn scripted(answers: Vec<Answer>, test: impl AsyncFnOnce(Client)) -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let mut requests = Vec::new();
    run(async {
        let listener = UnixListener::bind(&path).unwrap();
        let serve = async {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                requests.push(read_request(&mut stream).await);
                stream.write_all(&answer).await.unwrap();
            }
            drop(listener);
            std::future::pending().await
        };
        tokio::select! {
            () = serve => {}
            () = test(Client::new(Endpoint::socket(&path))) => {}
        }
    });
    requests
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
