//! Command set 2, EventPipe: streams of events.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use crate::client::{Client, Prepared, decode, prepare};
use crate::error::{Error, Result};
use crate::message::{CommandCode, InvalidRequest, PayloadReader, PayloadWriter};
use crate::transport::{Stream, Transport};

const STOP_TRACING: CommandCode = CommandCode { set: 2, id: 1, name: "StopTracing" };

const MAX_LEVEL: u32 = 5;
const MAX_PROVIDERS: usize = 1000;
/// The runtime multiplies by 2^20 in the target's pointer size: more would overflow on a 32-bit one.
const MAX_BUFFER_MB: u32 = 4095;
/// The "Nettrace" stream format; 0 is the abandoned NetPerf.
const FORMAT_NETTRACE: u32 = 1;
/// Session type of CollectTracing5: a stream on this connection.
const SESSION_TYPE_STREAM: u32 = 0;

/// Identity of a session in its runtime. It is an address there and is used again: two sessions in a row may have
/// the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(pub u64);

/// Events that a runtime should send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionConfig {
    /// Upper bound of the runtime's buffers in MB (2^20 bytes), 1 to 4095. Memory is taken on demand; when the buffers
    /// are full the newest events are dropped.
    pub buffer_mb: u32,
    /// Sources of events, 1 to 1000.
    pub providers: Vec<Provider>,
    /// What is sent at the session's end about code and types that already existed.
    pub rundown: Rundown,
    /// Whether every event carries its call stack.
    pub stacks: bool,
}

/// The kind of rundown at a session's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rundown {
    /// None. A rundown of a large application can suspend it for seconds.
    None,
    /// The rundown provider's keywords; `0x1` gives two small events with the GC's settings. Only CollectTracing4 and
    /// later can do this (.NET 9); an older runtime sends no rundown.
    Keyword(u64),
}

/// One source of events in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Name, `Microsoft-Windows-DotNETRuntime` for example.
    pub name: String,
    /// Bit set of keywords that select events.
    pub keywords: u64,
    /// Verbosity, 0 to 5.
    pub level: u32,
    /// Arguments for the provider, `key=value;…`.
    pub filter_args: Option<String>,
    /// Choice of single events within keywords and level (.NET 10 and later).
    pub event_filter: Option<EventFilter>,
}

impl Provider {
    /// A provider without arguments and event filter.
    pub fn new(name: impl Into<String>, keywords: u64, level: u32) -> Self {
        Self { name: name.into(), keywords, level, filter_args: None, event_filter: None }
    }
}

/// Choice of single events by id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventFilter {
    /// Only these events; with an empty list none at all.
    Only(Vec<u32>),
    /// All events but these.
    Except(Vec<u32>),
}

/// Variant of the command that a runtime accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectCommand(u8);

impl CollectCommand {
    /// CollectTracing2, .NET Core 3.0.
    pub const V2: Self = Self(2);
    /// CollectTracing3, .NET 9: stacks can be switched off.
    pub const V3: Self = Self(3);
    /// CollectTracing4, .NET 9: the rundown's keywords can be chosen.
    pub const V4: Self = Self(4);
    /// CollectTracing5, .NET 10: single events can be chosen.
    pub const V5: Self = Self(5);

    /// Newest first.
    const ALL: [Self; 4] = [Self::V5, Self::V4, Self::V3, Self::V2];

    /// The number at the end of the command's name.
    pub const fn version(self) -> u8 {
        self.0
    }

    const fn code(self) -> CommandCode {
        CommandCode {
            set: 2,
            id: self.0 + 1,
            name: match self.0 {
                2 => "CollectTracing2",
                3 => "CollectTracing3",
                4 => "CollectTracing4",
                _ => "CollectTracing5",
            },
        }
    }
}

/// A running session: the bytes of a nettrace stream, to be read until they end.
///
/// - Keep reading until the end, also while [`Client::stop_tracing`] is outstanding (so run the two concurrently):
///   the runtime answers the stop only when everything is written, and until then serves no other tool.
/// - Not one byte comes before a runtime that is suspended at its start has been resumed, so do not wait for the
///   stream's header before [`Client::resume_runtime`].
/// - A stream that is not read makes the runtime drop events, and makes the process hang at its exit. When the
///   events are no longer wanted, drop the session: the runtime notices at its next write.
/// - The stream of a process that was killed just ends, at most about 100 ms of events short.
#[derive(Debug)]
pub struct EventSession {
    id: SessionId,
    command: CollectCommand,
    stream: Stream,
}

impl EventSession {
    /// What [`Client::stop_tracing`] wants to know.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The variant of the command that was accepted.
    pub fn command(&self) -> CollectCommand {
        self.command
    }

    /// Whether the runtime could take [`Provider::event_filter`] into account; if not, all events come.
    pub fn honours_event_filters(&self) -> bool {
        self.command >= CollectCommand::V5
    }

    /// Whether the runtime could take [`Rundown::Keyword`] into account; if not, there is no rundown.
    pub fn honours_rundown_keyword(&self) -> bool {
        self.command >= CollectCommand::V4
    }

    /// Whether the runtime could take [`SessionConfig::stacks`] into account; if not, events carry stacks.
    pub fn honours_stacks(&self) -> bool {
        self.command >= CollectCommand::V3
    }

    /// The connection itself.
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
    /// Checks what no runtime accepts. [`Client::collect_tracing`] does it too; some runtimes crash on such requests.
    ///
    /// # Errors
    /// The first value that is not valid.
    pub fn validate(&self) -> Result<(), InvalidRequest> {
        if !(1..=MAX_BUFFER_MB).contains(&self.buffer_mb) {
            return Err(InvalidRequest::Buffer { buffer_mb: self.buffer_mb, max: MAX_BUFFER_MB });
        }
        if !(1..=MAX_PROVIDERS).contains(&self.providers.len()) {
            return Err(InvalidRequest::ProviderCount { count: self.providers.len(), max: MAX_PROVIDERS });
        }
        for provider in &self.providers {
            if provider.level > MAX_LEVEL {
                return Err(InvalidRequest::Level { provider: provider.name.clone(), level: provider.level });
            }
        }
        // Names, arguments and the total length are checked where they are encoded; 5 is the longest variant.
        self.prepare(CollectCommand::V5).map(drop).map_err(|(_, reason)| reason)
    }

    fn prepare(&self, command: CollectCommand) -> Prepared {
        prepare(command.code(), |payload| self.write(command, payload))
    }

    fn write(&self, command: CollectCommand, payload: &mut PayloadWriter) {
        if command >= CollectCommand::V5 {
            payload.u32(SESSION_TYPE_STREAM);
        }
        payload.u32(self.buffer_mb).u32(FORMAT_NETTRACE);
        if command >= CollectCommand::V4 {
            payload.u64(match self.rundown {
                Rundown::None => 0,
                Rundown::Keyword(keyword) => keyword,
            });
        } else {
            // The flag of the older variants means the full rundown, which nobody asked for.
            payload.bool(false);
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
    }
}

/// The EventPipe command set.
impl<T: Transport> Client<T> {
    /// Starts a session, with the newest variant of the command that the runtime knows.
    ///
    /// What an older variant cannot express is left out; [`EventSession`] tells.
    ///
    /// # Errors
    /// Those of every command; [`HResult::FAIL`](crate::HResult::FAIL) when the runtime already has 64 sessions.
    pub async fn collect_tracing(&self, config: &SessionConfig) -> Result<EventSession> {
        let deadline = self.deadline();
        let newest = CollectCommand::V5.code().name;
        config.validate().map_err(|source| Error::InvalidRequest { operation: newest, source })?;
        let mut refusal = None;
        for command in CollectCommand::ALL {
            match self.run(config.prepare(command), deadline).await {
                Ok((payload, stream)) => {
                    let id = decode(command.code().name, PayloadReader::new(&payload).u64())?;
                    return Ok(EventSession { id: SessionId(id), command, stream });
                }
                Err(error) if error.is_unknown_command() => refusal = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refusal.unwrap_or(Error::Closed { operation: newest }))
    }

    /// Ends a session in an orderly way: what is buffered is still sent.
    ///
    /// The answer comes only after the last byte of the stream was written, so **go on reading the stream meanwhile**;
    /// otherwise neither this call nor any other tool gets an answer. An unknown id is answered with success.
    ///
    /// # Errors
    /// Those of every command.
    pub async fn stop_tracing(&self, id: SessionId) -> Result<()> {
        let request: Prepared = prepare(STOP_TRACING, |payload| {
            payload.u64(id.0);
        });
        self.run(request, self.deadline()).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{HEADER_SIZE, Request};

    fn config() -> SessionConfig {
        SessionConfig {
            buffer_mb: 256,
            providers: vec![Provider::new("P", 0x1, 4)],
            rundown: Rundown::Keyword(0x1),
            stacks: false,
        }
    }

    fn payload(config: &SessionConfig, command: CollectCommand) -> Vec<u8> {
        let request: Request = config.prepare(command).unwrap();
        request.as_bytes()[HEADER_SIZE..].to_vec()
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
    fn event_filters_say_which_events() {
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
    fn what_could_hurt_the_target_is_not_sent() {
        let refused = |change: fn(&mut SessionConfig)| {
            let mut config = config();
            change(&mut config);
            config.validate().unwrap_err().to_string()
        };
        assert_eq!(refused(|c| c.buffer_mb = 0), "a buffer of 0 MB: 1 to 4095 are possible");
        assert_eq!(refused(|c| c.buffer_mb = 4096), "a buffer of 4096 MB: 1 to 4095 are possible");
        assert_eq!(refused(|c| c.providers.clear()), "0 providers: a session has 1 to 1000");
        assert_eq!(
            refused(|c| c.providers = vec![Provider::new("P", 0, 0); 1001]),
            "1001 providers: a session has 1 to 1000"
        );
        assert_eq!(refused(|c| c.providers[0].level = 6), "level 6 of provider P is above 5");
        assert_eq!(refused(|c| c.providers[0].name.clear()), "the provider name is empty");
        assert_eq!(
            refused(|c| c.providers[0].name = "a\0b".into()),
            "the provider name contains a NUL character"
        );
        assert_eq!(
            refused(|c| c.providers[0].filter_args = Some("a\0".into())),
            "the provider argument text contains a NUL character"
        );
        assert!(refused(|c| c.providers[0].name = "x".repeat(40_000)).contains("65515"));
        config().validate().unwrap();
    }
}
