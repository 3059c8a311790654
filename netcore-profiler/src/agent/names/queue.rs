//! A bounded queue of definitions to name, from the runtime's threads to ours.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::agent::table::{Atomics, Table};

/// Size of the queue; a power of two.
const CAPACITY: u64 = 16_384;

/// A definition to name, or a module to search for helpers (token 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) struct Request {
    pub(in crate::agent) module: usize,
    pub(in crate::agent) token: u32,
    /// [`Modules::now`](super::modules::Modules::now) when the module was known to be loaded.
    pub(in crate::agent) seen: u64,
}

/// One place. Its turn says who may use it next: request number `n` goes to index `n % CAPACITY`. It may be put in at
/// turn `n - index`, which becomes `n - index + 1`: then it may be taken out.
#[derive(Debug)]
struct Place {
    turn: AtomicU64,
    module: AtomicU64,
    token: AtomicU64,
    seen: AtomicU64,
}

// SAFETY: atomics only.
unsafe impl Atomics for Place {}

zeroed! {
    #[derive(Debug)]
    pub(super) struct Queue {
        table: Table<Place, { CAPACITY as usize }>,
        put: AtomicU64,
        taken: AtomicU64,
    }
}

impl Queue {
    pub(super) fn prepare(&self) -> bool {
        if !self.table.map() {
            return false;
        }
        while self.take().is_some() {}
        true
    }

    fn place(&self, number: u64) -> Option<(&Place, u64)> {
        let index = number & CAPACITY.wrapping_sub(1);
        Some((self.table.all().get(index as usize)?, number.wrapping_sub(index)))
    }

    /// Puts a request in, from any thread. `false`: the queue is full.
    ///
    /// `put` gives a place to one thread; only the place's turn, which is stored last, passes the content on.
    pub(super) fn put(&self, request: Request) -> bool {
        let mut number = self.put.load(Ordering::Relaxed);
        loop {
            let Some((place, turn)) = self.place(number) else { return false };
            let now = place.turn.load(Ordering::Acquire);
            if now != turn {
                let next = self.put.load(Ordering::Relaxed);
                if next == number {
                    return false;
                }
                number = next;
                continue;
            }
            let next = number.wrapping_add(1);
            match self.put.compare_exchange_weak(number, next, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => {
                    place.module.store(request.module as u64, Ordering::Relaxed);
                    place.token.store(u64::from(request.token), Ordering::Relaxed);
                    place.seen.store(request.seen, Ordering::Relaxed);
                    place.turn.store(turn.wrapping_add(1), Ordering::Release);
                    return true;
                }
                Err(now) => number = now,
            }
        }
    }

    /// Takes the oldest request out. One thread at a time.
    pub(super) fn take(&self) -> Option<Request> {
        let number = self.taken.load(Ordering::Relaxed);
        let (place, turn) = self.place(number)?;
        if place.turn.load(Ordering::Acquire) != turn.wrapping_add(1) {
            return None;
        }
        let request = Request {
            module: place.module.load(Ordering::Relaxed) as usize,
            token: place.token.load(Ordering::Relaxed) as u32,
            seen: place.seen.load(Ordering::Relaxed),
        };
        place.turn.store(turn.wrapping_add(CAPACITY), Ordering::Release);
        self.taken.store(number.wrapping_add(1), Ordering::Relaxed);
        Some(request)
    }

    /// How many requests were put in since the library was loaded.
    pub(super) fn count(&self) -> u64 {
        self.put.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::zero::Zero;

    fn request(module: usize) -> Request {
        Request { module, token: 0x0600_0000 | module as u32, seen: module as u64 * 3 }
    }

    #[test]
    fn requests_come_out_in_order_over_many_laps() {
        let queue = Queue::ZERO;
        assert!(!queue.put(request(1)), "nothing is mapped yet");
        assert!(queue.prepare());
        for lap in 0..5 {
            for module in 0..CAPACITY as usize {
                assert!(queue.put(request(module + lap)));
            }
            assert!(!queue.put(request(7)), "full");
            for module in 0..CAPACITY as usize {
                assert_eq!(queue.take(), Some(request(module + lap)));
            }
            assert_eq!(queue.take(), None);
        }
    }

    #[test]
    fn threads_that_put_at_once_lose_nothing() {
        const EACH: usize = if cfg!(miri) { 300 } else { 30_000 };
        let queue = Queue::ZERO;
        assert!(queue.prepare());
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let queue = &queue;
                scope.spawn(move || {
                    for number in 0..EACH {
                        while !queue.put(request(thread * EACH + number)) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let mut next = [0, EACH, 2 * EACH];
            let mut left = 3 * EACH;
            while left > 0 {
                let Some(taken) = queue.take() else {
                    std::thread::yield_now();
                    continue;
                };
                assert_eq!(taken, request(taken.module));
                let expected = &mut next[taken.module / EACH];
                assert_eq!(taken.module, *expected, "each thread's own come in order");
                *expected += 1;
                left -= 1;
            }
        });
    }
}
