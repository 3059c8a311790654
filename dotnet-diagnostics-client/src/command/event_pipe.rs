//! Command set 2, EventPipe: event sessions.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use crate::client::{Client, decode, prepare};
use crate::error::{Error, Result};
use crate::message::{CommandCode, InvalidRequest, PayloadReader, PayloadWriter, Request};
use crate::transport::{Stream, Transport};

const STOP_TRACING: CommandCode = CommandCode { set: 2, id: 1, name: "StopTracing" };

const MAX_LEVEL: u32 = 5;
const MAX_PROVIDERS: usize = 1000;
/// The runtime converts to bytes in a `size_t`: more would overflow in a 32-bit target.
const MAX_BUFFER_MB: u32 = 4095;
/// The nettrace format; 0 is the older NetPerf.
const FORMAT_NETTRACE: u32 = 1;
/// Session type of CollectTracing5: the stream comes on this connection.
const SESSION_TYPE_STREAM: u32 = 0;

/// Id of a session in its runtime. The id is an address there, so two sessions in a row can have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(pub u64);

/// The events that a session sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionConfig {
    /// Maximum size of the runtime's buffers in units of 2^20 bytes, 1 to 4095. The runtime allocates on demand. When
    /// the buffers are full, it drops the newest events.
    pub buffer_mb: u32,
    /// Providers of events, 1 to 1000.
    pub providers: Vec<Provider>,
    /// Events at the end of the session about what existed before it.
    pub rundown: Rundown,
    /// Whether every event has its call stack. Runtimes before .NET 9 always send stacks.
    pub stacks: bool,
}

/// The rundown of a session: events at its end about methods, modules and settings that existed before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rundown {
    /// No rundown. In a large application a full rundown can take seconds, during which the application is suspended.
    None,
    /// A rundown with these keywords of the rundown provider. `0x1` gives two small events with the settings of the GC.
    /// Needs CollectTracing4 (.NET 9); older runtimes then send no rundown.
    Keyword(u64),
    /// The same; runtimes before .NET 9 then send the full rundown.
    KeywordOrFull(u64),
}

/// A provider of events in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Name of the provider, for example `Microsoft-Windows-DotNETRuntime`.
    pub name: String,
    /// Keywords that select events, a bit set.
    pub keywords: u64,
    /// Verbosity: 0 (always) to 5 (verbose).
    pub level: u32,
    /// Arguments for the provider, `key=value;…`.
    pub filter_args: Option<String>,
    /// Selects single events among those of keywords and level (.NET 10 and later).
    pub event_filter: Option<EventFilter>,
}

impl Provider {
    /// A provider without arguments and without an event filter.
    pub fn new(name: impl Into<String>, keywords: u64, level: u32) -> Self {
        Self { name: name.into(), keywords, level, filter_args: None, event_filter: None }
    }
}

/// Selects events by their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventFilter {
    /// Only these events. With an empty list, none.
    Only(Vec<u32>),
    /// All events except these.
    Except(Vec<u32>),
}

/// The variant of the CollectTracing command that a runtime has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectCommand(u8);

impl CollectCommand {
    /// CollectTracing2, .NET Core 3.0.
    pub const V2: Self = Self(2);
    /// CollectTracing3, .NET 9: adds [`SessionConfig::stacks`].
    pub const V3: Self = Self(3);
    /// CollectTracing4, .NET 9: adds [`Rundown::Keyword`].
    pub const V4: Self = Self(4);
    /// CollectTracing5, .NET 10: adds [`Provider::event_filter`].
    pub const V5: Self = Self(5);

    /// The number at the end of the command's name.
    pub const fn version(self) -> u8 {
        self.0
    }

    const fn code(self) -> CommandCode {
        let name = match self.0 {
            2 => "CollectTracing2",
            3 => "CollectTracing3",
            4 => "CollectTracing4",
            _ => "CollectTracing5",
        };
        CommandCode { set: 2, id: self.0 + 1, name }
    }
}

/// A running session. Reading it gives the bytes of a nettrace stream.
///
/// - Read until the end, also while [`Client::stop_tracing`] runs, so run both concurrently. The runtime answers the
///   stop only when it has written everything, and until then it serves no other connection.
/// - A runtime that is suspended at its start sends no byte before it is resumed. Do not wait for the header of the
///   stream before [`Client::resume_runtime`].
/// - If nobody reads the stream, the runtime drops events, and the process hangs when it exits. Drop the session to end
///   it early: the runtime notices at its next write.
/// - When a process is killed, the stream just ends. At most about the last 100 ms of events are then missing.
#[derive(Debug)]
pub struct EventSession {
    id: SessionId,
    command: CollectCommand,
    stream: Stream,
}

impl EventSession {
    /// The id for [`Client::stop_tracing`].
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The variant of the command that the runtime has accepted.
    pub fn command(&self) -> CollectCommand {
        self.command
    }

    /// Whether the runtime applies [`Provider::event_filter`]. If not, it sends all events.
    pub fn honours_event_filters(&self) -> bool {
        self.command >= CollectCommand::V5
    }

    /// Whether the runtime applies [`Rundown::Keyword`]. If not, it sends no rundown.
    pub fn honours_rundown_keyword(&self) -> bool {
        self.command >= CollectCommand::V4
    }

    /// Whether the runtime applies [`SessionConfig::stacks`]. If not, events have stacks.
    pub fn honours_stacks(&self) -> bool {
        self.command >= CollectCommand::V3
    }

    /// The connection that the stream comes on.
    pub fn into_stream(self) -> Stream {
        self.stream
    }
}

impl AsyncRead for EventSession {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl SessionConfig {
    /// Checks for values that no runtime accepts; some runtimes crash on them. [`Client::collect_tracing`] does this
    /// too.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn validate(&self) -> Result<(), InvalidRequest> {
        if !(1..=MAX_BUFFER_MB).contains(&self.buffer_mb) {
            return Err(InvalidRequest::Buffer { buffer_mb: self.buffer_mb, max: MAX_BUFFER_MB });
        }
        if !(1..=MAX_PROVIDERS).contains(&self.providers.len()) {
            return Err(InvalidRequest::ProviderCount { count: self.providers.len(), max: MAX_PROVIDERS });
        }
        if let Some(Provider { name, level, .. }) = self.providers.iter().find(|p| p.level > MAX_LEVEL) {
            return Err(InvalidRequest::Level { provider: name.clone(), level: *level });
        }
        // The encoding checks names, arguments and the total length. Variant 5 is the longest.
        Request::new(CollectCommand::V5.code(), |payload| self.write(CollectCommand::V5, payload)).map(drop)
    }

    fn write<'p>(&self, command: CollectCommand, payload: &'p mut PayloadWriter) -> &'p mut PayloadWriter {
        if command >= CollectCommand::V5 {
            payload.u32(SESSION_TYPE_STREAM);
        }
        payload.u32(self.buffer_mb).u32(FORMAT_NETTRACE);
        if command >= CollectCommand::V4 {
            payload.u64(match self.rundown {
                Rundown::None => 0,
                Rundown::Keyword(keyword) | Rundown::KeywordOrFull(keyword) => keyword,
            });
        } else {
            // In the older variants, this flag requests the full rundown.
            payload.bool(matches!(self.rundown, Rundown::KeywordOrFull(_)));
        }
        if command >= CollectCommand::V3 {
            payload.bool(self.stacks);
        }
        payload.count(self.providers.len());
        for provider in &self.providers {
            payload
                .u64(provider.keywords)
                .u32(provider.level)
                .required_str16("provider name", &provider.name)
                .str16("provider argument text", provider.filter_args.as_deref());
            if command >= CollectCommand::V5 {
                let (enable, ids) = match &provider.event_filter {
                    None => (false, &[][..]),
                    Some(EventFilter::Only(ids)) => (true, &ids[..]),
                    Some(EventFilter::Except(ids)) => (false, &ids[..]),
                };
                payload.bool(enable).count(ids.len());
                for id in ids {
                    payload.u32(*id);
                }
            }
        }
        payload
    }
}

/// The EventPipe command set.
impl<T: Transport> Client<T> {
    /// Starts a session, with the newest variant of the command that the runtime knows.
    ///
    /// What an older variant cannot express is left out. [`EventSession`] says what that is.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command); [`HResult::FAIL`](crate::HResult::FAIL) if the runtime
    /// already has 64 sessions.
    pub async fn collect_tracing(&self, config: &SessionConfig) -> Result<EventSession> {
        let newest = CollectCommand::V5;
        let older = [CollectCommand::V4, CollectCommand::V3, CollectCommand::V2];
        let operation = newest.code().name;
        config.validate().map_err(|source| Error::InvalidRequest { operation, source })?;
        let request =
            |command: CollectCommand| prepare(command.code(), |payload| config.write(command, payload));
        let (command, payload, stream) = self.run_newest(newest, &older, request).await?;
        let id = decode(command.code().name, PayloadReader::new(&payload).u64())?;
        Ok(EventSession { id: SessionId(id), command, stream })
    }

    /// Ends a session. The runtime still sends the events in its buffers.
    ///
    /// The runtime answers only after it has written the last byte of the stream. **Read the stream meanwhile**, or
    /// neither this call nor any other client gets an answer. For an unknown id the runtime answers with success.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn stop_tracing(&self, id: SessionId) -> Result<()> {
        let request = prepare(STOP_TRACING, |payload| payload.u64(id.0))?;
        self.run(&request, self.deadline()).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HEADER_SIZE;

    fn config() -> SessionConfig {
        SessionConfig {
            buffer_mb: 256,
            providers: vec![Provider::new("P", 0x1, 4)],
            rundown: Rundown::Keyword(0x1),
            stacks: false,
        }
    }

    fn payload(config: &SessionConfig, command: CollectCommand) -> Vec<u8> {
        let request = Request::new(command.code(), |payload| config.write(command, payload)).unwrap();
        request.bytes[HEADER_SIZE..].to_vec()
    }

    #[test]
    fn each_variant_has_its_own_layout() {
        let provider = b"\x01\0\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0P\0\0\0\0\0\0\0";
        let one = b"\x01\0\0\0";
        let head = b"\0\x01\0\0\x01\0\0\0";
        let expected: [(CollectCommand, &[&[u8]]); 4] = [
            (CollectCommand::V2, &[head, b"\0", one, provider]),
            (CollectCommand::V3, &[head, b"\0", b"\0", one, provider]),
            (CollectCommand::V4, &[head, b"\x01\0\0\0\0\0\0\0", b"\0", one, provider]),
            (
                CollectCommand::V5,
                &[b"\0\0\0\0", head, b"\x01\0\0\0\0\0\0\0", b"\0", one, provider, b"\0\0\0\0\0"],
            ),
        ];
        for (command, parts) in expected {
            assert_eq!(payload(&config(), command), parts.concat(), "{command:?}");
        }
    }

    #[test]
    fn the_full_rundown_is_asked_for_only_where_no_keyword_can_be() {
        let full = SessionConfig { rundown: Rundown::KeywordOrFull(0x1), ..config() };
        let flag = |config: &SessionConfig| payload(config, CollectCommand::V2)[8];
        assert_eq!((flag(&config()), flag(&full)), (0, 1));
        for command in [CollectCommand::V4, CollectCommand::V5] {
            assert_eq!(payload(&full, command), payload(&config(), command), "{command:?}");
        }
    }

    #[test]
    fn event_filters_have_a_flag_and_ids() {
        let tail = |filter| {
            let mut config = config();
            config.providers[0].event_filter = Some(filter);
            let bytes = payload(&config, CollectCommand::V5);
            bytes[payload(&config, CollectCommand::V4).len() + 4..].to_vec()
        };
        assert_eq!(tail(EventFilter::Only(vec![10, 2])), b"\x01\x02\0\0\0\x0a\0\0\0\x02\0\0\0");
        assert_eq!(tail(EventFilter::Except(vec![29])), b"\0\x01\0\0\0\x1d\0\0\0");
        assert_eq!(tail(EventFilter::Only(vec![])), b"\x01\0\0\0\0");
    }

    #[test]
    fn values_that_can_crash_the_target_are_refused() {
        let cases: [(fn(&mut SessionConfig), _); 9] = [
            (|c| c.buffer_mb = 0, "a buffer of 0 MB: 1 to 4095 are possible"),
            (|c| c.buffer_mb = 4096, "a buffer of 4096 MB: 1 to 4095 are possible"),
            (|c| c.providers.clear(), "0 providers: a session has 1 to 1000"),
            (
                |c| c.providers = vec![Provider::new("P", 0, 0); 1001],
                "1001 providers: a session has 1 to 1000",
            ),
            (|c| c.providers[0].level = 6, "level 6 of provider P is above 5"),
            (|c| c.providers[0].name.clear(), "the provider name is empty"),
            (|c| c.providers[0].name = "a\0b".into(), "the provider name contains a NUL character"),
            (
                |c| c.providers[0].filter_args = Some("a\0".into()),
                "the provider argument text contains a NUL character",
            ),
            (|c| c.providers[0].name = "x".repeat(40_000), "the request has 80052 bytes, 65515 are possible"),
        ];
        for (change, expected) in cases {
            let mut config = config();
            change(&mut config);
            assert_eq!(config.validate().unwrap_err().to_string(), expected);
        }
        config().validate().unwrap();
    }
}
