//! Sorts the events of several threads by time.
//!
//! The events of a thread come in order, and the writer marks an event as sorted if no later event of the stream is
//! earlier. So events wait in a queue per thread, and the earliest leave when a marked event has a later time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::blob::Blob;
use super::blocks::{Slot, put};
use super::stacks::StackRef;

const NONE: u32 = u32::MAX;

/// An event that waits for its turn. Its payload and stack stay in their blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) blob: Blob,
    /// The block with the event.
    pub(super) slot: Slot,
    /// Index of the event's definition.
    pub(super) metadata: u32,
    pub(super) stack: Option<StackRef>,
    /// Events of its thread that were lost just before it.
    pub(super) lost_before: u64,
}

/// A held event in its queue.
#[derive(Clone, Copy, Debug)]
struct Queued {
    held: Held,
    arrival: u64,
    next: u32,
}

impl Queued {
    fn head(&self, index: u32, queue: u32) -> Head {
        Head { timestamp: self.held.blob.timestamp, arrival: self.arrival, index, queue }
    }
}

/// The queue of a thread: a linked list in the shared store, so that an idle thread takes no memory.
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

/// The first event of a queue. Heads are compared by time, then by arrival, which is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    timestamp: i64,
    arrival: u64,
    index: u32,
    queue: u32,
}

/// The waiting events of all threads.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    store: Vec<Queued>,
    free: Vec<u32>,
    heads: BinaryHeap<Reverse<Head>>,
    arrivals: u64,
    /// How many they are.
    pub(super) len: usize,
}

impl Sorter {
    #[inline]
    pub(super) fn push(&mut self, held: Held, queue_index: u32, queue: &mut Queue) {
        let queued = Queued { held, arrival: self.arrivals, next: NONE };
        self.arrivals += 1;
        let index = put(&mut self.store, &mut self.free, queued);
        self.len += 1;
        if queue.is_empty() {
            queue.first = index;
            self.heads.push(Reverse(queued.head(index, queue_index)));
        } else {
            self.store[queue.last as usize].next = index;
        }
        queue.last = index;
    }

    /// The earliest event and the index of its queue.
    #[inline]
    pub(super) fn earliest(&mut self) -> Option<(&mut Held, u32)> {
        let Reverse(head) = self.heads.peek()?;
        Some((&mut self.store[head.index as usize].held, head.queue))
    }

    /// Removes the event that [`earliest`](Self::earliest) gave from its queue.
    #[inline]
    pub(super) fn pop(&mut self, queue: &mut Queue) -> Option<Held> {
        let mut top = self.heads.peek_mut()?;
        let Reverse(head) = *top;
        let Queued { held, next, .. } = self.store[head.index as usize];
        self.free.push(head.index);
        self.len -= 1;
        if next == NONE {
            *queue = Queue::EMPTY;
            PeekMut::pop(top);
        } else {
            queue.first = next;
            *top = Reverse(self.store[next as usize].head(next, head.queue));
        }
        Some(held)
    }
}
