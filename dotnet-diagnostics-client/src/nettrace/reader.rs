//! The reader: objects become items, in the order of time.

use std::collections::{HashSet, VecDeque};

use super::blob::{BlobReader, NOWHERE, Place};
use super::blocks::{Blocks, Slot};
use super::bytes::{Bytes, Malformed};
use super::container::{Container, Object};
use super::labels::{Activities, Labels};
use super::limits::ROOM_FOR_ANY_EVENT;
use super::metadata::MetadataTable;
use super::once::{FORGOTTEN_THREADS, OUT_OF_TURN, Once};
use super::order::{Held, Order};
use super::sequence_point::SequencePoint;
use super::stacks::Stacks;
use super::threads::Threads;
use super::{
    BlockKind, Deferred, End, Error, Event, Item, Limits, Lost, Metadata, ObjectSpan, TraceInfo, v6,
};

/// Unknown metadata ids that are told one by one.
const MAX_TOLD_IDS: usize = 1024;

/// Reads a nettrace stream, see the [module](super).
///
/// # Order
/// Events come in the order of time as far as the stream promises it. The runtime writes, every 100 ms or so, one
/// thread's events after the other's; the first event of each such run is marked: no later byte of the stream has an
/// earlier event. What is before a mark is given at once, the rest is held until the next mark or sequence point, so
/// that the last events of a flush wait for the first event of the next one. A live reader that cannot wait calls
/// [`release_held`](Self::release_held). Events with equal times keep the order they came in.
///
/// # Loss
/// Each thread numbers its events, including those that the runtime drops. Gaps, and differences to the numbers that
/// sequence points state, are given as [`Item::Lost`], just before the thread's next event or the sequence point. A
/// stream that starts with a sequence point is a later part of another one: what was before it is not counted.
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
    order: Order,
    cursor: Option<Cursor>,
    /// Events up to this time are complete.
    complete_until: i64,
    /// All held events may go.
    draining: bool,
    release: bool,
    /// The last event block had room for any event.
    flush_ended: bool,
    /// Applies when no event is held any more.
    sequence_point: Option<SequencePoint>,
    /// Goes before anything held.
    ready: VecDeque<Ready>,
    /// The event that was given last: its blocks are in use until the next call.
    lent: Option<Held>,
    end: EndState,
    told_ids: HashSet<u32>,
    /// Events were given out of turn, and that has been told.
    out_of_turn: Once,
    /// The same of threads that were forgotten.
    forgotten_threads: Once,
    lost_events: u64,
    unparsed_bytes: u64,
}

/// An event block that is being read.
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
    Cut,
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
    /// A reader at the start of a stream.
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// A reader with other bounds on what it holds.
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
            order: Order::default(),
            cursor: None,
            complete_until: i64::MIN,
            draining: false,
            release: false,
            flush_ended: false,
            sequence_point: None,
            ready: VecDeque::new(),
            lent: None,
            end: EndState::NotReached,
            told_ids: HashSet::new(),
            out_of_turn: Once::default(),
            forgotten_threads: Once::default(),
            lost_events: 0,
            unparsed_bytes: 0,
        }
    }

    /// Appends bytes as they come from a socket or file, in chunks of any size. They are copied once; call
    /// [`next_item`](Self::next_item) until it gives `None` before feeding more, so that the buffers are used again.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.release = false;
        self.container.feed(bytes, &mut self.blocks);
    }

    /// Leaves out payloads of 4 KiB and more of events that `which` picks by their descriptions, as these come. Such an
    /// event comes in its turn, with its first 16 bytes and with the [place](Event::deferred) of its payload. Who reads
    /// a file can read it there, or needs not read it at all: see [`passes_over`](Self::passes_over). Nothing large is
    /// held then, however long events wait for their turn.
    ///
    /// It is a wish: in version 6, without compressed headers, or in bytes fed together with the description, payloads
    /// come as ever.
    pub fn defer(&mut self, which: fn(&Metadata) -> bool) {
        self.metadata.defer(which);
    }

    /// How many of the bytes that come next are left out. They can be fed like others, or
    /// [passed over](Self::pass_over).
    pub fn passes_over(&self) -> u64 {
        self.container.passes_over()
    }

    /// Goes on as if the next `bytes` bytes had been fed. They can be no more than [`passes_over`](Self::passes_over)
    /// says.
    pub fn pass_over(&mut self, bytes: u64) {
        self.release = false;
        self.container.pass_over(bytes, &mut self.blocks);
    }

    /// No more bytes will come: whatever is held back becomes available, then [`Item::End`]. Of a block that is cut
    /// off, the events that are whole are given.
    pub fn finish(&mut self) {
        self.container.finish(&mut self.blocks);
    }

    /// The same, without the events of a block that is cut off: what a file cut at [`boundary`](Self::boundary) gives.
    pub fn finish_at_boundary(&mut self) {
        self.container.finish_at_boundary(&mut self.blocks);
    }

    /// Lets all held events go when the bytes fed so far are used up, in order among themselves. Feeding more takes it
    /// back.
    ///
    /// For a live reader, between flushes: the runtime writes a flush in one go, and a later flush has later events
    /// only, so there it costs nothing in order. [`flush_ended`](Self::flush_ended) tells most of these places; where
    /// it does not know, some quiet on the socket does. In the middle of a flush (the writing thread had no processor
    /// meanwhile) the rest of the flush may have events that are earlier than those released: they are then given when
    /// they come, out of order. Nothing is lost or doubled.
    pub fn release_held(&mut self) {
        self.release = true;
    }

    /// Whether the last event block was the last one of a flush, as far as blocks tell: one with room for any other
    /// event was not written for want of room. Every event so far is then earlier than all that follow, so
    /// [`release_held`](Self::release_held) costs nothing in order. `false` where that is not known: the last block
    /// of a flush may be nearly full by chance. To be asked when [`next_item`](Self::next_item) gave `None`.
    ///
    /// It is a rule of the runtime's own writer, for streams of version 4.
    pub fn flush_ended(&self) -> bool {
        self.flush_ended
    }

    /// The bytes so far end within an object: the rest of it is on its way.
    pub fn within_object(&self) -> bool {
        self.container.within_object()
    }

    /// How many events are held back at present.
    pub fn held_events(&self) -> usize {
        self.order.len()
    }

    /// Offset in the stream just after the last complete object: a file cut here, plus the byte 0x01 (version 6: four
    /// bytes 0), is a whole nettrace file.
    pub fn boundary(&self) -> u64 {
        self.container.boundary()
    }

    /// The whole objects that the last [`feed`](Self::feed) completed, in order. They are told as soon as their bytes
    /// are there, whatever is held back of their events.
    pub fn objects(&self) -> &[ObjectSpan] {
        self.container.spans()
    }

    /// What is fed from now on is another file of the same stream: the next one of a recording that was cut at its
    /// sequence points, with a header, a trace object and metadata of its own. To be called after [`Item::End`]; the
    /// next file has an end of its own. Offsets count from the start of each file.
    ///
    /// What is known of threads goes on, so that the events of a file that is missing between the two are told as
    /// [`Item::Lost`] at the next one's sequence point.
    pub fn next_part(&mut self) {
        self.unparsed_bytes += self.container.unparsed_bytes;
        self.container = Container::new(&self.limits);
        self.end = EndState::NotReached;
    }

    /// The stream's clock and process, once they have come.
    pub fn trace(&self) -> Option<&TraceInfo> {
        self.trace.as_ref()
    }

    /// Events known to be lost, as far as [`Item::Lost`] has told them.
    pub fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// The next item. `None`: more bytes are needed, or nothing follows [`Item::End`].
    ///
    /// # Errors
    /// Says what is damaged, and where. The next call goes on: after a damaged block with the next block, after damage
    /// between objects ([`Error::is_fatal`]) with the events held so far; the rest of the stream is then passed over
    /// and [`Item::End`] comes after [`finish`](Self::finish).
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, Error> {
        self.take_back_lent();
        let Some(ready) = self.step()? else { return Ok(None) };
        Ok(Some(match ready {
            Ready::Lost(lost) => Item::Lost(lost),
            Ready::SequencePoint { timestamp } => Item::SequencePoint { timestamp },
            Ready::Cut => Item::Cut,
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
        let Activities { activity, related } = match held.label_list {
            0 => Activities {
                activity: self.guid(held.slot, held.activity),
                related: self.guid(held.slot, held.related_activity),
            },
            list => self.labels.get(list),
        };
        Event {
            metadata: self.metadata.record(held.metadata),
            sequence: held.sequence,
            capture_thread_id: held.capture_thread,
            thread_id: held.thread,
            processor: held.processor,
            timestamp: held.timestamp,
            stack: held
                .stack
                .map(|stack| self.blocks.slice(stack.slot, stack.at, stack.len))
                .unwrap_or_default(),
            activity_id: activity,
            related_activity_id: related,
            payload: self.blocks.slice(held.slot, held.payload, held.payload_there),
            deferred: (held.payload_there < held.payload_size).then(|| Deferred {
                offset: self.blocks.offset(held.slot)
                    + u64::from(held.payload)
                    + u64::from(held.left_out_before),
                len: held.payload_size as usize,
            }),
        }
    }

    fn guid(&self, slot: Slot, place: Place) -> [u8; 16] {
        if place == NOWHERE {
            return [0; 16];
        }
        self.blocks.slice(slot, place, 16).try_into().unwrap_or_default()
    }

    fn take_back_lent(&mut self) {
        if let Some(held) = self.lent.take() {
            self.blocks.release(held.slot);
            if let Some(stack) = held.stack {
                self.blocks.release(stack.slot);
            }
        }
    }

    /// Goes on until there is something to give.
    fn step(&mut self) -> Result<Option<Ready>, Error> {
        loop {
            self.out_of_turn.take(OUT_OF_TURN)?;
            if self.threads.over_limit {
                self.forgotten_threads.due();
                self.forgotten_threads.take(FORGOTTEN_THREADS)?;
            }
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            if let Some(ready) = self.earliest() {
                return Ok(Some(ready));
            }
            if self.order.is_empty() {
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
            } else if std::mem::take(&mut self.release) && !self.order.is_empty() {
                self.draining = true;
            } else {
                return Ok(None);
            }
        }
    }

    /// The earliest held event, if it may go, or what was lost before it.
    #[inline]
    fn earliest(&mut self) -> Option<Ready> {
        let too_many = self.order.len() > self.limits.max_held_events
            || self.blocks.bytes() - self.container.queued_bytes() > self.limits.max_held_bytes;
        let (held, queue) = self.order.earliest()?;
        if held.timestamp > self.complete_until && !self.draining {
            if !too_many {
                return None;
            }
            self.out_of_turn.due();
        }
        if held.lost_before > 0 {
            let events = std::mem::take(&mut held.lost_before);
            self.lost_events = self.lost_events.saturating_add(events);
            let (thread_id, before_timestamp) = (held.capture_thread, held.timestamp);
            return Some(Ready::Lost(Lost { thread_id, events, before_timestamp }));
        }
        self.lent = self.order.pop(self.threads.queue(queue));
        Some(Ready::Event)
    }

    /// Queues the next event of the block that is being read.
    #[inline]
    fn read_event(&mut self) -> Result<(), Error> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        let slot = cursor.slot;
        let at = cursor.events.position();
        let offset = (at + cursor.events.left_out_bytes()) as u64;
        let blob = match cursor.events.next(self.blocks.data(slot), self.blocks.left_out(slot)) {
            Ok(Some(blob)) => *blob,
            Ok(None) => {
                let size = self.blocks.data(slot).len() + self.blocks.left_out(slot).bytes;
                let room = size <= ROOM_FOR_ANY_EVENT;
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
                self.give_lost(blob.capture_thread, lost_before, blob.timestamp);
            }
            return self.without_metadata(
                self.blocks.offset(slot) + offset,
                blob.metadata_id,
                blob.payload_size,
            );
        };
        let stack = self.stacks.get(blob.stack_id).filter(|stack| stack.len > 0);
        self.blocks.retain(slot);
        if let Some(stack) = &stack {
            self.blocks.retain(stack.slot);
        }
        let mut held = Held::new(&blob, slot, metadata, stack, lost_before);
        held.capture_thread = self.threads.os_id(held.capture_thread);
        held.thread = self.threads.os_id(held.thread);
        self.order.push(held, thread, self.threads.queue(thread));
        Ok(())
    }

    fn without_metadata(&mut self, offset: u64, id: u32, payload_size: u32) -> Result<(), Error> {
        self.unparsed_bytes += u64::from(payload_size);
        if self.told_ids.len() < MAX_TOLD_IDS && self.told_ids.insert(id) {
            return Err(Error::UnknownMetadata { offset, id });
        }
        Ok(())
    }

    fn give_lost(&mut self, thread: u64, events: u64, before_timestamp: i64) {
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
                if !self.order.is_empty() && !self.flush_ended && !self.container.is_version6() {
                    self.ready.push_back(Ready::Cut);
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

    /// Counts and tells the damage, and lets go of the block. Where the stream was cut off, its end tells enough.
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

    /// A block that is read in one go. What fails comes with the place in the block.
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

    /// All events before it have been given.
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
