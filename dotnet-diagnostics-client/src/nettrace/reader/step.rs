//! Reads on in the stream until there is an item.

use super::super::blob::{ABSENT, Blob, BlobReader, BlockOffset};
use super::super::blocks::Slot;
use super::super::bytes::{Bytes, Malformed};
use super::super::container::Object;
use super::super::error::{BlockKind, Error};
use super::super::event::{Deferred, Event};
use super::super::item::{End, Lost};
use super::super::limits::MAX_BYTES_WITH_ROOM;
use super::super::sequence_point::SequencePoint;
use super::super::sorter::Held;
use super::super::v6;
use super::{Cursor, EndState, Reader, Ready};

const FORGOTTEN_THREADS: &str =
    "there are too many threads to remember, so not every lost event can be counted";

/// Unknown metadata ids that are reported one by one.
const MAX_REPORTED_IDS: usize = 1024;

impl Reader {
    /// `None` before the trace object, which comes before all blocks.
    #[inline]
    pub(super) fn event(&self, held: &Held) -> Option<Event<'_>> {
        let Held { blob, slot, .. } = *held;
        let labels = self.labels.get(blob.label_list);
        let offset = || self.blocks[slot].offset + u64::from(blob.payload) + u64::from(blob.deferred_before);
        Some(Event {
            metadata: self.metadata.record(held.metadata),
            sequence: blob.sequence,
            capture_thread_id: blob.capture_thread,
            thread_id: blob.thread,
            processor: blob.processor,
            timestamp: blob.timestamp,
            payload: self.blocks.slice(slot, blob.payload, blob.payload_held),
            deferred: (blob.payload_held < blob.payload_size)
                .then(|| Deferred { offset: offset(), len: blob.payload_size as usize }),
            stack: held.stack.map_or(&[], |stack| self.blocks.slice(stack.slot, stack.at, stack.len)),
            activity: self.guid(slot, blob.activity).or(labels.activity.as_ref()),
            related_activity: self.guid(slot, blob.related_activity).or(labels.related_activity.as_ref()),
            labels,
            trace: self.trace.as_ref()?,
        })
    }

    #[inline]
    fn guid(&self, slot: Slot, offset: BlockOffset) -> Option<&[u8; 16]> {
        if offset == ABSENT {
            return None;
        }
        self.blocks.slice(slot, offset, 16).first_chunk()
    }

    pub(super) fn take_back_lent(&mut self) {
        if let Some(held) = self.lent.take() {
            self.blocks.release(held.slot);
            if let Some(stack) = held.stack {
                self.blocks.release(stack.slot);
            }
        }
    }

    /// Reads on until there is an item.
    pub(super) fn step(&mut self) -> Result<Option<Ready>, Error> {
        loop {
            if self.threads.over_limit && !std::mem::replace(&mut self.forgotten_threads, true) {
                return Err(Error::Limit { what: FORGOTTEN_THREADS });
            }
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            if let Some(ready) = self.earliest() {
                return Ok(Some(ready));
            }
            if self.sorter.len == 0 {
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
            } else if std::mem::take(&mut self.release) && self.sorter.len > 0 {
                self.draining = true;
            } else {
                return Ok(None);
            }
        }
    }

    /// The earliest held event, if its turn has come, or the events that were lost before it.
    #[inline]
    fn earliest(&mut self) -> Option<Ready> {
        let too_many = self.sorter.len > self.limits.max_held_events
            || self.blocks.bytes - self.container.queued_bytes > self.limits.max_held_bytes;
        let (held, queue) = self.sorter.earliest()?;
        if held.blob.timestamp > self.complete_until.0 && !self.draining {
            if !too_many {
                return None;
            }
            if !std::mem::replace(&mut self.out_of_order, true) {
                self.ready.push_back(Ready::OutOfOrder);
            }
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
        let at = cursor.events.at;
        let offset = (at + cursor.events.deferred_bytes) as u64;
        let blob = match cursor.events.next(&self.blocks[slot].data, &self.blocks[slot].deferred) {
            Ok(Some(blob)) => *blob,
            Ok(None) => {
                let size = self.blocks[slot].data.len() + self.blocks[slot].deferred.bytes;
                let room = size <= MAX_BYTES_WITH_ROOM;
                self.flush_ended = room && cursor.whole && !self.container.version6;
                self.cursor = None;
                self.blocks.release(slot);
                return Ok(());
            }
            Err(why) => {
                let whole = cursor.whole;
                let error = Error::in_block(BlockKind::EVENT, self.blocks[slot].offset, offset, why);
                self.unparsed_bytes += (self.blocks[slot].data.len() - at) as u64;
                self.cursor = None;
                self.blocks.release(slot);
                return if whole { Err(error) } else { Ok(()) };
            }
        };
        let thread = self.threads.index_of(blob.capture_thread, self.limits.max_threads);
        let lost_before = self.threads.observe(thread, blob.sequence, self.limits.max_threads);
        if blob.sorted {
            self.complete_until.0 = blob.timestamp;
        }
        let Some(metadata) = self.metadata.index_of(blob.metadata_id) else {
            if lost_before > 0 {
                self.push_lost(blob.capture_thread, lost_before, blob.timestamp);
            }
            return self.without_metadata(self.blocks[slot].offset + offset, &blob);
        };
        let stack = self.stacks.get(blob.stack_id).filter(|stack| stack.len > 0);
        self.blocks.retain(slot);
        if let Some(stack) = &stack {
            self.blocks.retain(stack.slot);
        }
        let mut held = Held { blob, slot, metadata, stack, lost_before };
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
        let thread_id = self.threads.os_id(thread);
        self.ready.push_back(Ready::Lost(Lost { thread_id, events, before_timestamp }));
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
                if self.sorter.len > 0 && !self.flush_ended && !self.container.version6 {
                    self.ready.push_back(Ready::Truncated);
                }
            }
            Object::Block { kind: BlockKind::EVENT, slot, whole } => {
                match BlobReader::new(&self.blocks[slot].data, self.container.version6) {
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
        let error = Error::in_block(kind, self.blocks[slot].offset, at as u64, why);
        self.unparsed_bytes += (self.blocks[slot].data.len() - at) as u64;
        self.blocks.release(slot);
        if whole { Err(error) } else { Ok(()) }
    }

    /// Reads a block that has no events or stacks. An error comes with its offset in the block.
    fn read_table(&mut self, kind: BlockKind, slot: Slot) -> Result<(), (usize, Malformed)> {
        let version6 = self.container.version6;
        let limit = self.limits.max_threads;
        let data = &self.blocks[slot].data;
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
            BlockKind::LABEL_LIST => self.labels.parse(&mut bytes, limit, self.limits.max_metadata_bytes),
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
        self.compare_sequences(&mut removed, self.complete_until.0);
        for (index, _) in removed {
            self.threads.remove(index);
        }
    }

    fn compare_sequences(&mut self, stated: &mut [(u64, u32)], before_timestamp: i64) {
        for (thread, events) in self.threads.checkpoint(stated, self.limits.max_threads) {
            self.push_lost(thread, events, before_timestamp);
        }
    }
}
