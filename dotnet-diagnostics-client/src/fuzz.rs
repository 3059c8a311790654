//! Entry points for fuzzing: a target that gives any answer.

use std::time::Duration;

use crate::client::Client;
use crate::guid::Guid;
use crate::port::Advertise;
use crate::session::{Level, Provider, SessionConfig};
use crate::way::Transport;
use crate::{CoreDump, PerfMap};

/// Decodes the bytes as the answer to every command, and as an advertisement.
///
/// # Panics
/// If a decoded value is larger than its encoding allows.
pub async fn answers(bytes: &[u8]) {
    let client = Client::new(Transport::answering(bytes)).with_timeout(Duration::from_secs(5));
    if let Ok(info) = client.process_info().await {
        assert!(info.command_line.len() <= 4 * bytes.len());
    }
    if let Ok(variables) = client.environment().await {
        assert!(variables.len() <= bytes.len());
    }
    let _ = client.supports_profilers().await;
    let _ = client.resume_runtime().await;
    let _ = client.set_environment_variable("NAME", "value").await;
    let _ = client.remove_environment_variable("NAME").await;
    let _ = client.enable_perf_map(PerfMap::All).await;
    let _ = client.disable_perf_map().await;
    let _ = client.apply_startup_hook("/hook.dll").await;
    let _ = client.write_core_dump(&CoreDump::new("/dump")).await;
    let _ = client.attach_profiler(Duration::ZERO, Guid::default(), "/library", b"").await;
    let config = SessionConfig::new([Provider::new("P", Level::Critical)]);
    if let Ok(session) = client.collect_tracing(&config).await {
        let (mut events, stop) = session.into_split();
        stop.stop();
        while let Ok(Some(_)) = events.next().await {}
    }
    if let Ok(stream) = Transport::answering(bytes).connect().await {
        let _ = Advertise::read(stream).await;
    }
}
