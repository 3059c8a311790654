//! Sets of what has been told already.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::sys;

/// Places; a power of two.
const CAPACITY: usize = 65_536;
/// No more than that are taken, so that a search soon finds a free one.
const MOST: usize = CAPACITY / 4 * 3;
/// With less room than that for one more collection it is time to begin anew.
const ROOM: usize = 12_288;

/// Where the search for a key begins.
fn first_place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

/// The places in the order of the search.
fn places<T>(memory: &[T], key: u64) -> impl Iterator<Item = &T> {
    let (before, after) = memory.split_at_checked(first_place(key)).unwrap_or((memory, &[]));
    after.iter().chain(before)
}

/// What became of an attempt to add an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    New,
    Known,
    /// It is not in the set, and there is no room.
    Full,
}

/// Identifiers of classes and methods. Several threads add at once. An entry is the identifier and,
/// in its high bits, the round it was added in: entries of other rounds are free places, so that
/// emptying the set is adding one to a number.
#[derive(Debug)]
pub(super) struct Known {
    memory: AtomicPtr<AtomicU64>,
    round: AtomicU64,
    used: AtomicUsize,
}

const ID_BITS: u32 = 48;
const ROUNDS: u64 = 1 << (u64::BITS - ID_BITS);

impl Known {
    pub(super) const fn new() -> Self {
        Self { memory: AtomicPtr::new(ptr::null_mut()), round: AtomicU64::new(0), used: AtomicUsize::new(0) }
    }

    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(Ordering::Acquire).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<AtomicU64>())) else {
                return false;
            };
            self.memory.store(memory.cast().as_ptr(), Ordering::Release);
        }
        self.forget();
        true
    }

    fn all(&self) -> &[AtomicU64] {
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `prepare` mapped that many, zeroed, for good.
        unsafe { core::slice::from_raw_parts(memory, CAPACITY) }
    }

    /// Adds an identifier. Of two threads that add the same one, one is told that it is new.
    pub(super) fn add(&self, id: usize) -> Added {
        let id = id as u64;
        if id >> ID_BITS != 0 {
            return Added::Full;
        }
        let round = self.round.load(Ordering::SeqCst).checked_rem(ROUNDS).unwrap_or(0);
        let entry = round << ID_BITS | id;
        for place in places(self.all(), id) {
            let mut found = place.load(Ordering::SeqCst);
            while found >> ID_BITS != round {
                if self.used.load(Ordering::Relaxed) >= MOST {
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

    /// Whether there may be too little room for what the next collection holds.
    pub(super) fn is_worn(&self) -> bool {
        self.used.load(Ordering::Relaxed) > MOST.saturating_sub(ROOM)
    }

    /// Empties the set. What another thread adds at the same moment may be lost or stay.
    pub(super) fn forget(&self) {
        let next = self.round.load(Ordering::SeqCst).wrapping_add(1);
        if next.checked_rem(ROUNDS) == Some(0) {
            // Rounds begin anew: none of the old ones may be taken for current.
            self.all().iter().for_each(|place| place.store(0, Ordering::SeqCst));
            self.round.store(next.wrapping_add(1), Ordering::SeqCst);
        } else {
            self.round.store(next, Ordering::SeqCst);
        }
        self.used.store(0, Ordering::Relaxed);
    }
}

/// Definitions, of which only our own thread knows.
#[derive(Debug)]
pub(super) struct Definitions {
    memory: AtomicPtr<Definition>,
    used: AtomicUsize,
}

#[derive(Debug)]
struct Definition {
    module: AtomicU64,
    /// Token, and above it when the address was last given up by another module.
    rest: AtomicU64,
}

impl Definitions {
    pub(super) const fn new() -> Self {
        Self { memory: AtomicPtr::new(ptr::null_mut()), used: AtomicUsize::new(0) }
    }

    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(Ordering::Acquire).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<Definition>())) else {
                return false;
            };
            self.memory.store(memory.cast().as_ptr(), Ordering::Release);
        }
        self.forget();
        true
    }

    fn all(&self) -> &[Definition] {
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `prepare` mapped that many, zeroed, for good.
        unsafe { core::slice::from_raw_parts(memory, CAPACITY) }
    }

    /// Whether something was added for the address alone.
    pub(super) fn has(&self, address: usize) -> bool {
        let address = address as u64;
        for place in places(self.all(), address) {
            match place.module.load(Ordering::Relaxed) {
                0 => return false,
                found if found == address => return true,
                _ => {}
            }
        }
        false
    }

    /// Whether it is new. Where there is no room left, everything is forgotten and told again.
    pub(super) fn add(&self, module: usize, token: u32, unloaded_at: u64) -> bool {
        if self.used.load(Ordering::Relaxed) >= MOST {
            self.forget();
        }
        let (module, rest) = (module as u64, unloaded_at << 32 | u64::from(token));
        for place in places(self.all(), module ^ rest.wrapping_mul(0x0001_0000_01b3)) {
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
        for place in self.all() {
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

    fn known() -> Known {
        let known = Known::new();
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
        let ids = (8..).step_by(8).take(MOST);
        assert!(ids.clone().all(|id| known.add(id) == Added::New));
        assert_eq!(known.add(usize::MAX >> 20), Added::Full);
        assert!(ids.clone().all(|id| known.add(id) == Added::Known));
        known.forget();
        assert_eq!(known.add(8), Added::New);
        assert_eq!(known.add(1 << 60), Added::Full, "such an address cannot be kept");
        assert!(!known.is_worn());
        (8..).step_by(8).take(MOST - ROOM + 1).for_each(|id| assert_ne!(known.add(id), Added::Full));
        assert!(known.is_worn());
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
        let definitions = Definitions::new();
        assert!(definitions.prepare());
        assert!(definitions.add(0x1000, 0x0200_0001, 0));
        assert!(!definitions.add(0x1000, 0x0200_0001, 0));
        assert!(definitions.add(0x1000, 0x0600_0001, 0));
        assert!(definitions.add(0x1000, 0x0200_0001, 7), "another module at the same address");
        for token in 0..200_000 {
            definitions.add(0x2000, token, 0);
        }
        assert!(definitions.used.load(Ordering::Relaxed) <= MOST);
        definitions.forget();
        assert!(definitions.add(0x1000, 0x0200_0001, 0));
    }
}
