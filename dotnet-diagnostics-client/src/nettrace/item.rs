//! What comes out of a stream.

use super::{Metadata, TraceInfo};

/// One thing that a stream tells.
#[derive(Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// The stream's clock and process; before any event.
    Trace(&'a TraceInfo),
    /// An event.
    Event(Event<'a>),
    /// Events that the runtime numbered and that are not in the stream: dropped because its buffers were full,
    /// because they were larger than 64 KiB, or in a block that is damaged.
    Lost(Lost),
    /// All events before `timestamp` have come. Runtimes write one about every 10 MB and at the end.
    SequencePoint {
        /// In ticks of the stream's clock.
        timestamp: i64,
    },
    /// The stream ends amid a flush, and what follows is of the part that is cut: of the same time, other threads'
    /// events are missing. (Perhaps it is whole after all: not every flush shows where it ends, see
    /// [`Reader::flush_ended`](super::Reader::flush_ended). A stream that was ended in order ends with a sequence
    /// point, and has no such part.)
    Cut,
    /// The end of the stream. Nothing comes after it.
    End(End),
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// What kind of event it is.
    pub metadata: &'a Metadata,
    /// Number of the event on its capture thread, from 1, counting lost ones too.
    pub sequence: u32,
    /// Id of the thread that wrote the event, as the operating system gives it to the traced process (version 6: as
    /// the stream tells it, or else the thread's index in the stream).
    pub capture_thread_id: u64,
    /// Id of the thread the event is about; nearly always the same.
    pub thread_id: u64,
    /// Processor it was written on; `u32::MAX` where the runtime does not know (Linux).
    pub processor: u32,
    /// When it happened, in ticks of the stream's clock, see [`TraceInfo::nanoseconds`].
    pub timestamp: i64,
    /// Return addresses, innermost first, [`TraceInfo::pointer_size`] bytes each, little-endian. Empty if there are none.
    pub stack: &'a [u8],
    /// Activity id, or zeros.
    pub activity_id: [u8; 16],
    /// Related activity id, or zeros.
    pub related_activity_id: [u8; 16],
    /// The event's own data; its layout follows from `metadata`. Of a deferred one, the first bytes.
    pub payload: &'a [u8],
    /// Where its payload is, if that was left out, see [`Reader::defer`](super::Reader::defer).
    pub deferred: Option<Deferred>,
}

/// A payload that was left out, all of it: what a stream has at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deferred {
    /// Offset from the start of the stream (of the file, where it is [several](super::Reader::next_part)).
    pub offset: u64,
    /// How many bytes it has.
    pub len: usize,
}

/// Events missing from a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The thread that wrote them.
    pub thread_id: u64,
    /// How many they are.
    pub events: u64,
    /// They were written before this time (of the thread's next event, or of the sequence point that shows the gap),
    /// in ticks of the stream's clock.
    pub before_timestamp: i64,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// True if the stream has its end mark. Without it the writer was killed, or the rest is missing or damaged.
    pub clean: bool,
    /// All lost events of the stream.
    pub lost_events: u64,
    /// Bytes that could not be read: damaged blocks, the rest after a damaged object, a cut-off object, and the
    /// payloads of events whose description is missing.
    pub unparsed_bytes: u64,
}
