//! Peers that have ended, are silent, or are no runtime.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use dotnet_diagnostics_client::{
    Client, CoreDump, Endpoint, Error, Guid, HResult, InvalidRequest, ProtocolError,
};

use crate::run;
use crate::scripted_runtime::{error, frame, ok, scripted};

#[test]
fn an_abandoned_socket_is_stale() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let client = Client::new(Endpoint::socket(&path));
        let missing = client.process_info().await.unwrap_err();
        assert!(matches!(missing, Error::Stale { .. }), "{missing:?}");
        // The file outlives its listener, as it does when a runtime is killed.
        drop(UnixListener::bind(&path).unwrap());
        let abandoned = client.process_info().await.unwrap_err();
        assert!(matches!(abandoned, Error::Stale { .. }), "{abandoned:?}");
    });
}

#[test]
fn a_silent_peer_costs_the_timeout_and_no_more() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let _silent = UnixListener::bind(&path).unwrap();
        let limit = Duration::from_millis(50);
        let client = Client::new(Endpoint::socket(path)).with_timeout(limit);
        let started = Instant::now();
        let error = client.process_info().await.unwrap_err();
        assert!(started.elapsed() >= limit);
        assert_eq!(error.to_string(), "no answer to ProcessInfo3 within 0.05 s");
    });
}

#[test]
fn an_answer_that_is_not_the_protocol_is_refused() {
    let size_19 = [&b"DOTNET_IPC_V1\0\x13\0"[..], &[0xff, 0, 0, 0]].concat();
    let cases = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), ProtocolError::BadMagic),
        (size_19, ProtocolError::BadSize { size: 19 }),
        (frame(4, 8, &[]), ProtocolError::UnexpectedReply { set: 4, id: 8 }),
        (ok(&[1, 0, 0, 0, 7]), ProtocolError::Truncated { offset: 4, requested: 8, available: 1 }),
    ];
    for (answer, expected) in cases {
        scripted(vec![answer], async |client| match client.process_info().await.unwrap_err() {
            Error::Protocol { source, .. } => assert_eq!(source, expected),
            other => panic!("{other:?} instead of {expected:?}"),
        });
    }
}

#[test]
fn a_connection_that_ends_early_is_told_from_an_answer() {
    let whole = ok(&0u32.to_le_bytes());
    let announced = [ok(&[100, 0, 0, 0, 0, 0]), vec![0; 50]].concat();
    for answer in [Vec::new(), whole[..23].to_vec(), announced] {
        scripted(vec![answer], async |client| {
            let error = client.environment().await.unwrap_err();
            let ended = matches!(error, Error::Closed { .. } | Error::Protocol { .. });
            assert!(ended, "{error:?}");
        });
    }
}

#[test]
fn an_absurd_length_is_not_believed() {
    scripted(vec![ok(&[0xff, 0xff, 0xff, 0x7f, 0, 0])], async |client| {
        let error = client.environment().await.unwrap_err();
        let too_long = |source| matches!(source, ProtocolError::TooLong { .. });
        assert!(matches!(error, Error::Protocol { source, .. } if too_long(source)));
    });
}

#[test]
fn invalid_values_never_reach_a_socket() {
    run(async {
        // Nothing listens here: an attempt to send would be Stale.
        let client = Client::new(Endpoint::socket("/nonexistent/socket"));
        let guid = Guid::default();
        let data = vec![0; 65_515];
        let refused = [
            client.remove_environment_variable("").await,
            client.remove_environment_variable("A=B").await,
            client.remove_environment_variable("A\0").await,
            client.set_environment_variable("A", "\0").await,
            client.apply_startup_hook("").await,
            client.write_core_dump(&CoreDump::new("")).await,
            client.attach_profiler(Duration::ZERO, guid, "", b"").await,
            client.attach_profiler(Duration::ZERO, guid, "/p.so", &data).await,
            client.set_startup_profiler(guid, "/p\0.so").await,
        ];
        for result in refused {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::InvalidRequest { .. }), "{error:?}");
        }
        let error = client.remove_environment_variable("A=B").await.unwrap_err();
        let Error::InvalidRequest { source, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(source, InvalidRequest::EqualsSign { name: "A=B".into() });
    });
}

#[test]
fn a_runtime_that_was_already_resumed_refuses_a_startup_profiler_within_bounds() {
    // More answers than can be used in a second, at one per millisecond.
    scripted(vec![error(0x8007_0057); 2000], async |client| {
        let started = Instant::now();
        let refused = client.set_startup_profiler(Guid::default(), "/p.so").await;
        assert_eq!(refused.unwrap_err().hresult(), Some(HResult::INVALID_ARGUMENT));
        // No upper bound: on a busy machine the last attempt may have to wait.
        assert!(started.elapsed() >= Duration::from_secs(1));
    });
}
