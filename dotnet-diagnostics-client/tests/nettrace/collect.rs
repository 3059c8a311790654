//! Items as owned values that can be compared.

use dotnet_diagnostics_client::nettrace::raw::Deferred;
use dotnet_diagnostics_client::nettrace::{Error, Item, Metadata, Reader};

/// An item or error of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Got {
    Trace { process_id: u32 },
    Event(Box<GotEvent>),
    Lost { thread: u64, events: u64, before: i64 },
    SequencePoint(i64),
    Truncated,
    End { clean: bool, lost: u64, unparsed: u64 },
    Failed(Error),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GotEvent {
    pub(crate) metadata: Metadata,
    pub(crate) sequence: u32,
    pub(crate) thread: u64,
    pub(crate) processor: u32,
    pub(crate) at: i64,
    pub(crate) stack: Vec<u8>,
    pub(crate) activity_ids: [[u8; 16]; 2],
    pub(crate) payload: Vec<u8>,
    pub(crate) deferred: Option<Deferred>,
}

/// Takes all items that are available.
pub(crate) fn drain(reader: &mut Reader) -> Vec<Got> {
    let mut all = Vec::new();
    loop {
        all.push(match reader.next_item() {
            Ok(None) => return all,
            item => got(item),
        });
    }
}

/// An item as a value. There must be one.
fn got(item: Result<Option<Item<'_>>, Error>) -> Got {
    match item {
        Ok(Some(Item::Trace(trace))) => Got::Trace { process_id: trace.process_id },
        Ok(Some(Item::Event(event))) => Got::Event(Box::new(GotEvent {
            metadata: event.metadata.clone(),
            sequence: event.sequence,
            thread: event.capture_thread_id,
            processor: event.processor,
            at: event.timestamp,
            stack: event.stack().as_bytes().to_vec(),
            activity_ids: [event.activity_id(), event.related_activity_id()]
                .map(|id| id.unwrap_or_default().to_bytes()),
            payload: event.payload.to_vec(),
            deferred: event.deferred,
        })),
        Ok(Some(Item::Lost(lost))) => {
            Got::Lost { thread: lost.thread_id, events: lost.events, before: lost.before_timestamp }
        }
        Ok(Some(Item::SequencePoint { timestamp })) => Got::SequencePoint(timestamp),
        Ok(Some(Item::Truncated)) => Got::Truncated,
        Ok(Some(Item::End(end))) => {
            Got::End { clean: end.clean, lost: end.lost_events, unparsed: end.unparsed_bytes }
        }
        Ok(other) => panic!("an item that no test expects: {other:?}"),
        Err(error) => Got::Failed(error),
    }
}

/// All items of a stream that comes in chunks of these sizes, repeated.
pub(crate) fn in_chunks(mut stream: &[u8], sizes: &[usize]) -> Vec<Got> {
    let mut reader = Reader::new();
    let mut all = Vec::new();
    for size in sizes.iter().cycle() {
        let (chunk, rest) = stream.split_at((*size).clamp(1, stream.len().max(1)).min(stream.len()));
        reader.feed(chunk);
        all.extend(drain(&mut reader));
        stream = rest;
        if stream.is_empty() {
            break;
        }
    }
    reader.finish();
    all.extend(drain(&mut reader));
    assert!(drain(&mut reader).is_empty(), "nothing comes after the end");
    all
}

pub(crate) fn whole(stream: &[u8]) -> Vec<Got> {
    in_chunks(stream, &[usize::MAX])
}

pub(crate) fn events(all: &[Got]) -> Vec<&GotEvent> {
    all.iter().filter_map(|got| if let Got::Event(event) = got { Some(&**event) } else { None }).collect()
}

/// The times of events, and the numbers of lost events as negative values.
pub(crate) fn outline(all: &[Got]) -> Vec<i64> {
    all.iter()
        .filter_map(|got| match got {
            Got::Event(event) => Some(event.at),
            Got::Lost { events, .. } => Some(-(*events as i64)),
            _ => None,
        })
        .collect()
}

pub(crate) fn failures(all: &[Got]) -> Vec<&Error> {
    all.iter().filter_map(|got| if let Got::Failed(error) = got { Some(error) } else { None }).collect()
}

pub(crate) fn end_of(all: &[Got]) -> (bool, u64, u64) {
    match all.last() {
        Some(Got::End { clean, lost, unparsed }) => (*clean, *lost, *unparsed),
        other => panic!("the last item is {other:?}"),
    }
}
