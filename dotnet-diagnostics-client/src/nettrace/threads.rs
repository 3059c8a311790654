//! Threads of a stream: their queues, and how many of their events are missing.
//!
//! Each thread numbers its events from 1, also those that the runtime then drops. A gap in the numbers, or between the
//! last one seen and the one a sequence point states, is the number of lost events.

use std::collections::HashMap;

use super::order::Queue;

/// Differences of sequence numbers from here on are negative: the number started again.
const BACKWARDS: u32 = 1 << 31;

#[derive(Clone, Copy, Debug)]
struct Thread {
    /// Last sequence number seen; `None` where it is not known which number is next.
    last: Option<u32>,
    queue: Queue,
}

#[derive(Debug, Default)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    free: Vec<u32>,
    by_id: HashMap<u64, u32>,
    last: Option<(u64, u32)>,
    /// Idle threads are looked for again when there are so many. Where most are busy this grows with them: each search
    /// walks over all threads, and must not come with every new one.
    search_at: usize,
    /// Last numbers of threads whose id another thread took over since the last sequence point.
    ended: Vec<(u32, u32)>,
    /// Something was forgotten: what is lost can no longer be told exactly.
    pub(super) over_limit: bool,
    /// A thread's first number cannot be expected to be 1: the stream is a later part of one, or threads were forgotten.
    midway: bool,
    started: bool,
    /// Version 6: operating system's ids by index.
    os_ids: HashMap<u64, u64>,
    /// Threads that were walked over to find what is idle or has ended.
    #[cfg(test)]
    walked: usize,
}

impl Threads {
    /// Index of the thread's state. Beyond `limit` threads, those without waiting events are forgotten.
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
            self.forget_idle();
        }
        let thread = Thread { last: if self.midway { None } else { Some(0) }, queue: Queue::EMPTY };
        let index = match self.free.pop() {
            Some(index) => {
                self.threads[index as usize] = thread;
                index
            }
            None => {
                self.threads.push(thread);
                (self.threads.len() - 1) as u32
            }
        };
        self.by_id.insert(id, index);
        index
    }

    fn forget_idle(&mut self) {
        #[cfg(test)]
        {
            self.walked += self.by_id.len();
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

    /// Notes an event's number and gives how many events are missing before it.
    #[inline]
    pub(super) fn observe(&mut self, index: u32, sequence: u32, limit: usize) -> u64 {
        self.started = true;
        let last = self.threads[index as usize].last.replace(sequence);
        let Some(last) = last else { return 0 };
        let missing = sequence.wrapping_sub(last).wrapping_sub(1);
        if missing < BACKWARDS {
            return missing.into();
        }
        // Systems use thread ids again: this is another thread, which counts from 1.
        if self.ended.len() < limit {
            self.ended.push((index, last));
        } else {
            self.over_limit = true;
        }
        sequence.saturating_sub(1).into()
    }

    /// Compares with the numbers of a sequence point and tells each thread's missing events to `lost`.
    pub(super) fn checkpoint(
        &mut self,
        stated: &mut [(u64, u32)],
        limit: usize,
        mut lost: impl FnMut(u64, u64),
    ) {
        // A stream that starts with a sequence point goes on where another one ended.
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
                lost(id, missing);
            }
        }
        self.ended.clear();
    }

    fn compare(&mut self, index: u32, stated: u32) -> u64 {
        let last = &mut self.threads[index as usize].last;
        let missing = last.map_or(0, |last| stated.wrapping_sub(last));
        // The stated number is a lower bound: less than what was seen says nothing.
        if missing >= BACKWARDS {
            return 0;
        }
        *last = Some(stated);
        missing.into()
    }

    /// Several threads with one id, of which all but the last have ended. Which number is whose is not said: the
    /// largest are compared with the largest.
    fn compare_several(&mut self, index: u32, stated: &[(u64, u32)]) -> u64 {
        let present = self.threads[index as usize].last.unwrap_or(0);
        // In order, so that those of one thread are together.
        let from = self.ended.partition_point(|(of, _)| *of < index);
        let ended = self.ended[from..].iter().take_while(|(of, _)| *of == index);
        let mut seen: Vec<_> = ended.map(|(_, last)| (*last, false)).chain([(present, true)]).collect();
        #[cfg(test)]
        {
            self.walked += seen.len();
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

    /// Version 6: the operating system's id of a thread index; the index itself where the stream does not tell.
    #[inline]
    pub(super) fn os_id(&self, index: u64) -> u64 {
        if self.os_ids.is_empty() { index } else { self.os_ids.get(&index).copied().unwrap_or(index) }
    }

    /// Version 6: a thread's id; beyond `limit` threads no more are noted.
    pub(super) fn name_os_id(&mut self, index: u64, os_id: u64, limit: usize) {
        if self.os_ids.len() < limit {
            self.os_ids.insert(index, os_id);
        } else {
            self.over_limit = true;
        }
    }

    /// Version 6: indices may mean other threads from here on.
    pub(super) fn remove(&mut self, id: u64) {
        self.os_ids.remove(&id);
        if let Some(index) =
            self.by_id.get(&id).copied().filter(|index| self.threads[*index as usize].queue.is_empty())
        {
            self.by_id.remove(&id);
            self.free.push(index);
            self.last = None;
        }
    }

    /// Version 6: as [`remove`](Self::remove), for all threads. Only while no event waits.
    pub(super) fn clear(&mut self) {
        *self = Self { midway: self.midway, started: true, over_limit: self.over_limit, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(threads: &mut Threads, id: u64, sequence: u32) -> u64 {
        let index = threads.index_of(id, 100);
        threads.observe(index, sequence, 100)
    }

    fn checkpoint(threads: &mut Threads, stated: &[(u64, u32)]) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        threads.checkpoint(&mut stated.to_vec(), 100, |id, lost| all.push((id, lost)));
        all
    }

    #[test]
    fn gaps_count_from_the_first_number() {
        let mut threads = Threads::default();
        assert_eq!(observe(&mut threads, 7, 1), 0);
        assert_eq!(observe(&mut threads, 7, 2), 0);
        assert_eq!(observe(&mut threads, 7, 12), 9);
        assert_eq!(observe(&mut threads, 8, 4), 3, "numbers start at 1");
        assert_eq!(checkpoint(&mut threads, &[(7, 15), (8, 4), (9, 5)]), [(7, 3), (9, 5)]);
        assert_eq!(observe(&mut threads, 7, 16), 0);
        assert_eq!(observe(&mut threads, 9, 6), 0);
    }

    #[test]
    fn numbers_wrap() {
        let mut threads = Threads { midway: true, started: true, ..Threads::default() };
        assert_eq!(observe(&mut threads, 7, u32::MAX - 1), 0);
        assert_eq!(observe(&mut threads, 7, 1), 2);
        assert_eq!(checkpoint(&mut threads, &[(7, 1)]), []);
    }

    #[test]
    fn an_id_that_is_used_again_is_another_thread() {
        let mut threads = Threads::default();
        for sequence in 1..=10 {
            assert_eq!(observe(&mut threads, 7, sequence), 0);
        }
        assert_eq!(observe(&mut threads, 7, 1), 0);
        assert_eq!(observe(&mut threads, 7, 4), 2);
        assert_eq!(checkpoint(&mut threads, &[(7, 5), (7, 10)]), [(7, 1)], "both are stated, in any order");
        assert_eq!(observe(&mut threads, 7, 6), 0, "it goes on after its own number");
    }

    #[test]
    fn a_later_part_of_a_stream_has_no_losses_before_it() {
        let mut threads = Threads::default();
        assert_eq!(checkpoint(&mut threads, &[(7, 1_000)]), []);
        assert_eq!(observe(&mut threads, 7, 1_002), 1);
        assert_eq!(observe(&mut threads, 8, 500), 0, "where it stood is not known");
        assert_eq!(observe(&mut threads, 8, 502), 1);
    }

    #[test]
    fn a_stated_number_is_a_lower_bound() {
        let mut threads = Threads::default();
        observe(&mut threads, 7, 1);
        observe(&mut threads, 7, 2);
        assert_eq!(checkpoint(&mut threads, &[(7, 1)]), []);
        assert_eq!(observe(&mut threads, 7, 3), 0);
    }

    #[test]
    fn idle_threads_are_forgotten_rather_than_kept_without_end() {
        let mut threads = Threads::default();
        for id in 0..1_000 {
            observe(&mut threads, id, 1);
        }
        assert!(threads.threads.len() <= 101);
        assert_eq!(observe(&mut threads, 3, 5), 0, "a forgotten thread is not one that lost events");
        assert!(threads.over_limit, "it can be told");
    }

    /// `n` threads, each of which holds an event, where 100 may be known.
    fn walked_for_busy(n: u64) -> usize {
        let mut threads = Threads::default();
        for id in 0..n {
            let index = threads.index_of(id, 100);
            threads.queue(index).hold_for_test();
        }
        assert_eq!(threads.by_id.len() as u64, n, "none of them can be forgotten");
        threads.walked
    }

    #[test]
    fn to_look_for_idle_threads_takes_time_in_proportion_to_new_ones() {
        let (once, twice) = (walked_for_busy(10_000), walked_for_busy(20_000));
        assert!(once <= 2 * 10_000 && twice <= 5 * once / 2, "{once} and {twice} threads were walked over");
    }

    /// `n` threads that took over the ids of others, and a sequence point that states each id three times.
    fn walked_for_ended(n: u64) -> usize {
        let mut threads = Threads::default();
        let limit = 1 << 20;
        for id in 0..n {
            for sequence in [9, 1] {
                let index = threads.index_of(id, limit);
                threads.observe(index, sequence, limit);
            }
        }
        let mut stated: Vec<(u64, u32)> = (0..n).flat_map(|id| [(id, 9), (id, 1), (id, 1)]).collect();
        threads.checkpoint(&mut stated, limit, |_, _| {});
        threads.walked
    }

    #[test]
    fn threads_that_ended_are_found_without_a_walk_over_all() {
        let (once, twice) = (walked_for_ended(1_000), walked_for_ended(2_000));
        assert_eq!((once, twice), (2_000, 4_000));
    }

    #[test]
    fn threads_that_ended_are_bounded_between_sequence_points() {
        let mut threads = Threads::default();
        for _ in 0..1_000 {
            observe(&mut threads, 7, 5);
            observe(&mut threads, 7, 1);
        }
        assert_eq!(threads.ended.len(), 100);
        assert!(threads.over_limit, "it can be told");
    }
}
