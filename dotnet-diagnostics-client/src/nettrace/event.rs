//! Events.

use std::time::SystemTime;

use super::bytes::Bytes;
use super::field::Sizes;
use super::labels::{LabelList, LabelValue};
use super::metadata::Metadata;
use super::stack::Stack;
use super::trace::TraceInfo;
use super::value::Fields;
use crate::guid::Guid;

/// One event. It borrows from the reader until the next item is asked for.
///
/// ```
/// use dotnet_diagnostics_client::nettrace::Event;
///
/// fn print(event: &Event<'_>) {
///     println!("{:?} {} {}", event.time(), event.metadata.provider, event.name());
///     for (name, value) in event.fields() {
///         println!("    {name} = {value}");
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Event<'a> {
    /// Definition of the event.
    pub metadata: &'a Metadata,
    /// Sequence number of the event on its capture thread, from 1. Lost events have numbers too.
    pub sequence: u32,
    /// Id of the thread that wrote the event, as the operating system gives it to the traced process. In version 6 the
    /// id that the stream names, or else the index of the thread in the stream.
    pub capture_thread_id: u64,
    /// Id of the thread that the event is about, nearly always the same.
    pub thread_id: u64,
    /// Processor that the event was written on; `u32::MAX` if the runtime does not know it (Linux).
    pub processor: u32,
    /// When the event occurred, in ticks of the stream's clock, see [`TraceInfo::nanoseconds`].
    pub timestamp: i64,
    /// The data of the event. If the payload is deferred, its first 16 bytes.
    pub payload: &'a [u8],
    /// Where the payload is in the stream, if it is deferred, see [`raw`](super::raw).
    pub deferred: Option<Deferred>,
    pub(super) stack: &'a [u8],
    pub(super) activity: Option<&'a [u8; 16]>,
    pub(super) related_activity: Option<&'a [u8; 16]>,
    pub(super) labels: &'a LabelList,
    pub(super) trace: &'a TraceInfo,
}

impl<'a> Event<'a> {
    /// The name of the event, as [`Metadata::event_name`]. Empty if it is not known.
    pub fn name(&self) -> &'a str {
        self.metadata.event_name()
    }

    /// The fields of the event, with the names and types that the stream defines, or else those of the runtime's
    /// manifest (feature `clr-events`). None if neither defines any.
    pub fn fields(&self) -> Fields<'a> {
        let (bytes, sizes) = (Bytes::new(self.payload), Sizes::new(self.pointer_bytes()));
        match self.metadata.fields.as_slice() {
            [] => Fields::new(self.metadata.event_fields(), bytes, sizes),
            fields => Fields::of_stream(fields, bytes, sizes),
        }
    }

    /// When the event occurred, see [`TraceInfo::time`].
    pub fn time(&self) -> SystemTime {
        self.trace.time(self.timestamp)
    }

    /// The call stack. Empty if the event has none.
    pub fn stack(&self) -> Stack<'a> {
        Stack::new(self.stack, self.pointer_bytes())
    }

    /// Id of the activity that the event is a part of.
    pub fn activity_id(&self) -> Option<Guid> {
        guid(self.activity)
    }

    /// Id of another activity, usually of the one that started this activity.
    pub fn related_activity_id(&self) -> Option<Guid> {
        guid(self.related_activity)
    }

    /// Verbosity: 1 critical to 5 verbose, 0 always. In version 6 an event can differ from its definition.
    pub fn level(&self) -> u32 {
        self.labels.level.map_or(self.metadata.level, u32::from)
    }

    /// Keywords of the event, a bit set. In version 6 an event can differ from its definition.
    pub fn keywords(&self) -> u64 {
        self.labels.keywords.unwrap_or(self.metadata.keywords)
    }

    /// Opcode of the event, if the stream has it. In version 6 an event can differ from its definition.
    pub fn opcode(&self) -> Option<u8> {
        self.labels.opcode.or(self.metadata.opcode)
    }

    /// Version of the payload's layout. In version 6 an event can differ from its definition.
    pub fn version(&self) -> u32 {
        self.labels.version.map_or(self.metadata.version, u32::from)
    }

    /// Id of the distributed trace that the event is a part of, in the byte order of W3C Trace Context (version 6).
    pub fn trace_id(&self) -> Option<[u8; 16]> {
        self.labels.trace_id
    }

    /// Id of the span that the event is a part of (version 6).
    pub fn span_id(&self) -> Option<u64> {
        self.labels.span_id
    }

    /// The labels of the event, as names and values (version 6).
    pub fn labels(&self) -> &'a [(Box<str>, LabelValue)] {
        &self.labels.named
    }

    fn pointer_bytes(&self) -> u8 {
        // The trace object is refused unless it is 4 or 8.
        self.trace.pointer_size as u8
    }
}

/// Where a stream has a deferred payload, its first bytes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deferred {
    /// Offset in bytes from the start of the stream, or of the file if the stream has
    /// [several](super::raw::RawReader::next_part).
    pub offset: u64,
    /// Length in bytes.
    pub len: usize,
}

/// Zeros stand for none.
fn guid(bytes: Option<&[u8; 16]>) -> Option<Guid> {
    bytes.filter(|bytes| **bytes != [0; 16]).map(|bytes| Guid::from_bytes(*bytes))
}
