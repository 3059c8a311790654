//! The reader: makes items out of objects, in the order of time.

use std::collections::{HashSet, VecDeque};

use super::blob::{ABSENT, Blob, BlobReader, BlockOffset};
use super::blocks::{Blocks, Slot};
use super::bytes::{Bytes, Malformed};
use super::container::{Container, Object};
use super::error::{BlockKind, Error};
use super::item::{Deferred, End, Event, Item, Lost};
use super::labels::{Activities, Labels};
use super::limits::{Limits, MAX_BYTES_WITH_ROOM};
use super::metadata::Metadata;
use super::metadata_table::MetadataTable;
use super::object::ObjectSpan;
use super::sequence_point::SequencePoint;
use super::sorter::{Held, Sorter};
use super::stacks::Stacks;
use super::threads::Threads;
use super::trace::TraceInfo;
use super::v6;
use super::warning::{FORGOTTEN_THREADS, OUT_OF_ORDER, Warning};

/// Unknown metadata ids that are reported one by one.
const MAX_REPORTED_IDS: usize = 1024;

/// Reads a nettrace stream, see the [module](super).
///
/// # Order
/// Events come in the order of time, as far as the stream allows. About every 100 ms the runtime flushes its buffers
/// and writes the events of one thread after those of another. It marks the first event of each thread as sorted: no
/// event later in the stream is earlier. The reader gives the events up to a marked one and holds the rest until the
/// next mark or sequence point. So the last events of a flush wait for the first event of the next flush; a live reader
/// that cannot wait calls [`release_held`](Self::release_held). Events with equal times keep the order of the stream.
///
/// # Loss
/// The runtime numbers the events of each thread, including those that it drops. If numbers are missing, or if a
/// sequence point states a larger number than the last one, [`Item::Lost`] comes just before the thread's next event or
/// before the sequence point. A stream that starts with a sequence point is a later part of another one; losses before
/// it are not counted.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    container: Container,
    blocks: Blocks,
    trace: Option<TraceInfo>,
    metadata: MetadataTable,
    stacks: Stacks,
    labels: Labels,
    threads: Threads,
    sorter: Sorter,
    cursor: Option<Cursor>,
    /// All events up to this time have come.
    complete_until: i64,
    /// All held events are given.
    draining: bool,
    release: bool,
    /// The last event block had room for any event, so it ended a flush.
    flush_ended: bool,
    /// Takes effect when no event is held any more.
    sequence_point: Option<SequencePoint>,
    /// Comes before the held events.
    ready: VecDeque<Ready>,
    /// The last event given. Its blocks are in use until the next call.
    lent: Option<Held>,
    end: EndState,
    reported_ids: HashSet<u32>,
    out_of_order: Warning,
    forgotten_threads: Warning,
    lost_events: u64,
    unparsed_bytes: u64,
}

/// The event block that is being read.
#[derive(Debug)]
struct Cursor {
    slot: Slot,
    events: BlobReader,
    whole: bool,
}

#[derive(Debug)]
enum Ready {
    Trace,
    Event,
    Lost(Lost),
    SequencePoint { timestamp: i64 },
    Truncated,
    End(End),
}

#[derive(Clone, Copy, Debug)]
enum EndState {
    NotReached,
    Reached { clean: bool },
    Given,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// A reader at the start of a stream, with the default [`Limits`].
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// A reader at the start of a stream, with other limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            container: Container::new(&limits),
            limits,
            blocks: Blocks::default(),
            trace: None,
            metadata: MetadataTable::default(),
            stacks: Stacks::default(),
            labels: Labels::default(),
            threads: Threads::default(),
            sorter: Sorter::default(),
            cursor: None,
            complete_until: i64::MIN,
            draining: false,
            release: false,
            flush_ended: false,
            sequence_point: None,
            ready: VecDeque::new(),
            lent: None,
            end: EndState::NotReached,
            reported_ids: HashSet::new(),
            out_of_order: Warning::default(),
            forgotten_threads: Warning::default(),
            lost_events: 0,
            unparsed_bytes: 0,
        }
    }

    /// Appends the next bytes of the stream, in chunks of any size. They are copied once. Call
    /// [`next_item`](Self::next_item) until it gives `None` before feeding more, so that buffers are reused.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.release = false;
        self.container.feed(bytes, &mut self.blocks);
    }

    /// Defers the payloads of events whose definitions `which` chooses, if they have 4 KiB or more. Such an event comes
    /// with the first 16 bytes of its payload and with the [offset](Event::deferred) of the whole. A program that reads
    /// a file can read the payload there, and need not read the bytes twice, see
    /// [`skippable_bytes`](Self::skippable_bytes). This bounds the memory of events that wait for their turn.
    ///
    /// Payloads are not deferred in version 6, in blocks without compressed headers, and in bytes that are fed together
    /// with the definition. `which` is applied to definitions that come after this call.
    pub fn defer(&mut self, which: fn(&Metadata) -> bool) {
        self.metadata.defer(which);
    }

    /// How many of the next bytes belong to deferred payloads and unknown blocks. They can be fed, or
    /// [skipped](Self::skip).
    pub fn skippable_bytes(&self) -> u64 {
        self.container.skippable_bytes()
    }

    /// Goes on as if the next `bytes` bytes had been fed, at most [`skippable_bytes`](Self::skippable_bytes).
    pub fn skip(&mut self, bytes: u64) {
        self.release = false;
        self.container.skip(bytes, &mut self.blocks);
    }

    /// Ends the stream: the held events come, and then [`Item::End`]. Of a last block that is cut off, the complete
    /// events come.
    pub fn finish(&mut self) {
        self.container.finish(&mut self.blocks);
    }

    /// As [`finish`](Self::finish), but without the events of a block that is cut off, as for a file that was cut at
    /// [`boundary`](Self::boundary).
    pub fn finish_at_boundary(&mut self) {
        self.container.finish_at_boundary(&mut self.blocks);
    }

    /// Gives all held events, sorted, once the bytes fed so far are read. Feeding more bytes before that cancels it.
    ///
    /// A live reader calls this between two flushes. The runtime writes a flush without interruption, and the events of
    /// the next flush are later, so the order is kept. [`flush_ended`](Self::flush_ended) finds the end of most
    /// flushes; otherwise, wait until the socket has been quiet for a while. If the flush was not over (the writing
    /// thread did not get a processor for so long), the rest of it can have earlier events. They then come out of
    /// order, but none is lost or repeated.
    pub fn release_held(&mut self) {
        self.release = true;
    }

    /// Whether the last event block ended a flush, because it had room for any other event. All events so far are then
    /// earlier than those that follow, so [`release_held`](Self::release_held) keeps the order. `false` if that is not
    /// known: the last block of a flush may happen to be nearly full. Ask when [`next_item`](Self::next_item) has given
    /// `None`.
    ///
    /// This is how runtimes write streams of version 4. In version 6 it is always `false`.
    pub fn flush_ended(&self) -> bool {
        self.flush_ended
    }

    /// Whether the bytes so far end within an object, so that the rest of it must follow.
    pub fn within_object(&self) -> bool {
        self.container.within_object()
    }

    /// The number of events that are held at present.
    pub fn held_events(&self) -> usize {
        self.sorter.len()
    }

    /// Offset in bytes after the last complete object. A file that is cut here and ends with the byte 0x01 (in version
    /// 6, with four bytes 0) is a complete nettrace file.
    pub fn boundary(&self) -> u64 {
        self.container.boundary()
    }

    /// The objects that the last [`feed`](Self::feed) completed, in order. They are given as soon as their bytes have
    /// come, even if their events are still held.
    pub fn objects(&self) -> &[ObjectSpan] {
        self.container.spans()
    }

    /// Continues with the next file of a recording that was cut at its sequence points. Call it after [`Item::End`].
    /// Each file has its own header, trace object, metadata and end, and offsets count from the start of each file.
    ///
    /// The reader still knows the sequence numbers of the threads. So if a file is missing, its events come as
    /// [`Item::Lost`] at the first sequence point of the next file.
    pub fn next_part(&mut self) {
        self.unparsed_bytes += self.container.unparsed_bytes;
        self.container = Container::new(&self.limits);
        self.end = EndState::NotReached;
    }

    /// The trace object of the stream. `None` before it has come.
    pub fn trace(&self) -> Option<&TraceInfo> {
        self.trace.as_ref()
    }

    /// The number of lost events that [`Item::Lost`] has reported so far.
    pub fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// The next item. `None` if more bytes are needed, or after [`Item::End`].
    ///
    /// # Errors
    /// Says what is damaged, and where. The next call goes on: after a damaged block with the next block; after damage
    /// between objects ([`Error::is_fatal`]) with the held events. In the second case the rest of the stream is
    /// skipped, and [`Item::End`] comes after [`finish`](Self::finish).
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, Error> {
        self.take_back_lent();
        let Some(ready) = self.step()? else { return Ok(None) };
        Ok(Some(match ready {
            Ready::Lost(lost) => Item::Lost(lost),
            Ready::SequencePoint { timestamp } => Item::SequencePoint { timestamp },
            Ready::Truncated => Item::Truncated,
            Ready::End(end) => Item::End(end),
            Ready::Trace => match &self.trace {
                Some(trace) => Item::Trace(trace),
                None => return Ok(None),
            },
            Ready::Event => match &self.lent {
                Some(held) => Item::Event(self.event(held)),
                None => return Ok(None),
            },
        }))
    }

    fn event(&self, held: &Held) -> Event<'_> {
        let Held { blob, slot, .. } = *held;
        let Activities { activity, related } = match blob.label_list {
            0 => Activities {
                activity: self.guid(slot, blob.activity),
                related: self.guid(slot, blob.related_activity),
            },
            list => self.labels.get(list),
        };
        let offset = || self.blocks.offset(slot) + u64::from(blob.payload) + u64::from(blob.deferred_before);
        Event {
            metadata: self.metadata.record(held.metadata),
            sequence: blob.sequence,
            capture_thread_id: blob.capture_thread,
            thread_id: blob.thread,
            processor: blob.processor,
            timestamp: blob.timestamp,
            stack: held
                .stack
                .map(|stack| self.blocks.slice(stack.slot, stack.at, stack.len))
                .unwrap_or_default(),
            activity_id: activity,
            related_activity_id: related,
            payload: self.blocks.slice(slot, blob.payload, blob.payload_held),
            deferred: (blob.payload_held < blob.payload_size)
                .then(|| Deferred { offset: offset(), len: blob.payload_size as usize }),
        }
    }

    fn guid(&self, slot: Slot, offset: BlockOffset) -> [u8; 16] {
        if offset == ABSENT {
            return [0; 16];
        }
        self.blocks.slice(slot, offset, 16).try_into().unwrap_or_default()
    }

    fn take_back_lent(&mut self) {
        if let Some(held) = self.lent.take() {
            self.blocks.release(held.slot);
            if let Some(stack) = held.stack {
                self.blocks.release(stack.slot);
            }
        }
    }

    /// Reads on until there is an item.
    fn step(&mut self) -> Result<Option<Ready>, Error> {
        loop {
            self.out_of_order.give(OUT_OF_ORDER)?;
            if self.threads.over_limit {
                self.forgotten_threads.due();
                self.forgotten_threads.give(FORGOTTEN_THREADS)?;
            }
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            if let Some(ready) = self.earliest() {
                return Ok(Some(ready));
            }
            if self.sorter.is_empty() {
                self.draining = false;
                if let Some(point) = self.sequence_point.take() {
                    self.apply(point);
                    continue;
                }
                match self.end {
                    EndState::Reached { clean } => {
                        self.end = EndState::Given;
                        let unparsed_bytes = self.unparsed_bytes + self.container.unparsed_bytes;
                        return Ok(Some(Ready::End(End {
                            clean,
                            lost_events: self.lost_events,
                            unparsed_bytes,
                        })));
                    }
                    EndState::Given => return Ok(None),
                    EndState::NotReached => {}
                }
            }
            if self.cursor.is_some() {
                self.read_event()?;
            } else if let Some(object) = self.container.pop(&self.blocks) {
                self.open(object)?;
            } else if std::mem::take(&mut self.release) && !self.sorter.is_empty() {
                self.draining = true;
            } else {
                return Ok(None);
            }
        }
    }

    /// The earliest held event, if its turn has come, or the events that were lost before it.
    #[inline]
    fn earliest(&mut self) -> Option<Ready> {
        let too_many = self.sorter.len() > self.limits.max_held_events
            || self.blocks.bytes() - self.container.queued_bytes() > self.limits.max_held_bytes;
        let (held, queue) = self.sorter.earliest()?;
        if held.blob.timestamp > self.complete_until && !self.draining {
            if !too_many {
                return None;
            }
            self.out_of_order.due();
        }
        if held.lost_before > 0 {
            let events = std::mem::take(&mut held.lost_before);
            self.lost_events = self.lost_events.saturating_add(events);
            let (thread_id, before_timestamp) = (held.blob.capture_thread, held.blob.timestamp);
            return Some(Ready::Lost(Lost { thread_id, events, before_timestamp }));
        }
        self.lent = self.sorter.pop(self.threads.queue(queue));
        Some(Ready::Event)
    }

    /// Queues the next event of the present block.
    #[inline]
    fn read_event(&mut self) -> Result<(), Error> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        let slot = cursor.slot;
        let at = cursor.events.position();
        let offset = (at + cursor.events.deferred_bytes()) as u64;
        let blob = match cursor.events.next(self.blocks.data(slot), self.blocks.deferred(slot)) {
            Ok(Some(blob)) => *blob,
            Ok(None) => {
                let size = self.blocks.data(slot).len() + self.blocks.deferred(slot).bytes;
                let room = size <= MAX_BYTES_WITH_ROOM;
                self.flush_ended = room && cursor.whole && !self.container.is_version6();
                self.cursor = None;
                self.blocks.release(slot);
                return Ok(());
            }
            Err(why) => {
                let whole = cursor.whole;
                let error = Error::in_block(BlockKind::EVENT, self.blocks.offset(slot), offset, why);
                self.unparsed_bytes += (self.blocks.data(slot).len() - at) as u64;
                self.cursor = None;
                self.blocks.release(slot);
                return if whole { Err(error) } else { Ok(()) };
            }
        };
        let thread = self.threads.index_of(blob.capture_thread, self.limits.max_threads);
        let lost_before = self.threads.observe(thread, blob.sequence, self.limits.max_threads);
        if blob.sorted {
            self.complete_until = blob.timestamp;
        }
        let Some(metadata) = self.metadata.index_of(blob.metadata_id) else {
            if lost_before > 0 {
                self.push_lost(blob.capture_thread, lost_before, blob.timestamp);
            }
            return self.without_metadata(self.blocks.offset(slot) + offset, &blob);
        };
        let stack = self.stacks.get(blob.stack_id).filter(|stack| stack.len > 0);
        self.blocks.retain(slot);
        if let Some(stack) = &stack {
            self.blocks.retain(stack.slot);
        }
        let mut held = Held::new(blob, slot, metadata, stack, lost_before);
        held.blob.capture_thread = self.threads.os_id(blob.capture_thread);
        held.blob.thread = self.threads.os_id(blob.thread);
        self.sorter.push(held, thread, self.threads.queue(thread));
        Ok(())
    }

    fn without_metadata(&mut self, offset: u64, blob: &Blob) -> Result<(), Error> {
        let id = blob.metadata_id;
        self.unparsed_bytes += u64::from(blob.payload_size);
        if self.reported_ids.len() < MAX_REPORTED_IDS && self.reported_ids.insert(id) {
            return Err(Error::UnknownMetadata { offset, id });
        }
        Ok(())
    }

    fn push_lost(&mut self, thread: u64, events: u64, before_timestamp: i64) {
        self.lost_events = self.lost_events.saturating_add(events);
        self.ready.push_back(Ready::Lost(Lost {
            thread_id: self.threads.os_id(thread),
            events,
            before_timestamp,
        }));
    }

    fn open(&mut self, object: Object) -> Result<(), Error> {
        match object {
            Object::Trace(info) => {
                self.trace = Some(info);
                self.ready.push_back(Ready::Trace);
            }
            Object::Failed(error) => return Err(error),
            Object::End { clean } => {
                self.end = EndState::Reached { clean };
                self.draining = true;
                if !self.sorter.is_empty() && !self.flush_ended && !self.container.is_version6() {
                    self.ready.push_back(Ready::Truncated);
                }
            }
            Object::Block { kind: BlockKind::EVENT, slot, whole } => {
                match BlobReader::new(self.blocks.data(slot), self.container.is_version6()) {
                    Ok(events) => {
                        self.flush_ended = false;
                        self.cursor = Some(Cursor { slot, events, whole });
                    }
                    Err(why) => return self.damaged(BlockKind::EVENT, slot, 0, why, whole),
                }
            }
            Object::Block { kind: BlockKind::STACK, slot, whole } => {
                self.blocks.retain(slot);
                if let Err((at, why)) =
                    self.stacks.insert(slot, self.limits.max_stack_bytes, &mut self.blocks)
                {
                    return self.damaged(BlockKind::STACK, slot, at, why, whole);
                }
                self.blocks.release(slot);
            }
            Object::Block { kind, slot, whole } => {
                let read = self.read_table(kind, slot);
                for id in self.metadata.take_deferred() {
                    self.container.defer(id);
                }
                if let Err((at, why)) = read {
                    return self.damaged(kind, slot, at, why, whole);
                }
                self.blocks.release(slot);
            }
        }
        Ok(())
    }

    /// Counts and reports the damage, and releases the block. If the stream was cut off, its end says enough.
    fn damaged(
        &mut self,
        kind: BlockKind,
        slot: Slot,
        at: usize,
        why: Malformed,
        whole: bool,
    ) -> Result<(), Error> {
        let error = Error::in_block(kind, self.blocks.offset(slot), at as u64, why);
        self.unparsed_bytes += (self.blocks.data(slot).len() - at) as u64;
        self.blocks.release(slot);
        if whole { Err(error) } else { Ok(()) }
    }

    /// Reads a block that has no events or stacks. An error comes with its offset in the block.
    fn read_table(&mut self, kind: BlockKind, slot: Slot) -> Result<(), (usize, Malformed)> {
        let version6 = self.container.is_version6();
        let limit = self.limits.max_threads;
        let data = self.blocks.data(slot);
        let mut bytes = Bytes::new(data);
        let mut removed = Vec::new();
        let result = match kind {
            BlockKind::METADATA if version6 => {
                self.metadata.read_v6(&mut bytes, self.limits.max_metadata_bytes)
            }
            BlockKind::METADATA => return self.metadata.read_v4(data, self.limits.max_metadata_bytes),
            BlockKind::SEQUENCE_POINT => SequencePoint::parse(&mut bytes, version6).map(|point| {
                self.sequence_point = Some(point);
                self.draining = true;
            }),
            BlockKind::LABEL_LIST => self.labels.parse(&mut bytes, limit),
            BlockKind::THREAD => v6::threads(&mut bytes, &mut self.threads, limit),
            BlockKind::REMOVE_THREAD => v6::removed_threads(&mut bytes).map(|threads| removed = threads),
            _ => Ok(()),
        };
        let result = result.map_err(|why| (bytes.position(), why));
        self.remove_threads(removed);
        result
    }

    /// Applies a sequence point, after all events before it have been given.
    fn apply(&mut self, point: SequencePoint) {
        let SequencePoint { timestamp, threads: mut stated, flush_threads, flush_metadata } = point;
        self.compare_sequences(&mut stated, timestamp);
        self.stacks.clear(&mut self.blocks);
        self.labels.clear();
        if flush_threads {
            self.threads.clear();
        }
        if flush_metadata {
            self.metadata.clear();
        }
        self.ready.push_back(Ready::SequencePoint { timestamp });
    }

    fn remove_threads(&mut self, mut removed: Vec<(u64, u32)>) {
        if removed.is_empty() {
            return;
        }
        self.compare_sequences(&mut removed, self.complete_until);
        for (index, _) in removed {
            self.threads.remove(index);
        }
    }

    fn compare_sequences(&mut self, stated: &mut [(u64, u32)], before_timestamp: i64) {
        let Self { threads, ready, lost_events, limits, .. } = self;
        let mut lost = Vec::new();
        threads.checkpoint(stated, limits.max_threads, |thread, events| lost.push((thread, events)));
        for (thread, events) in lost {
            *lost_events = lost_events.saturating_add(events);
            ready.push_back(Ready::Lost(Lost { thread_id: threads.os_id(thread), events, before_timestamp }));
        }
    }
}
