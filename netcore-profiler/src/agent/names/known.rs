//! Sets of what was sent already.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::agent::table::{Atomics, Table};

/// Size of the table; a power of two.
const CAPACITY: usize = 65_536;
/// How many places are used at most, so that a search soon finds a free one.
const MAX_USED: usize = CAPACITY / 4 * 3;
/// With fewer free places than this before a collection, the set is emptied.
const ROOM: usize = 12_288;

/// Where the search for a key begins.
fn first_place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

/// The places in the order in which they are searched.
fn places<T>(memory: &[T], key: u64) -> impl Iterator<Item = &T> {
    let (before, after) = memory.split_at_checked(first_place(key)).unwrap_or((memory, &[]));
    after.iter().chain(before)
}

/// Result of [`Known::add`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) enum Added {
    New,
    Known,
    /// It is not in the set, and there is no room for it.
    Full,
}

zeroed! {
    /// `ClassID`s and `FunctionID`s. Several threads may add at once. An entry is the identifier with the round it
    /// was added in above it. Entries of other rounds are free places, so the set is emptied by raising the round.
    #[derive(Debug)]
    pub(in crate::agent) struct Known {
        table: Table<AtomicU64, CAPACITY>,
        round: AtomicU64,
        used: AtomicUsize,
    }
}

const ID_BITS: u32 = 48;
const ROUNDS: u64 = 1 << (u64::BITS - ID_BITS);

impl Known {
    pub(in crate::agent) fn prepare(&self) -> bool {
        if !self.table.map() {
            return false;
        }
        self.forget();
        true
    }

    /// Adds an identifier. If two threads add the same one, only one of them gets [`Added::New`]: an entry is one word.
    /// `used` is a limit, and may be behind.
    pub(in crate::agent) fn add(&self, id: usize) -> Added {
        let id = id as u64;
        if id >> ID_BITS != 0 {
            return Added::Full;
        }
        let round = self.round.load(Ordering::SeqCst).checked_rem(ROUNDS).unwrap_or(0);
        let entry = round << ID_BITS | id;
        for place in places(self.table.all(), id) {
            let mut found = place.load(Ordering::SeqCst);
            while found >> ID_BITS != round {
                if self.used.load(Ordering::Relaxed) >= MAX_USED {
                    return Added::Full;
                }
                match place.compare_exchange(found, entry, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => {
                        self.used.fetch_add(1, Ordering::Relaxed);
                        return Added::New;
                    }
                    Err(now) => found = now,
                }
            }
            if found == entry {
                return Added::Known;
            }
        }
        Added::Full
    }

    /// Whether there may be too little room for the next collection.
    pub(super) fn is_nearly_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) > MAX_USED.saturating_sub(ROOM)
    }

    /// Empties the set. What another thread adds meanwhile may be in the set afterwards or not.
    pub(super) fn forget(&self) {
        let next = self.round.load(Ordering::SeqCst).wrapping_add(1);
        if next.checked_rem(ROUNDS) == Some(0) {
            // The round wraps around, so entries of old rounds must not be taken for current ones.
            self.table.all().iter().for_each(|place| place.store(0, Ordering::SeqCst));
            self.round.store(next.wrapping_add(1), Ordering::SeqCst);
        } else {
            self.round.store(next, Ordering::SeqCst);
        }
        self.used.store(0, Ordering::Relaxed);
    }
}

zeroed! {
    /// Definitions. Only our own thread uses this set.
    #[derive(Debug)]
    pub(super) struct Definitions {
        table: Table<Definition, CAPACITY>,
        used: AtomicUsize,
    }
}

#[derive(Debug)]
struct Definition {
    module: AtomicU64,
    /// Token, and above it [`Modules::unloaded_at`](super::modules::Modules::unloaded_at) of the module's address.
    rest: AtomicU64,
}

// SAFETY: atomics only.
unsafe impl Atomics for Definition {}

impl Definitions {
    pub(super) fn prepare(&self) -> bool {
        if !self.table.map() {
            return false;
        }
        self.forget();
        true
    }

    /// Whether anything was added with this address.
    pub(super) fn has(&self, address: usize) -> bool {
        let address = address as u64;
        for place in places(self.table.all(), address) {
            match place.module.load(Ordering::Relaxed) {
                0 => return false,
                found if found == address => return true,
                _ => {}
            }
        }
        false
    }

    /// Adds a definition; returns whether it is new. If there is no room, the set is emptied first.
    pub(super) fn add(&self, module: usize, token: u32, unloaded_at: u64) -> bool {
        if self.used.load(Ordering::Relaxed) >= MAX_USED {
            self.forget();
        }
        let (module, rest) = (module as u64, unloaded_at << 32 | u64::from(token));
        for place in places(self.table.all(), module ^ rest.wrapping_mul(0x0001_0000_01b3)) {
            let found = (place.module.load(Ordering::Relaxed), place.rest.load(Ordering::Relaxed));
            if found == (module, rest) {
                return false;
            }
            if found.0 == 0 {
                place.module.store(module, Ordering::Relaxed);
                place.rest.store(rest, Ordering::Relaxed);
                self.used.fetch_add(1, Ordering::Relaxed);
                return true;
            }
        }
        true
    }

    pub(super) fn forget(&self) {
        for place in self.table.all() {
            if place.module.load(Ordering::Relaxed) != 0 {
                place.module.store(0, Ordering::Relaxed);
            }
        }
        self.used.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::zero::Zero;

    fn known() -> Known {
        let known = Known::ZERO;
        assert!(known.prepare());
        known
    }

    #[test]
    fn an_identifier_is_new_once_in_each_round() {
        let known = known();
        for _ in 0..3 {
            for id in (0x7fff_0000_0000..).step_by(24).take(20_000) {
                assert_eq!((known.add(id), known.add(id)), (Added::New, Added::Known));
            }
            known.forget();
        }
    }

    #[test]
    fn a_full_set_says_so_and_keeps_what_it_has() {
        let known = known();
        let ids = (8..).step_by(8).take(MAX_USED);
        assert!(ids.clone().all(|id| known.add(id) == Added::New));
        assert_eq!(known.add(usize::MAX >> 20), Added::Full);
        assert!(ids.clone().all(|id| known.add(id) == Added::Known));
        known.forget();
        assert_eq!(known.add(8), Added::New);
        assert_eq!(known.add(1 << 60), Added::Full, "such an address cannot be kept");
        assert!(!known.is_nearly_full());
        (8..).step_by(8).take(MAX_USED - ROOM + 1).for_each(|id| assert_ne!(known.add(id), Added::Full));
        assert!(known.is_nearly_full());
    }

    #[test]
    fn rounds_that_begin_anew_bring_nothing_back() {
        let known = known();
        assert_eq!(known.add(80), Added::New);
        for _ in 0..ROUNDS {
            known.forget();
        }
        assert_eq!(known.add(80), Added::New);
        known.round.store(ROUNDS - 1, Ordering::SeqCst);
        known.forget();
        assert_eq!(known.add(80), Added::New);
    }

    #[test]
    fn of_many_threads_one_is_told_that_it_is_new() {
        let known = known();
        let new: usize = std::thread::scope(|scope| {
            let add = || (1..5000_usize).filter(|id| known.add(id << 3) == Added::New).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(new, 4999);
    }

    #[test]
    fn definitions_belong_to_one_life_of_a_module() {
        let definitions = Definitions::ZERO;
        assert!(definitions.prepare());
        assert!(definitions.add(0x1000, 0x0200_0001, 0));
        assert!(!definitions.add(0x1000, 0x0200_0001, 0));
        assert!(definitions.add(0x1000, 0x0600_0001, 0));
        assert!(definitions.add(0x1000, 0x0200_0001, 7), "another module at the same address");
        for token in 0..200_000 {
            definitions.add(0x2000, token, 0);
        }
        assert!(definitions.used.load(Ordering::Relaxed) <= MAX_USED);
        definitions.forget();
        assert!(definitions.add(0x1000, 0x0200_0001, 0));
    }
}
