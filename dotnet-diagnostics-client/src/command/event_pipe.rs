//! Command set 2, EventPipe: starts and stops event sessions.

use crate::client::Client;
use crate::error::{Error, Result};
use crate::event_session::EventSession;
use crate::exchange::{decode, prepare};
use crate::message::{Command, PayloadReader};
use crate::session::{CollectTracingVersion, SessionConfig, SessionId};

/// The EventPipe command set.
impl Client {
    /// Starts a session, with the newest variant of the command that the runtime knows.
    ///
    /// What an older variant cannot express is left out. [`EventSession`] says what that is.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command); [`HResult::FAIL`](crate::HResult::FAIL) if the runtime
    /// already has 64 sessions.
    pub async fn collect_tracing(&self, config: &SessionConfig) -> Result<EventSession> {
        let (newest, older) = config.versions();
        let operation = newest.command().into();
        config.validate().map_err(|source| Error::InvalidRequest { operation, source })?;
        let request = |version: CollectTracingVersion| {
            prepare(version.command(), |payload| config.write(version, payload))
        };
        let (version, payload, stream) = self.run_newest(newest, older, request).await?;
        let id = decode(version.command().into(), PayloadReader::new(&payload).u64())?;
        Ok(EventSession::new(SessionId(id), version, stream, self.clone()))
    }

    /// Ends a session. The runtime still sends the events in its buffers, and the rundown.
    ///
    /// The runtime answers only after it has written the last byte of the stream. **Read the stream meanwhile**, or
    /// neither this call nor any other client gets an answer; [`EventSession::into_split`] does that. For an unknown id
    /// the runtime answers with success.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn stop_tracing(&self, id: SessionId) -> Result<()> {
        let request = prepare(Command::STOP_TRACING, |payload| payload.u64(id.0))?;
        self.run(&request, self.deadline()).await.map(drop)
    }

    /// As [`stop_tracing`](Self::stop_tracing), however long it takes.
    pub(crate) async fn stop_tracing_without_timeout(self, id: SessionId) -> Result<()> {
        const DAY: std::time::Duration = std::time::Duration::from_secs(86_400);
        self.with_timeout(DAY).stop_tracing(id).await
    }
}
