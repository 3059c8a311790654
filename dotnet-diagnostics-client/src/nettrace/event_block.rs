//! Writes event blocks that repeat events, for programs that cut a stream into files.

use super::blob::{METADATA_ID, PAYLOAD_SIZE, SEQUENCE_AND_CAPTURE_THREAD, THREAD_ID};
use super::error::BlockKind;
use super::event::Event;
use super::object::ObjectSpan;

const HEADER: [u8; 4] = [20, 0, 1, 0];
const HEADER_BYTES: usize = 20;
const TYPE: &[u8] = b"\x05\x05\x01\x02\0\0\0\x02\0\0\0\x0a\0\0\0EventBlock\x06";

/// Writes an event block of version 4 with events that occurred earlier in the stream. A part of a stream that is to be
/// read alone needs those that later events refer to.
///
/// The events keep their timestamps and thread ids. They get a capture thread of their own and sequence numbers from 1,
/// so that readers count no lost events. Write the block after the first sequence point of the part.
#[derive(Clone, Debug)]
pub struct EventBlock {
    capture_thread: u64,
    /// Sequence number of the last event.
    sequence: u32,
    /// The block has no event yet, so the next header cannot refer to a previous one.
    fresh: bool,
    /// Content of the block after its header.
    events: Vec<u8>,
    last_time: i64,
    times: Option<(i64, i64)>,
}

impl EventBlock {
    /// A block without events. No thread of the stream may have the id `capture_thread`.
    pub fn new(capture_thread: u64) -> Self {
        Self { capture_thread, sequence: 0, fresh: true, events: Vec::new(), last_time: 0, times: None }
    }

    /// An empty block that continues the sequence numbers of this one.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { sequence: self.sequence, ..Self::new(self.capture_thread) }
    }

    /// Size of all events in bytes.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether the block has no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Appends an event, without a stack. Append events in the order of time.
    pub fn push(&mut self, event: &RepeatedEvent) {
        let out = &mut self.events;
        out.push(METADATA_ID | SEQUENCE_AND_CAPTURE_THREAD | THREAD_ID | PAYLOAD_SIZE);
        varint(out, event.metadata_id.into());
        // The distance to the previous sequence number, minus 1.
        varint(out, if self.fresh { self.sequence.into() } else { 0 });
        self.sequence = self.sequence.wrapping_add(1);
        self.fresh = false;
        varint(out, self.capture_thread);
        varint(out, u32::MAX.into());
        varint(out, event.thread_id);
        varint(out, event.timestamp.wrapping_sub(self.last_time) as u64);
        varint(out, event.payload.len() as u64);
        out.extend_from_slice(&event.payload);
        self.last_time = event.timestamp;
        let (first, last) = self.times.unwrap_or((event.timestamp, event.timestamp));
        self.times = Some((first.min(event.timestamp), last.max(event.timestamp)));
    }

    /// Appends the block to a stream. `out` is the end of that stream, from offset `out_starts_at` on.
    pub fn append(&self, out: &mut Vec<u8>, out_starts_at: u64) {
        let (first, last) = self.times.unwrap_or_default();
        let mut object = TYPE.to_vec();
        object.extend(((HEADER_BYTES + self.events.len()) as u32).to_le_bytes());
        let content = object.len() as u64;
        object.extend(HEADER);
        object.extend(first.to_le_bytes());
        object.extend(last.to_le_bytes());
        object.extend_from_slice(&self.events);
        object.push(6);
        let end = object.len() as u64;
        let span = ObjectSpan { kind: BlockKind::EVENT, start: 0, end, padding: Some(content..content) };
        span.append(&object, out, out_starts_at);
    }
}

/// An event to repeat. It owns its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedEvent {
    metadata_id: u32,
    thread_id: u64,
    timestamp: i64,
    payload: Box<[u8]>,
}

impl From<&Event<'_>> for RepeatedEvent {
    fn from(event: &Event<'_>) -> Self {
        Self {
            metadata_id: event.metadata.id,
            thread_id: event.thread_id,
            timestamp: event.timestamp,
            payload: event.payload.into(),
        }
    }
}

impl RepeatedEvent {
    /// An event. The stream must define `metadata_id`; `timestamp` is in ticks of its clock.
    pub fn new(metadata_id: u32, thread_id: u64, timestamp: i64, payload: &[u8]) -> Self {
        Self { metadata_id, thread_id, timestamp, payload: payload.into() }
    }

    /// When the event occurred, in ticks of the stream's clock.
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Id of the event's definition in the stream.
    pub fn metadata_id(&self) -> u32 {
        self.metadata_id
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
