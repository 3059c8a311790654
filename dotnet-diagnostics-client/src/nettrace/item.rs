//! What a reader gives.

use super::event::Event;
use super::trace::TraceInfo;

/// One item of a stream.
#[derive(Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// The clock and the process of the stream. It comes before all events.
    Trace(&'a TraceInfo),
    /// An event.
    Event(Event<'a>),
    /// Events that the runtime numbered but that are missing in the stream: the buffers were full, the events were
    /// larger than 64 KiB, or a block is damaged.
    Lost(Lost),
    /// All events before `timestamp` have come. Runtimes write a sequence point about every 10 MB and at the end.
    SequencePoint {
        /// In ticks of the stream's clock.
        timestamp: i64,
    },
    /// The stream ends within a flush of the runtime's buffers. Of the time that the following events are from, events
    /// of other threads are missing.
    ///
    /// This can also come when the flush was complete, because not every flush shows where it ends, see
    /// [`Reader::flush_ended`](super::Reader::flush_ended). It does not come in a stream that was stopped in an orderly
    /// way: that ends with a sequence point.
    Truncated,
    /// The end of the stream, always the last item.
    End(End),
}

/// Events missing from a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// Id of the thread that wrote them, as [`Event::capture_thread_id`].
    pub thread_id: u64,
    /// Number of lost events.
    pub events: u64,
    /// They were written before this time, in ticks of the stream's clock. It is the time of the thread's next event or
    /// of the sequence point that shows the gap.
    pub before_timestamp: i64,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// Whether the stream has its end mark. Without it the writer was killed, or the rest is missing or damaged.
    pub clean: bool,
    /// Number of all lost events.
    pub lost_events: u64,
    /// Bytes that could not be read: damaged blocks, the rest after a damaged object, an object that is cut off, and
    /// payloads of events without a definition.
    pub unparsed_bytes: u64,
}
