//! Methods that allocate handles. Module and token of each are kept, because a handle outlives the frame that
//! allocated it.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

use super::stack::{CODE_WITHOUT_METHOD, own_methods};
use crate::agent::table::{Atomics, Table};
use crate::info::{Info, is_definition};

/// Size of the table; a power of two.
const CAPACITY: usize = 4096;
/// How many places a search looks at.
const STEPS: usize = 64;
/// How many frames of a stack are looked at.
const FRAMES: usize = 8;
/// How many types are known whose methods allocate handles for their callers.
pub(super) const HELPERS: usize = 12;

// Bits of a method's state. 0: the place is free, or a thread is filling it.

/// The method has a definition.
const KNOWN: u32 = 1;
/// It allocates handles for the method that called it.
const HELPER: u32 = 1 << 1;
/// It has type arguments, which may belong to any module.
const GENERIC: u32 = 1 << 2;
/// It was unloaded, and its `FunctionID` may be used for another method.
const UNLOADED: u32 = 1 << 3;
/// It has no definition.
const UNNAMED: u32 = 1 << 4;

#[derive(Debug)]
struct Entry {
    /// How often the place was given to another method.
    version: AtomicU32,
    function: AtomicUsize,
    module: AtomicUsize,
    token: AtomicU32,
    state: AtomicU32,
}

// SAFETY: atomics only.
unsafe impl Atomics for Entry {}

/// The place of a method. It is void once the place was given to another method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Counted from 1.
    pub(super) number: u16,
    pub(super) version: u32,
}

/// What is kept of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) function: usize,
    pub(super) module: usize,
    pub(super) token: u32,
}

zeroed! {
    #[derive(Debug)]
    pub(super) struct AllocatingMethods {
        table: Table<Entry, CAPACITY>,
        /// Module of the helpers; 0: not known yet.
        helper_module: AtomicUsize,
        /// First and last method token of each helper type, in the high and low half.
        helpers: [AtomicU64; HELPERS],
        /// How many methods lost their place to another one.
        evicted: AtomicUsize,
    }
}

impl AllocatingMethods {
    pub(super) fn prepare(&self) -> bool {
        if !self.table.map() {
            return false;
        }
        for entry in self.table.all() {
            entry.state.store(0, SeqCst);
            entry.function.store(0, SeqCst);
        }
        self.helper_module.store(0, SeqCst);
        true
    }

    /// Whether the helpers are known.
    pub(super) fn knows_helpers(&self) -> bool {
        self.helper_module.load(SeqCst) != 0
    }

    /// Sets the helpers: the methods of `module` in these ranges of tokens.
    pub(super) fn set_helpers(&self, module: usize, ranges: &[(u32, u32)]) {
        for (index, helper) in self.helpers.iter().enumerate() {
            let (first, last) = ranges.get(index).copied().unwrap_or((1, 0));
            helper.store(u64::from(first) << 32 | u64::from(last), SeqCst);
        }
        self.helper_module.store(module, SeqCst);
    }

    fn is_helper(&self, module: usize, token: u32) -> bool {
        let within = |helper: &AtomicU64| {
            let range = helper.load(SeqCst);
            (range >> 32..=range & 0xffff_ffff).contains(&u64::from(token))
        };
        module == self.helper_module.load(SeqCst) && self.helpers.iter().any(within)
    }

    /// The places where a method may be, with their numbers.
    fn chain(&self, function: usize) -> impl Iterator<Item = (u16, &Entry)> {
        let first = ((function as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize;
        (0..STEPS).filter_map(move |step| {
            let index = first.wrapping_add(step) & CAPACITY.wrapping_sub(1);
            Some((u16::try_from(index.wrapping_add(1)).ok()?, self.table.all().get(index)?))
        })
    }

    /// The place of a known method.
    fn find(&self, function: usize) -> Option<Place> {
        for (number, entry) in self.chain(function) {
            let version = entry.version.load(SeqCst);
            match entry.function.load(SeqCst) {
                0 => return None,
                found if found == function && entry.state.load(SeqCst) & UNLOADED == 0 => {
                    return (entry.version.load(SeqCst) == version).then_some(Place { number, version });
                }
                _ => {}
            }
        }
        None
    }

    /// Takes a place for a method: a free one, else that of an unloaded method, else that of any other.
    fn take(&self, function: usize) -> Option<(Place, &Entry)> {
        for (number, entry) in self.chain(function) {
            if entry.function.compare_exchange(0, function, SeqCst, SeqCst).is_ok() {
                return Some((Place { number, version: entry.version.load(SeqCst) }, entry));
            }
            let state = entry.state.load(SeqCst);
            if state & UNLOADED != 0
                && let Some(version) = entry.reassign(state, function)
            {
                return Some((Place { number, version }, entry));
            }
        }
        let turn = self.evicted.fetch_add(1, SeqCst).checked_rem(STEPS)?;
        let (number, entry) = self.chain(function).nth(turn)?;
        let version = entry.reassign(entry.state.load(SeqCst), function)?;
        Some((Place { number, version }, entry))
    }

    /// The method's place, which is taken if it has none yet.
    ///
    /// # Safety
    /// `function` is a `FunctionID` that cannot be unloaded meanwhile.
    unsafe fn place(&self, info: Info, function: usize) -> Option<Place> {
        if let Some(place) = self.find(function) {
            return Some(place);
        }
        // If another thread adds the same method now, the table has it twice. That does no harm.
        let (place, entry) = self.take(function)?;
        // SAFETY: by the contract.
        let state = match unsafe { info.function_info(function, &mut []) } {
            Ok(facts) if is_definition(facts.module, facts.token) => {
                entry.module.store(facts.module, SeqCst);
                entry.token.store(facts.token, SeqCst);
                let helper = if self.is_helper(facts.module, facts.token) { HELPER } else { 0 };
                let plain = facts.args == 0
                    && facts.class != 0
                    // SAFETY: a loaded method keeps its class loaded.
                    && unsafe { info.class_info(facts.class, &mut []) }.is_ok_and(|class| class.args == 0);
                KNOWN | helper | if plain { 0 } else { GENERIC }
            }
            _ => {
                entry.module.store(0, SeqCst);
                UNNAMED
            }
        };
        entry.state.store(state, SeqCst);
        Some(place)
    }

    /// The innermost method on the calling thread's stack that is not a helper, if that is known.
    pub(super) fn of_stack(&self, info: Info) -> Option<Place> {
        if !self.knows_helpers() {
            return None;
        }
        let (mut frames, mut room) = ([0; FRAMES], [0; FRAMES]);
        for function in own_methods(info, &mut frames, &mut room)?.iter().copied() {
            if function == CODE_WITHOUT_METHOD {
                return None;
            }
            // SAFETY: the method's frame is on the calling thread's stack.
            let place = unsafe { self.place(info, function) }?;
            let state = self.get(place)?.state.load(SeqCst);
            if state & HELPER == 0 {
                return (state & KNOWN != 0).then_some(place);
            }
        }
        None
    }

    /// The entry of a place that is not void.
    fn get(&self, place: Place) -> Option<&Entry> {
        let entry = self.table.all().get(usize::from(place.number).checked_sub(1)?)?;
        (entry.version.load(SeqCst) == place.version).then_some(entry)
    }

    /// What is kept of the method, unless it was unloaded or lost its place.
    pub(super) fn facts(&self, place: Place) -> Option<Facts> {
        let entry = self.get(place)?;
        let is_known = || entry.state.load(SeqCst) & (KNOWN | UNLOADED) == KNOWN;
        // A thread that takes the place raises its version first, and then writes: until it is known again, the fields are
        // those of two methods.
        if !is_known() {
            return None;
        }
        let facts = Facts {
            function: entry.function.load(SeqCst),
            module: entry.module.load(SeqCst),
            token: entry.token.load(SeqCst),
        };
        (is_known() && entry.version.load(SeqCst) == place.version).then_some(facts)
    }

    /// Marks the methods of a module that is unloaded, and all generic ones, because they may use its types.
    pub(super) fn unloaded(&self, module: usize) {
        for entry in self.table.all() {
            let _ = entry.state.fetch_update(SeqCst, SeqCst, |state| {
                // State 0: the method is on the stack of the thread that fills the place, so it cannot be unloaded.
                let is_affected = state & GENERIC != 0 || entry.module.load(SeqCst) == module;
                (state != 0 && is_affected).then_some(state | UNLOADED)
            });
        }
    }
}

impl Entry {
    /// Takes the place from the method that has it; returns the new version.
    fn reassign(&self, state: u32, function: usize) -> Option<u32> {
        if state == 0 || self.state.compare_exchange(state, 0, SeqCst, SeqCst).is_err() {
            return None;
        }
        let version = self.version.fetch_add(1, SeqCst).wrapping_add(1);
        self.function.store(function, SeqCst);
        Some(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::zero::Zero;

    fn methods() -> AllocatingMethods {
        let methods = AllocatingMethods::ZERO;
        assert!(methods.prepare());
        methods
    }

    /// Like `place`, with facts that follow from the function.
    fn put(methods: &AllocatingMethods, function: usize, module: usize) -> Place {
        let (place, entry) = loop {
            match methods.take(function) {
                Some(taken) => break taken,
                // Another thread was interrupted while it filled one of the method's places.
                None => std::thread::yield_now(),
            }
        };
        entry.module.store(module, SeqCst);
        entry.token.store(function as u32, SeqCst);
        entry.state.store(KNOWN, SeqCst);
        place
    }

    fn facts(function: usize, module: usize) -> Option<Facts> {
        Some(Facts { function, module, token: function as u32 })
    }

    #[test]
    fn places_are_used_again() {
        let methods = methods();
        for version in 0..20 {
            // New functions in each round, of a module that is unloaded after it.
            let functions = (1..=CAPACITY / 2).map(|number| (version * CAPACITY + number) * 8);
            let places: Vec<_> =
                functions.map(|function| (function, put(&methods, function, version))).collect();
            let known =
                places.iter().filter(|(f, place)| methods.facts(*place) == facts(*f, version)).count();
            assert!(known > CAPACITY / 2 * 9 / 10, "version {version}: {known}");
            methods.unloaded(version);
            assert!(places.iter().all(|(_, place)| methods.facts(*place).is_none()));
        }
    }

    #[test]
    fn a_method_that_lost_its_place_is_not_taken_for_the_new_one() {
        let methods = methods();
        let functions = (1..=3 * CAPACITY).map(|number| number * 8);
        let places: Vec<_> = functions.map(|function| (function, put(&methods, function, 1))).collect();
        for (function, place) in &places {
            let found = methods.facts(*place);
            assert!(found.is_none() || found == facts(*function, 1), "{found:?}");
        }
        let (function, place) = places[places.len() - 1];
        assert_eq!(methods.facts(place), facts(function, 1), "the last method has a place");
        assert_eq!(methods.find(function), Some(place));
    }

    #[test]
    fn facts_are_consistent_while_places_are_reassigned() {
        let methods = methods();
        let stop = core::sync::atomic::AtomicBool::new(false);
        let wrong = std::thread::scope(|scope| {
            for thread in 0..2 {
                let (methods, stop) = (&methods, &stop);
                scope.spawn(move || {
                    for number in (1..).take_while(|_| !stop.load(SeqCst)) {
                        let function = (number * 2 + thread) * 8;
                        put(methods, function, function ^ 1);
                    }
                });
            }
            // A failure inside the scope would wait for the other threads for ever.
            let mut numbers = (1..=CAPACITY as u16).cycle().take(500_000);
            let wrong = numbers.find_map(|number| {
                let version = methods.table.all()[usize::from(number) - 1].version.load(SeqCst);
                let found = methods.facts(Place { number, version })?;
                (Some(found) != facts(found.function, found.function ^ 1)).then_some(found)
            });
            stop.store(true, SeqCst);
            wrong
        });
        assert_eq!(wrong, None, "facts of two methods");
    }
}
