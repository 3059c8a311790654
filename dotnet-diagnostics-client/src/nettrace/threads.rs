//! The threads of a stream: their queues, and how many of their events are lost.
//!
//! The runtime numbers the events of each thread from 1, including those that it drops. Events are lost where a number
//! is missing, or where the last number is smaller than the one in a sequence point.

use std::collections::HashMap;

use super::blocks::put;
use super::sorter::Queue;

/// Sequence numbers wrap: from this difference on, the later number is the smaller one.
const BACKWARDS: u32 = 1 << 31;

#[derive(Clone, Copy, Debug)]
struct Thread {
    /// The last sequence number. `None` if the next number is not known.
    last: Option<u32>,
    queue: Queue,
}

#[derive(Debug, Default)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    free: Vec<u32>,
    by_id: HashMap<u64, u32>,
    last: Option<(u64, u32)>,
    /// The number of threads at which idle ones are searched for again. A search visits all threads, so it must not
    /// happen for each new thread while most are busy.
    search_at: usize,
    /// Threads that have ended since the last sequence point and whose id another thread has: index and last number.
    ended: Vec<(u32, u32)>,
    /// Threads were dropped, so that not every lost event can be counted.
    pub(super) over_limit: bool,
    /// The first number of a thread need not be 1: the stream is a later part of another one, or threads were dropped.
    midway: bool,
    started: bool,
    /// Version 6: thread ids of the operating system by index.
    os_ids: HashMap<u64, u64>,
    /// Threads that searches for idle or ended threads have visited.
    #[cfg(test)]
    visited: usize,
}

impl Threads {
    /// Index of a thread. Above `limit` threads, those without waiting events are dropped.
    #[inline]
    pub(super) fn index_of(&mut self, id: u64, limit: usize) -> u32 {
        match self.last {
            Some((last, index)) if last == id => index,
            _ => {
                let index = self.find_or_add(id, limit);
                self.last = Some((id, index));
                index
            }
        }
    }

    fn find_or_add(&mut self, id: u64, limit: usize) -> u32 {
        if let Some(index) = self.by_id.get(&id) {
            return *index;
        }
        if self.by_id.len() >= limit.max(self.search_at) {
            self.drop_idle();
        }
        let thread = Thread { last: if self.midway { None } else { Some(0) }, queue: Queue::EMPTY };
        let index = put(&mut self.threads, &mut self.free, thread);
        self.by_id.insert(id, index);
        index
    }

    fn drop_idle(&mut self) {
        #[cfg(test)]
        {
            self.visited += self.by_id.len();
        }
        let before = self.by_id.len();
        let Self { threads, free, by_id, .. } = self;
        by_id.retain(|_, index| {
            let idle = threads[*index as usize].queue.is_empty();
            if idle {
                free.push(*index);
            }
            !idle
        });
        self.search_at = self.by_id.len().saturating_mul(2);
        if self.by_id.len() < before {
            self.last = None;
            self.ended.clear();
            self.midway = true;
            self.over_limit = true;
        }
    }

    #[inline]
    pub(super) fn queue(&mut self, index: u32) -> &mut Queue {
        &mut self.threads[index as usize].queue
    }

    /// Records the number of an event. Returns how many events are missing before it.
    #[inline]
    pub(super) fn observe(&mut self, index: u32, sequence: u32, limit: usize) -> u64 {
        self.started = true;
        let last = self.threads[index as usize].last.replace(sequence);
        let Some(last) = last else { return 0 };
        let missing = sequence.wrapping_sub(last).wrapping_sub(1);
        if missing < BACKWARDS {
            return missing.into();
        }
        // The operating system has given the id to another thread, whose numbers start at 1.
        if self.ended.len() < limit {
            self.ended.push((index, last));
        } else {
            self.over_limit = true;
        }
        sequence.saturating_sub(1).into()
    }

    /// Compares with the numbers of a sequence point. Returns the id of each thread that misses events, and their
    /// number.
    pub(super) fn checkpoint(&mut self, stated: &mut [(u64, u32)], limit: usize) -> Vec<(u64, u64)> {
        let mut lost = Vec::new();
        // A stream that starts with a sequence point continues another one.
        self.midway |= !self.started;
        self.started = true;
        stated.sort_unstable();
        self.ended.sort_unstable();
        for same_id in stated.chunk_by(|a, b| a.0 == b.0) {
            let Some(&(id, _)) = same_id.first() else { continue };
            let index = self.find_or_add(id, limit);
            let missing = match *same_id {
                [(_, sequence)] => self.compare(index, sequence),
                _ => self.compare_several(index, same_id),
            };
            if missing > 0 {
                lost.push((id, missing));
            }
        }
        self.ended.clear();
        lost
    }

    fn compare(&mut self, index: u32, stated: u32) -> u64 {
        let last = &mut self.threads[index as usize].last;
        let missing = last.map_or(0, |last| stated.wrapping_sub(last));
        // The stated number is a lower bound: a smaller one than the last means nothing.
        if missing >= BACKWARDS {
            return 0;
        }
        *last = Some(stated);
        missing.into()
    }

    /// Compares several threads that had one id; all but the last have ended. The stream does not say which number
    /// belongs to which thread, so the largest are compared with the largest.
    fn compare_several(&mut self, index: u32, stated: &[(u64, u32)]) -> u64 {
        let present = self.threads[index as usize].last.unwrap_or(0);
        // Sorted, so that those with one index are together.
        let from = self.ended.partition_point(|(of, _)| *of < index);
        let ended = self.ended[from..].iter().take_while(|(of, _)| *of == index);
        let mut seen: Vec<_> = ended.map(|(_, last)| (*last, false)).chain([(present, true)]).collect();
        #[cfg(test)]
        {
            self.visited += seen.len();
        }
        seen.sort_unstable();
        let mut missing = 0;
        for (&(last, is_present), &(_, stated)) in seen.iter().rev().zip(stated.iter().rev()) {
            missing += u64::from(stated.saturating_sub(last));
            if is_present {
                self.threads[index as usize].last = Some(stated.max(last));
            }
        }
        missing
    }

    /// Version 6: the thread id of the operating system for an index, or the index if the stream does not name the id.
    #[inline]
    pub(super) fn os_id(&self, index: u64) -> u64 {
        if self.os_ids.is_empty() { index } else { self.os_ids.get(&index).copied().unwrap_or(index) }
    }

    /// Version 6: sets the id of a thread. At most `limit` are kept.
    pub(super) fn set_os_id(&mut self, index: u64, os_id: u64, limit: usize) {
        if self.os_ids.len() < limit {
            self.os_ids.insert(index, os_id);
        } else {
            self.over_limit = true;
        }
    }

    /// Version 6: removes a thread. Its index may mean another thread from here on.
    pub(super) fn remove(&mut self, id: u64) {
        self.os_ids.remove(&id);
        if let Some(index) = self.by_id.get(&id)
            && self.threads[*index as usize].queue.is_empty()
        {
            self.free.push(*index);
            self.by_id.remove(&id);
            self.last = None;
        }
    }

    /// Version 6: removes all threads. No event may be waiting.
    pub(super) fn clear(&mut self) {
        *self = Self { midway: self.midway, started: true, over_limit: self.over_limit, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events, each with its thread and number. Gives how many are missing before each.
    fn observe<const N: usize>(threads: &mut Threads, events: [(u64, u32); N]) -> [u64; N] {
        events.map(|(id, sequence)| {
            let index = threads.index_of(id, 100);
            threads.observe(index, sequence, 100)
        })
    }

    fn checkpoint(threads: &mut Threads, stated: &[(u64, u32)]) -> Vec<(u64, u64)> {
        threads.checkpoint(&mut stated.to_vec(), 100)
    }

    #[test]
    fn gaps_count_from_the_first_number() {
        let mut threads = Threads::default();
        assert_eq!(observe(&mut threads, [(7, 1), (7, 2), (7, 12)]), [0, 0, 9]);
        assert_eq!(observe(&mut threads, [(8, 4)]), [3], "numbers start at 1");
        assert_eq!(checkpoint(&mut threads, &[(7, 15), (8, 4), (9, 5)]), [(7, 3), (9, 5)]);
        assert_eq!(observe(&mut threads, [(7, 16), (9, 6)]), [0, 0]);
    }

    #[test]
    fn numbers_wrap() {
        let mut threads = Threads { midway: true, started: true, ..Threads::default() };
        assert_eq!(observe(&mut threads, [(7, u32::MAX - 1), (7, 1)]), [0, 2]);
        assert_eq!(checkpoint(&mut threads, &[(7, 1)]), []);
    }

    #[test]
    fn a_reused_id_is_another_thread() {
        let mut threads = Threads::default();
        for sequence in 1..=10 {
            assert_eq!(observe(&mut threads, [(7, sequence)]), [0]);
        }
        assert_eq!(observe(&mut threads, [(7, 1), (7, 4)]), [0, 2]);
        assert_eq!(checkpoint(&mut threads, &[(7, 5), (7, 10)]), [(7, 1)], "both are stated, in any order");
        assert_eq!(observe(&mut threads, [(7, 6)]), [0], "it continues after its own number");
    }

    #[test]
    fn a_later_part_of_a_stream_has_no_losses_before_it() {
        let mut threads = Threads::default();
        assert_eq!(checkpoint(&mut threads, &[(7, 1_000)]), []);
        assert_eq!(observe(&mut threads, [(7, 1_002)]), [1]);
        assert_eq!(observe(&mut threads, [(8, 500), (8, 502)]), [0, 1], "its last number is not known");
    }

    #[test]
    fn a_stated_number_is_a_lower_bound() {
        let mut threads = Threads::default();
        observe(&mut threads, [(7, 1), (7, 2)]);
        assert_eq!(checkpoint(&mut threads, &[(7, 1)]), []);
        assert_eq!(observe(&mut threads, [(7, 3)]), [0]);
    }

    #[test]
    fn idle_threads_are_dropped_above_the_limit() {
        let mut threads = Threads::default();
        for id in 0..1_000 {
            observe(&mut threads, [(id, 1)]);
        }
        assert!(threads.threads.len() <= 101);
        assert_eq!(observe(&mut threads, [(3, 5)]), [0], "a dropped thread has not lost events");
        assert!(threads.over_limit, "the limit is reported");
    }

    /// `n` threads, each with a waiting event, where 100 may be kept.
    fn visited_for_busy(n: u64) -> usize {
        let mut threads = Threads::default();
        for id in 0..n {
            let index = threads.index_of(id, 100);
            threads.queue(index).hold_for_test();
        }
        assert_eq!(threads.by_id.len() as u64, n, "none of them can be dropped");
        threads.visited
    }

    #[test]
    fn searching_for_idle_threads_takes_time_in_proportion_to_new_ones() {
        let (once, twice) = (visited_for_busy(10_000), visited_for_busy(20_000));
        assert!(once <= 2 * 10_000 && twice <= 5 * once / 2, "{once} and {twice} threads were visited");
    }

    /// `n` threads with reused ids, and a sequence point that states each id three times.
    fn visited_for_ended(n: u64) -> usize {
        let mut threads = Threads::default();
        let limit = 1 << 20;
        for id in 0..n {
            for sequence in [9, 1] {
                let index = threads.index_of(id, limit);
                threads.observe(index, sequence, limit);
            }
        }
        let mut stated: Vec<(u64, u32)> = (0..n).flat_map(|id| [(id, 9), (id, 1), (id, 1)]).collect();
        threads.checkpoint(&mut stated, limit);
        threads.visited
    }

    #[test]
    fn ended_threads_are_found_without_visiting_all() {
        let (once, twice) = (visited_for_ended(1_000), visited_for_ended(2_000));
        assert_eq!((once, twice), (2_000, 4_000));
    }

    #[test]
    fn ended_threads_are_bounded_between_sequence_points() {
        let mut threads = Threads::default();
        for _ in 0..1_000 {
            observe(&mut threads, [(7, 5), (7, 1)]);
        }
        assert_eq!(threads.ended.len(), 100);
        assert!(threads.over_limit, "the limit is reported");
    }
}
