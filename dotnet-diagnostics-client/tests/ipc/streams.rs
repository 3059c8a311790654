//! Event streams of scripted runtimes.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_client::nettrace::raw::{EventBlock, RepeatedEvent};
use dotnet_diagnostics_client::nettrace::{FileReader, Item};
use dotnet_diagnostics_client::{
    Client, Endpoint, Error, HResult, Level, Provider, SessionConfig, StreamError,
};

use crate::run;
use crate::scripted_runtime::{error, ok};

const RECORDING: &[u8] = include_bytes!("../data/gccollect-ws-9.0.18.nettrace");

fn config() -> SessionConfig {
    SessionConfig::new([Provider::new("P", Level::Informational)])
}

/// Accepts a connection and reads its command.
fn command(listener: &UnixListener) -> UnixStream {
    let (mut stream, _) = listener.accept().unwrap();
    let mut header = [0; 20];
    stream.read_exact(&mut header).unwrap();
    let size = usize::from(u16::from_le_bytes([header[14], header[15]]));
    stream.read_exact(&mut vec![0; size - 20]).unwrap();
    stream
}

/// Sends a recording and then more and more events, until it is told to stop.
fn endless(path: &Path) -> thread::JoinHandle<()> {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        let mut stream = command(&listener);
        stream.write_all(&ok(&1u64.to_le_bytes())).unwrap();
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        let answer = thread::spawn(move || {
            let connection = command(&listener);
            stop.store(true, Ordering::Relaxed);
            connection
        });
        let (metadata, mut at) = last_event();
        // Without the end tag.
        let mut offset = RECORDING.len() - 1;
        stream.write_all(&RECORDING[..offset]).unwrap();
        while !stopped.load(Ordering::Relaxed) {
            let mut block = EventBlock::new(u64::MAX);
            for _ in 0..100 {
                at += 1;
                block.push(&RepeatedEvent::new(metadata, 1, at, &[7; 100]));
            }
            let mut bytes = Vec::new();
            block.append(&mut bytes, offset as u64);
            offset += bytes.len();
            stream.write_all(&bytes).unwrap();
        }
        stream.write_all(&[1]).unwrap();
        drop(stream);
        answer.join().unwrap().write_all(&ok(&1u64.to_le_bytes())).unwrap();
    })
}

/// Metadata id and timestamp of the last event of the recording.
fn last_event() -> (u32, i64) {
    let mut reader = FileReader::new(RECORDING);
    let mut last = None;
    while let Some(item) = reader.next_item().unwrap() {
        if let Item::Event(event) = item {
            last = Some((event.metadata.id, event.timestamp));
        }
    }
    last.unwrap()
}

/// The runtime sends faster than the events are read, and goes on until it is told to stop.
#[test]
fn a_stop_reaches_a_runtime_that_never_pauses() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let runtime = endless(&path);
    run(async {
        let client = Client::new(Endpoint::socket(&path));
        let (mut events, stop) = client.collect_tracing(&config()).await.unwrap().into_split();
        let (mut count, mut clean) = (0, false);
        while let Some(item) = events.next().await.unwrap() {
            match item {
                Item::Event(_) => {
                    count += 1;
                    if count == 3_000 {
                        stop.stop();
                    }
                    thread::sleep(Duration::from_micros(20));
                }
                Item::End(end) => clean = end.clean,
                _ => {}
            }
        }
        assert!(clean && count >= 3_000, "{count} events");
    });
    runtime.join().unwrap();
}

/// A stop that the runtime refuses is told, the session goes on, and it can be asked for again.
#[test]
fn a_refused_stop_can_be_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let runtime = thread::spawn(move || {
        let mut stream = command(&listener);
        stream.write_all(&ok(&1u64.to_le_bytes())).unwrap();
        stream.write_all(&RECORDING[..RECORDING.len() - 1]).unwrap();
        command(&listener).write_all(&error(0x8000_4005)).unwrap();
        let mut answer = command(&listener);
        stream.write_all(&[1]).unwrap();
        drop(stream);
        answer.write_all(&ok(&1u64.to_le_bytes())).unwrap();
    });
    run(async {
        let client = Client::new(Endpoint::socket(&path));
        let (mut events, stop) = client.collect_tracing(&config()).await.unwrap().into_split();
        stop.stop();
        let (mut count, mut refused) = (0, 0);
        loop {
            match events.next().await {
                Ok(Some(Item::Event(_))) => count += 1,
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(StreamError::Stop(Error::Runtime { code: HResult::FAIL, .. })) => {
                    refused += 1;
                    stop.stop();
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!((count, refused), (2580, 1));
    });
    runtime.join().unwrap();
}
