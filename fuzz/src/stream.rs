//! Reads a recording into its head and a list of events, which a mutator changes and writes again.

use dotnet_diagnostics_client::nettrace::raw::{EventBlock, RawReader, RepeatedEvent};
use dotnet_diagnostics_client::nettrace::{BlockKind, Item, Reader};

/// All events get the same capture thread, so that they keep their order.
const CAPTURE_THREAD: u64 = 1;
/// The number of events in a block.
const BLOCK_EVENTS: usize = 200;

/// One event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Id of its metadata in this stream.
    pub metadata_id: u32,
    /// Provider and event id.
    pub kind: (String, u32),
    /// The thread that the event belongs to.
    pub thread: u64,
    /// In ticks.
    pub timestamp: i64,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// A recording of version 4.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Header, trace object and metadata, unchanged.
    head: Vec<u8>,
    /// In the order of the stream.
    pub events: Vec<Event>,
}

impl Stream {
    /// Reads a recording; `None` if it has no event.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new();
        reader.feed(bytes);
        let objects = reader.objects().to_vec();
        let mut head = bytes.get(..usize::try_from(objects.first()?.start).ok()?)?.to_vec();
        for object in &objects {
            if [BlockKind::TRACE, BlockKind::METADATA].contains(&object.kind) {
                let range = usize::try_from(object.start).ok()?..usize::try_from(object.end).ok()?;
                object.append(bytes.get(range)?, &mut head, 0);
            }
        }
        reader.finish();
        let mut events = Vec::new();
        loop {
            match reader.next_item() {
                Ok(None) => break,
                Ok(Some(Item::Event(event))) => events.push(Event {
                    metadata_id: event.metadata.id,
                    kind: (event.metadata.provider.to_string(), event.metadata.event_id),
                    thread: event.thread_id,
                    timestamp: event.timestamp,
                    payload: event.payload.to_vec(),
                }),
                Ok(Some(_)) => {}
                Err(error) if error.is_fatal() => return None,
                Err(_) => {}
            }
        }
        (!events.is_empty()).then_some(Self { head, events })
    }

    /// Writes a recording of at most `max_bytes`, with as many events as fit.
    pub fn write(&self, max_bytes: usize) -> Vec<u8> {
        let mut out = self.head.clone();
        let mut block = EventBlock::new(CAPTURE_THREAD);
        for events in self.events.chunks(BLOCK_EVENTS) {
            for event in events {
                if out.len() + block.len() + event.payload.len() + 200 > max_bytes {
                    break;
                }
                block.push(&RepeatedEvent::new(
                    event.metadata_id,
                    event.thread,
                    event.timestamp,
                    &event.payload,
                ));
            }
            block.append(&mut out, 0);
            block = block.next();
        }
        out.push(1);
        out
    }
}
