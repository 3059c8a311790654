//! A session: providers, buffers, rundown, stacks.

use super::provider::{EventFilter, Keywords, Provider};
use crate::message::{Command, InvalidRequest, PayloadWriter, Request};

const MAX_PROVIDERS: usize = 1000;
/// The runtime converts to bytes in a `size_t`: more would overflow in a 32-bit target.
const MAX_BUFFER_MB: u32 = 4095;
/// The nettrace format; 0 is the older NetPerf.
const FORMAT_NETTRACE: u32 = 1;
/// Session type of CollectTracing5: the stream comes on this connection. (The other is user_events of Linux.)
const SESSION_TYPE_STREAM: u32 = 0;

/// The events that a session sends.
///
/// ```
/// use dotnet_diagnostics_client::{Keywords, Level, Provider, Rundown, SessionConfig};
///
/// let exceptions = Provider::new(Provider::RUNTIME, Level::Error).keywords(Keywords::EXCEPTION);
/// let config = SessionConfig::new([exceptions]).stackwalk(true).rundown(Rundown::Default);
/// assert_eq!(config.circular_buffer_mb, 256);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionConfig {
    /// Providers of events, 1 to 1000.
    pub providers: Vec<Provider>,
    /// Maximum size of the runtime's buffers in units of 2^20 bytes, 1 to 4095. The runtime allocates on demand. When
    /// the buffers are full, it drops the newest events.
    pub circular_buffer_mb: u32,
    /// Events at the end of the session about what existed before it.
    pub rundown: Rundown,
    /// Whether every event has its call stack. Runtimes before .NET 9 always send stacks.
    pub stackwalk: bool,
    /// What happens when the buffers are full.
    pub buffer_mode: BufferMode,
}

/// What a runtime does when the buffers of a session are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum BufferMode {
    /// It drops the newest events.
    #[default]
    Drop = 0,
    /// The threads of the program wait until there is room. Needs CollectTracing6 (.NET 11); older runtimes drop events.
    Block = 1,
}

/// The rundown of a session: events at its end about methods, modules and settings that existed before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rundown {
    /// No rundown. In a large application a full rundown can take seconds, during which the application is suspended.
    None,
    /// What tools such as dotnet-trace ask for: methods, modules and threads, so that stacks have names. All runtimes
    /// have it.
    Default,
    /// A rundown with these keywords of the rundown provider. `0x1` gives two small events with the settings of the GC.
    /// Needs CollectTracing4 (.NET 9); older runtimes then send no rundown.
    Keyword(Keywords),
    /// The same; runtimes before .NET 9 then send the default rundown.
    KeywordOrDefault(Keywords),
}

/// The keywords of the rundown provider that a runtime uses by default.
const DEFAULT_RUNDOWN: Keywords = Keywords(0x8002_0139);

impl Rundown {
    /// The keywords, from CollectTracing4 on.
    fn keywords(self) -> Keywords {
        match self {
            Self::None => Keywords::NONE,
            Self::Default => DEFAULT_RUNDOWN,
            Self::Keyword(keywords) | Self::KeywordOrDefault(keywords) => keywords,
        }
    }

    /// The flag of CollectTracing2 and 3, which asks for the default rundown.
    fn flag(self) -> bool {
        matches!(self, Self::Default | Self::KeywordOrDefault(_))
    }
}

/// The variant of the CollectTracing command that a runtime has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectTracingVersion(u8);

impl CollectTracingVersion {
    /// CollectTracing2, .NET Core 3.0.
    pub const V2: Self = Self(2);
    /// CollectTracing3, .NET 9: adds [`SessionConfig::stackwalk`].
    pub const V3: Self = Self(3);
    /// CollectTracing4, .NET 9: adds [`Rundown::Keyword`].
    pub const V4: Self = Self(4);
    /// CollectTracing5, .NET 10: adds [`Provider::event_filter`].
    pub const V5: Self = Self(5);
    /// CollectTracing6, .NET 11: adds [`SessionConfig::buffer_mode`]. Written by its documentation; no runtime that knows
    /// it was at hand.
    pub const V6: Self = Self(6);

    /// The number at the end of the command's name.
    pub const fn number(self) -> u8 {
        self.0
    }

    pub(crate) const fn command(self) -> Command {
        match self.0 {
            2 => Command::COLLECT_TRACING_2,
            3 => Command::COLLECT_TRACING_3,
            4 => Command::COLLECT_TRACING_4,
            5 => Command::COLLECT_TRACING_5,
            _ => Command::COLLECT_TRACING_6,
        }
    }
}

impl SessionConfig {
    /// The events of these providers, with a buffer of 256 MiB, without rundown and stacks.
    #[must_use]
    pub fn new(providers: impl IntoIterator<Item = Provider>) -> Self {
        Self {
            providers: providers.into_iter().collect(),
            circular_buffer_mb: 256,
            rundown: Rundown::None,
            stackwalk: false,
            buffer_mode: BufferMode::Drop,
        }
    }

    /// The same with another size of the runtime's buffers, in units of 2^20 bytes.
    #[must_use]
    pub fn circular_buffer_mb(self, circular_buffer_mb: u32) -> Self {
        Self { circular_buffer_mb, ..self }
    }

    /// The same with another rundown.
    #[must_use]
    pub fn rundown(self, rundown: Rundown) -> Self {
        Self { rundown, ..self }
    }

    /// The same with or without the call stacks of events.
    #[must_use]
    pub fn stackwalk(self, stackwalk: bool) -> Self {
        Self { stackwalk, ..self }
    }

    /// The same with another behaviour when the buffers are full.
    #[must_use]
    pub fn buffer_mode(self, buffer_mode: BufferMode) -> Self {
        Self { buffer_mode, ..self }
    }

    /// The newest variant to ask for, and older ones, the newest first. Only what needs CollectTracing6 asks for it: a
    /// runtime that does not know a command leaks a file descriptor.
    pub(crate) fn versions(&self) -> (CollectTracingVersion, &'static [CollectTracingVersion]) {
        type Version = CollectTracingVersion;
        const OLDER: &[Version] = &[Version::V5, Version::V4, Version::V3, Version::V2];
        match self.buffer_mode {
            BufferMode::Drop => (Version::V5, &OLDER[1..]),
            BufferMode::Block => (Version::V6, OLDER),
        }
    }

    /// Checks for values that no runtime accepts; some runtimes crash on them.
    /// [`Client::collect_tracing`](crate::Client::collect_tracing) does this too.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn validate(&self) -> Result<(), InvalidRequest> {
        let buffer_mb = self.circular_buffer_mb;
        if !(1..=MAX_BUFFER_MB).contains(&buffer_mb) {
            return Err(InvalidRequest::Buffer { buffer_mb, max: MAX_BUFFER_MB });
        }
        if !(1..=MAX_PROVIDERS).contains(&self.providers.len()) {
            return Err(InvalidRequest::ProviderCount { count: self.providers.len(), max: MAX_PROVIDERS });
        }
        // The encoding checks names, arguments and the total length. Variant 6 is the longest.
        let newest = CollectTracingVersion::V6;
        Request::new(newest.command(), |payload| self.write(newest, payload)).map(drop)
    }

    pub(crate) fn write<'p>(
        &self,
        version: CollectTracingVersion,
        payload: &'p mut PayloadWriter,
    ) -> &'p mut PayloadWriter {
        if version >= CollectTracingVersion::V5 {
            payload.u32(SESSION_TYPE_STREAM);
        }
        payload.u32(self.circular_buffer_mb).u32(FORMAT_NETTRACE);
        if version >= CollectTracingVersion::V4 {
            payload.u64(self.rundown.keywords().0);
        } else {
            payload.bool(self.rundown.flag());
        }
        if version >= CollectTracingVersion::V3 {
            payload.bool(self.stackwalk);
        }
        payload.count(self.providers.len());
        for provider in &self.providers {
            payload
                .u64(provider.keywords.0)
                .u32(provider.level.number())
                .required_str16("provider name", &provider.name)
                .str16("provider argument text", provider.arguments.as_deref());
            if version >= CollectTracingVersion::V5 {
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
        if version >= CollectTracingVersion::V6 {
            payload.u32(self.buffer_mode as u32);
        }
        payload
    }
}

#[cfg(test)]
mod tests {
    use super::super::provider::Level;
    use super::*;
    use crate::message::HEADER_SIZE;

    const ALL_VERSIONS: [CollectTracingVersion; 5] = [
        CollectTracingVersion::V2,
        CollectTracingVersion::V3,
        CollectTracingVersion::V4,
        CollectTracingVersion::V5,
        CollectTracingVersion::V6,
    ];

    fn config() -> SessionConfig {
        SessionConfig::new([Provider::new("P", Level::Informational).keywords(0x1)])
            .rundown(Rundown::Keyword(0x1.into()))
    }

    fn payload(config: &SessionConfig, version: CollectTracingVersion) -> Vec<u8> {
        let request = Request::new(version.command(), |payload| config.write(version, payload)).unwrap();
        request.bytes[HEADER_SIZE..].to_vec()
    }

    #[test]
    fn each_variant_has_its_own_layout() {
        let provider = b"\x01\0\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0P\0\0\0\0\0\0\0";
        let one = b"\x01\0\0\0";
        let head = b"\0\x01\0\0\x01\0\0\0";
        let expected: [&[&[u8]]; 5] = [
            &[head, b"\0", one, provider],
            &[head, b"\0", b"\0", one, provider],
            &[head, b"\x01\0\0\0\0\0\0\0", b"\0", one, provider],
            &[b"\0\0\0\0", head, b"\x01\0\0\0\0\0\0\0", b"\0", one, provider, b"\0\0\0\0\0"],
            &[b"\0\0\0\0", head, b"\x01\0\0\0\0\0\0\0", b"\0", one, provider, b"\0\0\0\0\0", b"\x01\0\0\0"],
        ];
        let config = config().buffer_mode(BufferMode::Block);
        for (version, parts) in ALL_VERSIONS.into_iter().zip(expected) {
            assert_eq!(payload(&config, version), parts.concat(), "{version:?}");
        }
    }

    #[test]
    fn each_rundown_is_asked_for_as_the_variant_can() {
        let of = |rundown, version: CollectTracingVersion| {
            let bytes = payload(&config().rundown(rundown), version);
            match version.number() {
                2 | 3 => u64::from(bytes[8]),
                4 => u64::from_le_bytes(bytes[8..16].try_into().unwrap()),
                _ => u64::from_le_bytes(bytes[12..20].try_into().unwrap()),
            }
        };
        let all = |rundown| ALL_VERSIONS.map(|version| of(rundown, version));
        assert_eq!(all(Rundown::None), [0; 5]);
        assert_eq!(all(Rundown::Default), [1, 1, 0x8002_0139, 0x8002_0139, 0x8002_0139]);
        assert_eq!(all(Rundown::Keyword(Keywords(0x11))), [0, 0, 0x11, 0x11, 0x11]);
        assert_eq!(all(Rundown::KeywordOrDefault(Keywords(0x11))), [1, 1, 0x11, 0x11, 0x11]);
    }

    #[test]
    fn event_filters_have_a_flag_and_ids() {
        let tail = |filter| {
            let mut config = config();
            config.providers[0].event_filter = Some(filter);
            let bytes = payload(&config, CollectTracingVersion::V5);
            bytes[payload(&config, CollectTracingVersion::V4).len() + 4..].to_vec()
        };
        assert_eq!(tail(EventFilter::Only(vec![10, 2])), b"\x01\x02\0\0\0\x0a\0\0\0\x02\0\0\0");
        assert_eq!(tail(EventFilter::Except(vec![29])), b"\0\x01\0\0\0\x1d\0\0\0");
        assert_eq!(tail(EventFilter::Only(vec![])), b"\x01\0\0\0\0");
    }

    #[test]
    fn values_that_can_crash_the_target_are_refused() {
        let empty = || Provider::new("P", Level::LogAlways);
        let cases: [(fn(&mut SessionConfig), _); 8] = [
            (|c| c.circular_buffer_mb = 0, "a buffer of 0 MB: 1 to 4095 are possible"),
            (|c| c.circular_buffer_mb = 4096, "a buffer of 4096 MB: 1 to 4095 are possible"),
            (|c| c.providers.clear(), "0 providers: a session has 1 to 1000"),
            (|c| c.providers = vec![c.providers[0].clone(); 1001], "1001 providers: a session has 1 to 1000"),
            (|c| c.providers[0].name.clear(), "the provider name is empty"),
            (|c| c.providers[0].name = "a\0b".into(), "the provider name contains a NUL character"),
            (
                |c| c.providers[0].arguments = Some("a\0".into()),
                "the provider argument text contains a NUL character",
            ),
            (|c| c.providers[0].name = "x".repeat(40_000), "the request has 80056 bytes, 65515 are possible"),
        ];
        for (change, expected) in cases {
            let mut config = config();
            change(&mut config);
            assert_eq!(config.validate().unwrap_err().to_string(), expected);
        }
        config().validate().unwrap();
        SessionConfig::new([empty()]).validate().unwrap();
    }
}
