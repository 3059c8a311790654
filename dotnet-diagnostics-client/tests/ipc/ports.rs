//! Diagnostic ports with scripted runtimes that connect.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dotnet_diagnostics_client::{DiagnosticPort, Endpoint, Error, Guid, Listener};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

use crate::run;
use crate::scripted_runtime::{frame, ok, read_request};

fn with_port(test: impl AsyncFnOnce(PathBuf, DiagnosticPort)) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("port");
    run(async { test(path.clone(), DiagnosticPort::bind(Endpoint::socket(&path)).unwrap()).await });
}

/// Connects as a runtime does.
async fn dial(path: &Path, cookie: u128, pid: u64) -> UnixStream {
    let mut stream = UnixStream::connect(path).await.unwrap();
    let cookie = Guid::from_u128(cookie).to_bytes();
    let advertisement = [b"ADVR_V1\0", &cookie[..], &pid.to_le_bytes(), &[0, 0]].concat();
    stream.write_all(&advertisement).await.unwrap();
    stream
}

/// Connects, takes one command, answers OK and closes, `times` times. Returns the commands.
async fn serve(path: PathBuf, cookie: u128, pid: u64, times: usize) -> Vec<Vec<u8>> {
    let mut commands = Vec::new();
    for _ in 0..times {
        let mut stream = dial(&path, cookie, pid).await;
        commands.push(read_request(&mut stream).await);
        stream.write_all(&ok(&[0; 4])).await.unwrap();
    }
    commands
}

#[test]
fn each_runtime_gets_its_own_commands_on_its_own_connections() {
    with_port(async |path, port| {
        let one = tokio::spawn(serve(path.clone(), 1, 101, 3));
        let two = tokio::spawn(serve(path, 2, 102, 1));
        let (a, b) = (port.accept().await.unwrap(), port.accept().await.unwrap());
        let (a, b) = if a.connections().pid() == 101 { (a, b) } else { (b, a) };
        assert_eq!(a.connections().cookie(), Guid::from_u128(1));
        assert_eq!((b.connections().cookie(), b.connections().pid()), (Guid::from_u128(2), 102));

        a.client().set_environment_variable("N", "").await.unwrap();
        b.client().resume_runtime().await.unwrap();
        a.client().set_startup_profiler(Guid::from_u128(7), "/p.so").await.unwrap();
        a.client().resume_runtime().await.unwrap();
        let ids = |commands: Vec<Vec<u8>>| commands.iter().map(|c| (c[16], c[17])).collect::<Vec<_>>();
        assert_eq!(ids(one.await.unwrap()), [(4, 3), (3, 2), (4, 1)]);
        assert_eq!(ids(two.await.unwrap()), [(4, 1)]);
    });
}

#[test]
fn peers_that_are_no_runtimes_hold_up_nobody() {
    with_port(async |path, port| {
        let _silent = UnixStream::connect(&path).await.unwrap();
        let mut noise = UnixStream::connect(&path).await.unwrap();
        noise.write_all(&[b'x'; 34]).await.unwrap();
        drop(UnixStream::connect(&path).await.unwrap());
        let _real = dial(&path, 3, 103).await;
        assert_eq!(port.accept().await.unwrap().connections().pid(), 103);
        // The connection of the peer that is no runtime is closed.
        noise.readable().await.unwrap();
        assert_eq!(noise.try_read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn the_connection_of_a_forgotten_runtime_stays_open() {
    with_port(async |path, port| {
        let parked = dial(&path, 4, 104).await;
        drop(port.accept().await.unwrap());
        // When this one has been accepted, the port could have closed the first.
        let _next = dial(&path, 5, 105).await;
        let next = port.accept().await.unwrap();
        assert_eq!(next.connections().pid(), 105);
        let error = parked.try_read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);

        drop(next);
        drop(port);
        parked.readable().await.unwrap();
        assert_eq!(parked.try_read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn a_runtime_that_ended_while_parked_is_reported_at_the_next_command() {
    with_port(async |path, port| {
        drop(dial(&path, 6, 106).await);
        let client = port.accept().await.unwrap();
        let error = client.client().resume_runtime().await.unwrap_err();
        assert!(matches!(error, Error::Closed { .. }), "{error:?}");
    });
}

#[test]
fn the_socket_is_private_and_goes_with_the_port() {
    with_port(async |path, port| {
        assert_eq!(port.setting(), format!("{},suspend,connect", path.display()));
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = Listener::bind(Endpoint::socket(&path)).unwrap_err();
        assert!(matches!(again, Error::Io { .. }), "{again:?}");
        let connection = dial(&path, 7, 107).await;
        let client = port.accept().await.unwrap();
        drop(port);
        assert!(!path.exists());
        // The runtime that has already connected still takes one command. After that, none connects.
        let serving = tokio::spawn(async move {
            let mut connection = connection;
            let request = read_request(&mut connection).await;
            connection.write_all(&ok(&[0; 4])).await.unwrap();
            request
        });
        client.client().resume_runtime().await.unwrap();
        assert_eq!(serving.await.unwrap(), frame(4, 1, &[]));
        let error = client.client().resume_runtime().await.unwrap_err();
        assert!(matches!(error, Error::Closed { .. }), "{error:?}");
    });
}

#[test]
fn a_path_at_which_runtimes_hang_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x".repeat(100));
    let error = run(async { Listener::bind(Endpoint::socket(&path)).unwrap_err() });
    assert!(matches!(error, Error::PathTooLong { max: 100, .. }), "{error:?}");
    assert!(!path.exists());
}
