//! Decodes the bytes of a stream into items in the terms of the GC model. Every reader of a stream uses it: a live
//! watch, a replay, the look ahead of a replay, and the estimate before an attach.

use dotnet_diagnostics_client::nettrace::raw::RawReader;
use dotnet_diagnostics_client::nettrace::{Error, Event, Item, Lost, Reader, TraceInfo};

use super::recording::REPEATED_THREAD;
use crate::gc::stream_event::StreamEvent;

/// One item of a stream.
#[derive(Debug)]
pub(crate) enum StreamItem<'a> {
    /// The clock and the process of the stream.
    Trace(&'a TraceInfo),
    Event {
        stream_event: StreamEvent<'a>,
        /// A later file of a rotation repeats this event from an earlier one.
        repeated: bool,
        /// The event as the stream has it. `None` if it comes from a batch of a replay.
        event: Option<Event<'a>>,
    },
    /// An event whose payload could not be read from its file.
    Unread,
    /// All events before this time have come, in ticks of the stream's clock.
    SequencePoint {
        timestamp: i64,
        /// The same time, ns since the watch began.
        at_ns: u64,
    },
    Lost(Lost),
    /// The events that follow are of a flush that is not complete.
    Truncated,
    Damaged(Error),
    /// The stream ends. `clean`: with its end tag.
    End {
        clean: bool,
    },
    /// An item that gcwatch does not need.
    Other,
}

/// Decodes one stream, or the files of one rotation, one after the other.
#[derive(Default)]
pub(crate) struct Decoder {
    pub(crate) reader: Reader,
    clock: Option<TraceInfo>,
}

impl Decoder {
    /// A decoder with a reader that the caller has set up.
    pub(crate) fn new(reader: Reader) -> Decoder {
        Decoder { reader, clock: None }
    }

    /// The next item; `None`: more bytes are needed. After [`StreamItem::End`] there is none.
    pub(crate) fn next(&mut self) -> Option<StreamItem<'_>> {
        Some(match self.reader.next_item() {
            Ok(None) => return None,
            Ok(Some(Item::Event(event))) => match &self.clock {
                Some(clock) => {
                    let repeated = event.capture_thread_id == REPEATED_THREAD;
                    StreamItem::Event {
                        stream_event: stream_event(&event, clock),
                        repeated,
                        event: Some(event),
                    }
                }
                None => StreamItem::Other,
            },
            Ok(Some(Item::Trace(trace))) => {
                self.clock = Some(trace.clone());
                StreamItem::Trace(trace)
            }
            Ok(Some(Item::SequencePoint { timestamp })) => {
                let at_ns = self.clock.as_ref().map_or(0, |clock| nanoseconds(clock, timestamp));
                StreamItem::SequencePoint { timestamp, at_ns }
            }
            Ok(Some(Item::Lost(lost))) => StreamItem::Lost(lost),
            Ok(Some(Item::Truncated)) => StreamItem::Truncated,
            Ok(Some(Item::End(end))) => StreamItem::End { clean: end.clean },
            Ok(Some(_)) => StreamItem::Other,
            Err(error) => StreamItem::Damaged(error),
        })
    }

    /// The next bytes are those of the next file of the same rotation.
    pub(crate) fn next_part(&mut self) {
        self.reader.next_part();
        self.clock = None;
    }
}

/// Time since the watch began; 0 before it.
fn nanoseconds(clock: &TraceInfo, timestamp: i64) -> u64 {
    u64::try_from(clock.nanoseconds(timestamp)).unwrap_or(0)
}

fn stream_event<'a>(event: &Event<'a>, clock: &TraceInfo) -> StreamEvent<'a> {
    StreamEvent {
        provider: &event.metadata.provider,
        id: event.metadata.event_id,
        pointer_size: clock.pointer_size,
        thread: event.thread_id,
        at_ns: nanoseconds(clock, event.timestamp),
        payload: event.payload,
        stack: event.stack().as_bytes(),
    }
}
