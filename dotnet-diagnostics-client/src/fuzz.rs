//! Entry points for fuzzing: a target that gives any answer.

use std::time::Duration;

use crate::client::Client;
use crate::command::{Provider, Rundown, SessionConfig};
use crate::error::{Error, Result};
use crate::guid::Guid;
use crate::port::Advertised;
use crate::transport::{Stream, Transport};

/// Answers every command with the same bytes and closes the connection.
#[derive(Debug)]
struct Answering<'a>(&'a [u8]);

impl Transport for Answering<'_> {
    async fn connect(&self) -> Result<Stream> {
        Stream::answering(self.0).await.map_err(|source| Error::io("answering", source))
    }
}

/// Decodes the bytes as the answer to every command, and as an advertisement.
///
/// # Panics
/// If a decoded value is larger than its encoding allows.
pub async fn answers(bytes: &[u8]) {
    let client = Client::new(Answering(bytes)).with_timeout(Duration::from_secs(5));
    if let Ok(info) = client.process_info().await {
        assert!(info.command_line.len() <= 4 * bytes.len());
    }
    if let Ok(variables) = client.environment().await {
        assert!(variables.len() <= bytes.len());
    }
    let _ = client.supports_profilers().await;
    let _ = client.resume_runtime().await;
    let _ = client.set_environment_variable("NAME", Some("value")).await;
    let _ = client.attach_profiler(1_000, Guid::default(), "/library", b"").await;
    let config = SessionConfig {
        buffer_mb: 1,
        providers: vec![Provider::new("P", 1, 1)],
        rundown: Rundown::None,
        stacks: false,
    };
    if let Ok(session) = client.collect_tracing(&config).await {
        let _ = client.stop_tracing(session.id()).await;
    }
    if let Ok(stream) = Answering(bytes).connect().await {
        let _ = Advertised::read(stream).await;
    }
}
