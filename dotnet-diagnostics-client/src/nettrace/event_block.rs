//! An event block of one's own, for who cuts a stream.

use super::blob::{METADATA_ID, PAYLOAD_SIZE, SEQUENCE_AND_CAPTURE_THREAD, THREAD_ID};
use super::{BlockKind, Event, ObjectSpan};

const HEADER: [u8; 4] = [20, 0, 1, 0];
const HEADER_BYTES: usize = 20;
const TYPE: &[u8] = b"\x05\x05\x01\x02\0\0\0\x02\0\0\0\x0a\0\0\0EventBlock\x06";

/// A block of events of version 4 that repeats events from elsewhere in the stream: what a part that was cut out needs
/// to be understood alone. The events keep their time and thread id, and get a capture thread of their own with numbers
/// from 1, so that nobody misses events of the real ones. To be written after the part's first sequence point.
#[derive(Clone, Debug)]
pub struct EventBlock {
    capture_thread: u64,
    /// Number of the last event that was written.
    sequence: u32,
    /// Headers say only what differs, from the start of each block.
    fresh: bool,
    /// Content of the block without its header.
    events: Vec<u8>,
    last_time: i64,
    times: Option<(i64, i64)>,
}

impl EventBlock {
    /// A block without events; no thread of the stream may have this id.
    pub fn new(capture_thread: u64) -> Self {
        Self { capture_thread, sequence: 0, fresh: true, events: Vec::new(), last_time: 0, times: None }
    }

    /// An empty block that goes after this one.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { sequence: self.sequence, ..Self::new(self.capture_thread) }
    }

    /// Bytes of all events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True without events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Repeats an event without its stack. Events come in the order of time.
    pub fn push(&mut self, event: &RepeatedEvent) {
        let out = &mut self.events;
        out.push(METADATA_ID | SEQUENCE_AND_CAPTURE_THREAD | THREAD_ID | PAYLOAD_SIZE);
        varint(out, event.metadata_id.into());
        // How many numbers are left out.
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

    /// Appends the block to a stream, of which `out` is what comes from offset `out_starts_at` on.
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

/// An event that outlives the block it came in.
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
    /// An event of a description that the stream has.
    pub fn new(metadata_id: u32, thread_id: u64, timestamp: i64, payload: &[u8]) -> Self {
        Self { metadata_id, thread_id, timestamp, payload: payload.into() }
    }

    /// When it happened, in ticks of the stream's clock.
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Its own data.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Which description it has.
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
