//! Real runtimes, suspended at their start, so that no application is needed. When resumed, they end, because the
//! assembly that they run has no entry point.
//!
//! `DOTNET_TEST_ROOTS` names installation directories, separated by colons; without it `DOTNET_ROOT` is used.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use dotnet_diagnostics_client::nettrace::{self, Item};
use dotnet_diagnostics_client::{
    Client, CoreDump, DiagnosticPort, DumpKind, Endpoint, Error, Guid, HResult, InvalidRequest, Keywords,
    Level, NotFoundReason, PerfMap, PortClient, ProcessStatus, Provider, Rundown, SessionConfig, StreamError,
    discovery, process,
};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use crate::run;

#[derive(Debug)]
struct Installation {
    root: PathBuf,
    version: String,
}

impl Installation {
    fn major(&self) -> u32 {
        self.version.split('.').next().unwrap().parse().unwrap()
    }

    fn framework(&self) -> PathBuf {
        self.root.join("shared/Microsoft.NETCore.App").join(&self.version)
    }
}

/// All installations, each with its newest framework.
#[expect(clippy::print_stderr, reason = "a test that could not run says so")]
fn installations() -> Vec<Installation> {
    let roots = env::var_os("DOTNET_TEST_ROOTS").or_else(|| env::var_os("DOTNET_ROOT"));
    let Some(roots) = roots else {
        eprintln!("not run: neither DOTNET_TEST_ROOTS nor DOTNET_ROOT names a .NET runtime");
        return Vec::new();
    };
    env::split_paths(&roots)
        .map(|root| {
            let frameworks = fs::read_dir(root.join("shared/Microsoft.NETCore.App")).unwrap();
            let version = frameworks
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .max_by_key(|name| {
                    name.split(['.', '-']).map(str::parse::<u32>).map(Result::ok).collect::<Vec<_>>()
                })
                .expect("an installation contains a framework");
            Installation { root, version }
        })
        .collect()
}

/// A runtime that is suspended at its start, with a temporary directory of its own as `TMPDIR`.
struct Suspended {
    child: Child,
    pid: u32,
    port: DiagnosticPort,
    runtime: PortClient,
    directory: TempDir,
    installation: Installation,
}

/// Runs a test with each runtime.
fn with_each(test: impl AsyncFn(Suspended)) {
    run(async {
        for installation in installations() {
            test(Suspended::start(installation).await).await;
        }
    });
}

impl Suspended {
    async fn start(installation: Installation) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let port = DiagnosticPort::bind(Endpoint::socket(directory.path().join("port"))).unwrap();
        let config = directory.path().join("any.runtimeconfig.json");
        let version = &installation.version;
        fs::write(
            &config,
            format!(r#"{{"runtimeOptions":{{"framework":{{"name":"Microsoft.NETCore.App","version":"{version}"}}}}}}"#),
        )
        .unwrap();
        let child = Command::new(installation.root.join("dotnet"))
            .arg("exec")
            .arg("--runtimeconfig")
            .arg(config)
            .arg(installation.framework().join("System.Console.dll"))
            .env("DOTNET_ROOT", &installation.root)
            .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
            .env("DOTNET_DiagnosticPorts", port.setting())
            .env("TMPDIR", directory.path())
            .env("TEST_MARK", "é=1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let runtime = port.accept().await.unwrap();
        Self { pid: child.id().unwrap(), child, port, runtime, directory, installation }
    }
}

#[test]
fn a_runtime_says_who_it_is_through_port_and_default_endpoint() {
    with_each(async |mut suspended| {
        let pid = suspended.pid;
        assert_eq!(suspended.runtime.connections().pid(), u64::from(pid));
        let info = suspended.runtime.client().process_info().await.unwrap();
        assert_eq!(info.pid, u64::from(pid));
        assert_eq!(info.cookie, suspended.runtime.connections().cookie());
        assert_eq!(info.clr_version.as_ref(), Some(&suspended.installation.version));
        assert_eq!(info.entry_assembly.as_deref(), Some("System.Console"));

        let endpoint = discovery::find(pid).unwrap();
        let Endpoint::Socket(path) = &endpoint else {
            panic!("{endpoint}");
        };
        assert_eq!(path.parent(), Some(suspended.directory.path()));
        let by_default = Client::new(endpoint.clone()).process_info().await.unwrap();
        assert_eq!(by_default.cookie, info.cookie);
        let listing = discovery::list();
        let listed = listing.found.iter().find(|found| found.pid == pid);
        assert_eq!(listed.map(|found| &found.endpoint), Some(&endpoint));

        let facts = ProcessStatus::read(pid);
        assert_eq!(facts.runtime_version(), Some(suspended.installation.version.as_str()));
        assert_eq!(facts.parent_pid, Some(std::process::id()));
        assert_eq!(facts.variable("TEST_MARK"), Some("é=1".as_ref()));

        suspended.child.kill().await.unwrap();
        assert!(!process::exists(pid));
        let gone = discovery::find(pid).unwrap_err();
        assert_eq!(gone.reason(), NotFoundReason::NoSuchProcess);
    });
}

#[test]
fn a_removed_socket_is_explained() {
    with_each(async |suspended| {
        let Ok(Endpoint::Socket(path)) = discovery::find(suspended.pid) else {
            panic!("no socket");
        };
        fs::remove_file(&path).unwrap();
        let missing = discovery::find(suspended.pid).unwrap_err();
        assert_eq!(missing.reason(), NotFoundReason::SocketRemoved { path });
    });
}

#[test]
fn the_environment_is_read_and_changed() {
    with_each(async |suspended| {
        let runtime = suspended.runtime.client();
        let value = async |name: &str| {
            let environment = runtime.environment().await.unwrap();
            environment.into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
        };
        assert_eq!(value("TEST_MARK").await.as_deref(), Some("é=1"));
        runtime.set_environment_variable("TEST_NEW", "x").await.unwrap();
        assert_eq!(value("TEST_NEW").await.as_deref(), Some("x"));
        runtime.remove_environment_variable("TEST_NEW").await.unwrap();
        assert_eq!(value("TEST_NEW").await, None);
        let missing = runtime.remove_environment_variable("TEST_NEW").await;
        let code = missing.unwrap_err().hresult();
        assert_eq!(code, Some(HResult::ENVIRONMENT_VARIABLE_NOT_FOUND));
    });
}

#[test]
fn a_suspended_runtime_takes_a_startup_profiler_but_no_attach() {
    with_each(async |suspended| {
        let runtime = suspended.runtime.client();
        let (guid, path) = (Guid::from_u128(1), "/nonexistent/profiler.so");
        runtime.set_startup_profiler(guid, path).await.unwrap();
        assert!(runtime.supports_profilers().await.unwrap());
        let attached = runtime.attach_profiler(Duration::ZERO, guid, path, b"data").await;
        let code = attached.unwrap_err().hresult();
        assert_eq!(code, Some(HResult::NOT_YET_AVAILABLE), "{}", suspended.installation.version);
    });
}

#[test]
fn a_session_opened_before_the_start_streams_to_its_end() {
    with_each(async |mut suspended| {
        let mut session = suspended.runtime.client().collect_tracing(&gc_session()).await.unwrap();
        let expected = match suspended.installation.major() {
            ..=8 => 2,
            9 => 4,
            _ => 5,
        };
        assert_eq!(session.version().number(), expected, "{}", suspended.installation.version);
        suspended.runtime.client().resume_runtime().await.unwrap();
        let mut stream = Vec::new();
        session.read_to_end(&mut stream).await.unwrap();
        assert!(stream.starts_with(b"Nettrace\x14\0\0\0!FastSerialization.1"));
        // The process fails because there is no entry point, but ends in an orderly way.
        assert!(!suspended.child.wait().await.unwrap().success());
        let path = suspended.directory.path().join("port");
        assert!(suspended.port.endpoint() == &Endpoint::socket(path));
    });
}

#[test]
fn stopping_ends_the_stream_while_it_is_read() {
    with_each(async |suspended| {
        let mut session = suspended.runtime.client().collect_tracing(&gc_session()).await.unwrap();
        let id = session.id();
        let mut stream = Vec::new();
        let (read, stopped) =
            tokio::join!(session.read_to_end(&mut stream), suspended.runtime.client().stop_tracing(id));
        read.unwrap();
        stopped.unwrap();
        // The runtime still takes commands.
        suspended.runtime.client().process_info().await.unwrap();
    });
}

fn gc_session() -> SessionConfig {
    let gc = Provider::new(Provider::RUNTIME, Level::Informational).keywords(Keywords::GC);
    SessionConfig::new([gc]).circular_buffer_mb(16).rundown(Rundown::Keyword(Keywords::GC))
}

#[test]
fn a_stop_needs_nobody_who_reads_at_the_same_time() {
    with_each(async |suspended| {
        let client = suspended.runtime.client();
        let (mut events, stop) = client.collect_tracing(&gc_session()).await.unwrap().into_split();
        stop.stop();
        stop.clone().stop();
        // A suspended runtime sends nothing, not even the header of the stream.
        let empty = events.next().await.unwrap_err();
        assert!(matches!(empty, StreamError::Damaged(nettrace::Error::Empty)), "{empty:?}");
        assert!(matches!(events.next().await.unwrap(), Some(Item::End(end)) if end.lost_events == 0));
        assert!(events.next().await.unwrap().is_none());
        client.process_info().await.unwrap();
    });
}

#[test]
fn a_dump_is_written_or_the_runtime_says_why_not() {
    with_each(async |suspended| {
        let client = suspended.runtime.client().clone().with_timeout(Duration::from_secs(50));
        let path = suspended.directory.path().join("core");
        let dump = CoreDump::new(path.to_str().unwrap()).kind(DumpKind::Mini);
        let written = client.write_core_dump(&dump).await;
        // Some installations come without the program that writes dumps.
        if !suspended.installation.framework().join("createdump").exists() {
            let Err(Error::Runtime { text: Some(text), .. }) = written else { panic!("{written:?}") };
            assert!(text.contains("createdump"), "{text}");
            return;
        }
        written.unwrap();
        assert!(fs::read(&path).unwrap().starts_with(b"\x7fELF"));
        let nowhere = CoreDump::new("/nonexistent/directory/core").kind(DumpKind::Mini);
        let Err(Error::Runtime { text: Some(text), .. }) = client.write_core_dump(&nowhere).await else {
            panic!("no text");
        };
        assert!(text.contains("/nonexistent/directory/core"), "{text}");
    });
}

#[test]
fn a_suspended_runtime_is_not_asked_for_a_perf_map() {
    with_each(async |suspended| {
        let client = suspended.runtime.client();
        let Err(Error::InvalidRequest { source, .. }) = client.enable_perf_map(PerfMap::All).await else {
            panic!("it was asked");
        };
        assert_eq!(source, InvalidRequest::Suspended);
        client.process_info().await.unwrap();
    });
}

#[test]
fn waiting_for_a_process_ends_when_it_listens() {
    with_each(async |mut suspended| {
        let within = Duration::from_secs(20);
        let endpoint = discovery::wait_for(suspended.pid, within).await.unwrap();
        assert_eq!(endpoint, discovery::find(suspended.pid).unwrap());
        suspended.child.kill().await.unwrap();
        let gone = discovery::wait_for(suspended.pid, within).await.unwrap_err();
        assert_eq!(gone.reason(), NotFoundReason::NoSuchProcess);
    });
}
