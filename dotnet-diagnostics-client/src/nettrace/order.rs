//! Brings the events of several threads into the order of time.
//!
//! Each thread's events come in order, and the writer marks an event as sorted where no later one is before it. So
//! events wait in a queue per thread, and the earliest heads leave as soon as a mark has passed them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::blob::{Blob, Place};
use super::blocks::Slot;
use super::stacks::StackPlace;

const NONE: u32 = u32::MAX;

/// An event that waits for its turn; everything long stays in its block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) timestamp: i64,
    pub(super) capture_thread: u64,
    pub(super) thread: u64,
    /// Events lost on its thread just before it.
    pub(super) lost_before: u64,
    pub(super) metadata: u32,
    pub(super) sequence: u32,
    pub(super) processor: u32,
    pub(super) slot: Slot,
    pub(super) payload: Place,
    pub(super) payload_size: u32,
    pub(super) payload_there: u32,
    pub(super) left_out_before: u32,
    pub(super) activity: Place,
    pub(super) related_activity: Place,
    pub(super) label_list: u32,
    pub(super) stack: Option<StackPlace>,
    arrival: u64,
    next: u32,
}

impl Held {
    pub(super) fn new(
        blob: &Blob,
        slot: Slot,
        metadata: u32,
        stack: Option<StackPlace>,
        lost_before: u64,
    ) -> Self {
        Self {
            timestamp: blob.timestamp,
            capture_thread: blob.capture_thread,
            thread: blob.thread,
            lost_before,
            metadata,
            sequence: blob.sequence,
            processor: blob.processor,
            slot,
            payload: blob.payload,
            payload_size: blob.payload_size,
            payload_there: blob.payload_there,
            left_out_before: blob.left_out_before,
            activity: blob.activity,
            related_activity: blob.related_activity,
            label_list: blob.label_list,
            stack,
            arrival: 0,
            next: NONE,
        }
    }

    fn head(&self, held: u32, queue: u32) -> Head {
        Head { timestamp: self.timestamp, arrival: self.arrival, held, queue }
    }
}

/// One thread's queue: a chain through the shared store, so that a thread costs nothing while it is quiet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    first: u32,
    last: u32,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };

    pub(super) fn is_empty(self) -> bool {
        self.first == NONE
    }

    #[cfg(test)]
    pub(super) fn hold_for_test(&mut self) {
        (self.first, self.last) = (0, 0);
    }
}

/// Head of a queue. Orders by time, then by arrival; the rest is not reached, arrivals differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    timestamp: i64,
    arrival: u64,
    held: u32,
    queue: u32,
}

/// The events that wait, of all threads.
#[derive(Debug, Default)]
pub(super) struct Order {
    store: Vec<Held>,
    free: Vec<u32>,
    heads: BinaryHeap<Reverse<Head>>,
    arrivals: u64,
    len: usize,
}

impl Order {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn push(&mut self, mut held: Held, queue_index: u32, queue: &mut Queue) {
        held.arrival = self.arrivals;
        self.arrivals += 1;
        let index = match self.free.pop() {
            Some(index) => {
                self.store[index as usize] = held;
                index
            }
            None => {
                self.store.push(held);
                (self.store.len() - 1) as u32
            }
        };
        self.len += 1;
        if queue.is_empty() {
            queue.first = index;
            self.heads.push(Reverse(held.head(index, queue_index)));
        } else {
            self.store[queue.last as usize].next = index;
        }
        queue.last = index;
    }

    /// The earliest event and the index of its queue.
    #[inline]
    pub(super) fn earliest(&mut self) -> Option<(&mut Held, u32)> {
        let Reverse(head) = self.heads.peek()?;
        Some((&mut self.store[head.held as usize], head.queue))
    }

    /// Takes what [`earliest`](Self::earliest) showed out of its queue.
    #[inline]
    pub(super) fn pop(&mut self, queue: &mut Queue) -> Option<Held> {
        let mut top = self.heads.peek_mut()?;
        let Reverse(head) = *top;
        let held = self.store[head.held as usize];
        self.free.push(head.held);
        self.len -= 1;
        if held.next == NONE {
            *queue = Queue::EMPTY;
            PeekMut::pop(top);
        } else {
            queue.first = held.next;
            *top = Reverse(self.store[held.next as usize].head(held.next, head.queue));
        }
        Some(held)
    }
}
