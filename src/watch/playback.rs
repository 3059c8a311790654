//! Reads recordings on a thread of its own. It parses headers, puts events in order and reads their payloads, while the
//! caller adds up the events before them. The items are passed on in batches, whose memory is used again.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use dotnet_diagnostics_client::nettrace::raw::{Deferred, RawReader};
use dotnet_diagnostics_client::nettrace::{Reader, TraceInfo};
use netcore_profiler::wire;

use super::decoder::{Decoder, StreamItem};
use super::replay::{Payloads, Source, bulky};
use crate::gc::events::{EVENTPIPE_PROVIDER, RUNDOWN_PROVIDER, RUNTIME_PROVIDER};
use crate::gc::stream_event::StreamEvent;

/// Below this size, reading takes less time than starting a thread.
const MIN_THREAD_BYTES: u64 = 1 << 20;
/// A batch is passed on when it has this many bytes of payloads or this many items. With smaller batches the threads
/// would wake each other too often.
const BATCH_BYTES: usize = 512 << 10;
const BATCH_ENTRIES: usize = 2048;
/// Runtimes write payloads of up to 64 KiB.
const PAYLOAD_BYTES: usize = 64 << 10;
/// A payload may be larger. A batch that has grown beyond this is not used again.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// How many full batches may wait to be taken.
const MAX_WAITING_BATCHES: usize = 2;

/// How a file ended.
#[derive(Debug)]
pub(crate) struct PartEnd {
    /// The stream's end tag was read.
    pub(crate) clean: bool,
    /// Why the file could not be read to its end.
    pub(crate) broken: Option<String>,
}

/// Reads the files of one watch, one after the other.
pub(crate) struct Playback {
    from: From,
}

enum From {
    /// On this thread.
    Here(Box<Player>, Batch),
    Thread {
        full: Receiver<Batch>,
        empty: Sender<Batch>,
        thread: Option<JoinHandle<()>>,
        last: Batch,
    },
}

impl Playback {
    pub(crate) fn new(sources: Vec<Source>) -> Playback {
        let total = sources.iter().map(Source::len).try_fold(0_u64, |sum, len| sum.checked_add(len?));
        let player = Box::new(Player::new(sources));
        let from = match total {
            Some(bytes) if bytes < MIN_THREAD_BYTES => From::Here(player, Batch::default()),
            _ => From::thread(player),
        };
        Playback { from }
    }

    /// The next batch; `None` after the last file.
    pub(crate) fn next(&mut self) -> Option<&mut Batch> {
        match &mut self.from {
            From::Here(player, batch) => {
                batch.clear();
                player.fill(batch).then_some(batch)
            }
            From::Thread { full, empty, thread, last } => {
                let mut used = std::mem::take(last);
                if used.bytes.capacity() <= MAX_KEPT_BYTES {
                    used.clear();
                    // After the last file the other thread has ended.
                    let _ended = empty.send(used);
                }
                if let Ok(batch) = full.recv() {
                    *last = batch;
                    return Some(last);
                }
                if let Some(Err(panic)) = thread.take().map(JoinHandle::join) {
                    std::panic::resume_unwind(panic);
                }
                None
            }
        }
    }
}

impl From {
    fn thread(player: Box<Player>) -> From {
        let (to_full, full) = sync_channel(MAX_WAITING_BATCHES);
        let (empty, from_empty) = channel();
        // If no thread can be started, this one reads instead.
        let player = Arc::new(Mutex::new(Some(player)));
        let take = |player: &Mutex<Option<Box<Player>>>| {
            player.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
        };
        let its = Arc::clone(&player);
        match Builder::new()
            .name("reader".into())
            .spawn(move || read_ahead(take(&its), &to_full, &from_empty))
        {
            Ok(thread) => From::Thread { full, empty, thread: Some(thread), last: Batch::default() },
            Err(_) => From::Here(take(&player), Batch::default()),
        }
    }
}

/// Reads until the end of the last file, or until the receiver is dropped.
fn read_ahead(mut player: Box<Player>, full: &SyncSender<Batch>, empty: &Receiver<Batch>) {
    loop {
        let mut batch = empty.try_recv().unwrap_or_default();
        if !player.fill(&mut batch) || full.send(batch).is_err() {
            return;
        }
    }
}

/// Items in their order. `bytes` has the payloads and call stacks of the events in the same order.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    entries: Vec<Entry>,
    /// Payloads, each with its call stack behind it, up to `used`. What is behind them is left from an earlier use.
    bytes: Vec<u8>,
    used: usize,
    end: Option<PartEnd>,
}

#[derive(Debug)]
enum Entry {
    Event(Owned),
    Other(Box<StreamItem<'static>>),
    Trace(Box<TraceInfo>),
}

#[derive(Debug)]
struct Owned {
    provider: &'static str,
    id: u32,
    pointer_size: u32,
    thread: u64,
    at_ns: u64,
    repeated: bool,
    len: usize,
    stack_len: usize,
}

impl Batch {
    fn clear(&mut self) {
        self.entries.clear();
        self.used = 0;
        self.end = None;
    }

    fn is_full(&self) -> bool {
        self.used >= BATCH_BYTES || self.entries.len() >= BATCH_ENTRIES
    }

    /// Returns room for a payload of this length.
    fn room(&mut self, len: usize) -> &mut [u8] {
        let end = self.used.saturating_add(len);
        if self.bytes.len() < end {
            let mut larger = vec![0; end.max(BATCH_BYTES + PAYLOAD_BYTES)];
            larger[..self.used].copy_from_slice(&self.bytes[..self.used]);
            self.bytes = larger;
        }
        &mut self.bytes[self.used..end]
    }

    fn push(&mut self, stream_event: StreamEvent<'_>, repeated: bool, len: usize) {
        let StreamEvent { provider, id, pointer_size, thread, at_ns, payload: _, stack } = stream_event;
        let provider = known(provider);
        self.used += len;
        self.room(stack.len()).copy_from_slice(stack);
        let stack_len = stack.len();
        self.used += stack_len;
        self.entries.push(Entry::Event(Owned {
            provider,
            id,
            pointer_size,
            thread,
            at_ns,
            repeated,
            len,
            stack_len,
        }));
    }

    /// Gives all items to `take`. Returns how the file ended, if this is its last batch.
    pub(crate) fn each<E>(
        &mut self,
        mut take: impl FnMut(StreamItem<'_>) -> Result<(), E>,
    ) -> Result<Option<PartEnd>, E> {
        let mut rest = &self.bytes[..self.used];
        for entry in self.entries.drain(..) {
            let of_trace;
            take(match entry {
                Entry::Event(Owned {
                    provider,
                    id,
                    pointer_size,
                    thread,
                    at_ns,
                    repeated,
                    len,
                    stack_len,
                }) => {
                    let (payload, after) = rest.split_at_checked(len).unwrap_or_default();
                    let (stack, after) = after.split_at_checked(stack_len).unwrap_or_default();
                    rest = after;
                    let stream_event =
                        StreamEvent { provider, id, pointer_size, thread, at_ns, payload, stack };
                    StreamItem::Event { stream_event, repeated, event: None }
                }
                Entry::Trace(trace) => {
                    of_trace = trace;
                    StreamItem::Trace(&of_trace)
                }
                Entry::Other(item) => *item,
            })?;
        }
        Ok(self.end.take())
    }
}

/// The name of a provider whose events gcwatch reads. Of other providers' events it needs only the times.
fn known(provider: &str) -> &'static str {
    let all = [RUNTIME_PROVIDER, wire::PROVIDER_NAME, RUNDOWN_PROVIDER, EVENTPIPE_PROVIDER];
    all.into_iter().find(|known| *known == provider).unwrap_or_default()
}

/// Reads files into batches.
#[derive(Default)]
struct Player {
    decoder: Decoder,
    sources: std::vec::IntoIter<Source>,
    part: Option<Part>,
    begun: bool,
    /// Large payloads are deferred: in all files, or in none.
    defers: bool,
}

struct Part {
    source: Source,
    payloads: Option<Payloads>,
    /// The decoder gets no more bytes of it.
    over: bool,
    /// It has the beginning of a recording.
    is_trace: bool,
    end: PartEnd,
}

impl Player {
    fn new(sources: Vec<Source>) -> Player {
        // One reader reads all files, so it gets the strictest limits.
        let limits = sources.iter().map(Source::limits).min_by_key(|limits| limits.max_held_bytes);
        let mut reader = Reader::with_limits(limits.unwrap_or_default());
        let defers = sources.iter().all(|source| source.len().is_some());
        if defers {
            reader.defer(bulky);
        }
        Player {
            decoder: Decoder::new(reader),
            sources: sources.into_iter(),
            part: None,
            begun: false,
            defers,
        }
    }

    /// Reads until the batch is full, the file ends, or a pipe might block. Returns `false` after the last file.
    fn fill(&mut self, batch: &mut Batch) -> bool {
        if self.part.is_none() {
            let Some(source) = self.sources.next() else { return false };
            if std::mem::replace(&mut self.begun, true) {
                self.decoder.next_part();
            }
            let payloads = source.payloads().filter(|_| self.defers);
            let end = PartEnd { clean: false, broken: None };
            self.part = Some(Part { source, payloads, over: false, is_trace: false, end });
        }
        let Some(part) = &mut self.part else { return false };
        loop {
            if part.drain(&mut self.decoder, batch) {
                return true;
            }
            if part.over {
                batch.end = self.part.take().map(|part| part.end);
                return true;
            }
            if part.source.len().is_none() && !batch.entries.is_empty() {
                return true;
            }
            part.read(&mut self.decoder.reader);
        }
    }
}

impl Part {
    /// Takes the decoder's items. Returns whether the batch became full before the last of them.
    fn drain(&mut self, decoder: &mut Decoder, batch: &mut Batch) -> bool {
        loop {
            if batch.is_full() {
                return true;
            }
            let item = match decoder.next() {
                None => return false,
                Some(StreamItem::Event { stream_event, repeated, event }) => {
                    let deferred = event.and_then(|event| event.deferred);
                    self.event(stream_event, repeated, deferred, batch);
                    continue;
                }
                Some(StreamItem::Trace(trace)) => {
                    self.is_trace = true;
                    batch.entries.push(Entry::Trace(Box::new(trace.clone())));
                    continue;
                }
                Some(StreamItem::End { clean }) => {
                    self.over = true;
                    self.end.clean |= clean;
                    continue;
                }
                Some(StreamItem::SequencePoint { timestamp, at_ns }) => {
                    StreamItem::SequencePoint { timestamp, at_ns }
                }
                Some(StreamItem::Lost(lost)) => StreamItem::Lost(lost),
                Some(StreamItem::Truncated) => StreamItem::Truncated,
                Some(StreamItem::Damaged(error)) => {
                    // What is no recording may never end, such as a device.
                    self.over |= !self.is_trace;
                    StreamItem::Damaged(error)
                }
                Some(StreamItem::Unread | StreamItem::Other) => continue,
            };
            batch.entries.push(Entry::Other(Box::new(item)));
        }
    }

    fn event(
        &self,
        stream_event: StreamEvent<'_>,
        repeated: bool,
        deferred: Option<Deferred>,
        batch: &mut Batch,
    ) {
        let len = match (deferred, &self.payloads) {
            (Some(place), Some(payloads)) => match payloads.read(place, batch.room(place.len)) {
                Ok(()) => place.len,
                // The file has changed, or cannot be read any more.
                Err(_) => return batch.entries.push(Entry::Other(Box::new(StreamItem::Unread))),
            },
            _ => {
                batch.room(stream_event.payload.len()).copy_from_slice(stream_event.payload);
                stream_event.payload.len()
            }
        };
        batch.push(stream_event, repeated, len);
    }

    /// Feeds the next bytes to the reader, or passes over them.
    fn read(&mut self, reader: &mut Reader) {
        let passed = self.source.pass_over(reader.skippable_bytes());
        if passed > 0 {
            return reader.skip(passed);
        }
        match self.source.next() {
            Ok([]) => self.over = true,
            Ok(bytes) => return reader.feed(bytes),
            Err(e) => {
                self.over = true;
                self.end.broken = Some(e.to_string());
            }
        }
        reader.finish();
    }
}
