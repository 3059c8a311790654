//! Methods that make handles. Their facts are kept, since a handle outlives the frame that made it.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

use super::facts::is_definition;
use super::stack::{CODE_WITHOUT_METHOD, own_methods};
use crate::agent::Profiler;
use crate::info::Info;
use crate::sys;

/// Methods that are told apart; a power of two.
const CAPACITY: usize = 4096;
/// How far a search goes.
const STEPS: usize = 64;
/// Frames that are looked at.
const FRAMES: usize = 8;
/// Types whose methods make handles for others.
const HELPERS: usize = 12;

/// States: 0 as long as it is free, and while somebody is at it.
///
/// It has a definition.
const KNOWN: u32 = 1;
/// It makes handles for the method that called it.
const HELPER: u32 = 1 << 1;
/// It is made of other types, which may belong to any module.
const GENERIC: u32 = 1 << 2;
/// It was unloaded: its identifier may be another's now.
const GONE: u32 = 1 << 3;
/// It has no definition.
const UNNAMED: u32 = 1 << 4;

#[derive(Debug)]
struct Creator {
    /// How often the place was given to another method.
    life: AtomicU32,
    function: AtomicUsize,
    module: AtomicUsize,
    token: AtomicU32,
    state: AtomicU32,
}

/// A method's place, as long as it has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1.
    pub(super) number: u16,
    pub(super) life: u32,
}

/// The facts of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) function: usize,
    pub(super) module: usize,
    pub(super) token: u32,
}

#[derive(Debug)]
pub(super) struct Creators {
    memory: AtomicPtr<Creator>,
    /// Module of the helpers, 0 as long as it is not known.
    library: AtomicUsize,
    /// First and last token of each helper's methods.
    helpers: [AtomicU64; HELPERS],
    /// Methods that lost their places to others.
    evicted: AtomicUsize,
}

impl Creators {
    pub(super) const fn new() -> Self {
        Self {
            memory: AtomicPtr::new(ptr::null_mut()),
            library: AtomicUsize::new(0),
            helpers: [const { AtomicU64::new(0) }; HELPERS],
            evicted: AtomicUsize::new(0),
        }
    }

    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(SeqCst).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<Creator>())) else { return false };
            self.memory.store(memory.cast().as_ptr(), SeqCst);
        }
        for creator in self.all() {
            creator.state.store(0, SeqCst);
            creator.function.store(0, SeqCst);
        }
        self.library.store(0, SeqCst);
        true
    }

    fn all(&self) -> &[Creator] {
        let memory = self.memory.load(SeqCst);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `prepare` mapped that many, zeroed, for good.
        unsafe { core::slice::from_raw_parts(memory, CAPACITY) }
    }

    /// Whether the helpers are known.
    pub(super) fn are_ready(&self) -> bool {
        self.library.load(SeqCst) != 0
    }

    /// Helpers are the methods of `module` in these ranges of tokens.
    pub(super) fn set_helpers(&self, module: usize, ranges: &[(u32, u32)]) {
        for (index, helper) in self.helpers.iter().enumerate() {
            let (first, last) = ranges.get(index).copied().unwrap_or((1, 0));
            helper.store(u64::from(first) << 32 | u64::from(last), SeqCst);
        }
        self.library.store(module, SeqCst);
    }

    fn is_helper(&self, module: usize, token: u32) -> bool {
        let within = |helper: &AtomicU64| {
            let range = helper.load(SeqCst);
            (range >> 32..=range & 0xffff_ffff).contains(&u64::from(token))
        };
        module == self.library.load(SeqCst) && self.helpers.iter().any(within)
    }

    /// The places where a method may be, with their numbers.
    fn chain(&self, function: usize) -> impl Iterator<Item = (u16, &Creator)> {
        let first = ((function as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize;
        (0..STEPS).filter_map(move |step| {
            let index = first.wrapping_add(step) & CAPACITY.wrapping_sub(1);
            Some((u16::try_from(index.wrapping_add(1)).ok()?, self.all().get(index)?))
        })
    }

    /// The place that a method has.
    fn find(&self, function: usize) -> Option<Place> {
        for (number, creator) in self.chain(function) {
            let life = creator.life.load(SeqCst);
            match creator.function.load(SeqCst) {
                0 => return None,
                found if found == function && creator.state.load(SeqCst) & GONE == 0 => {
                    return (creator.life.load(SeqCst) == life).then_some(Place { number, life });
                }
                _ => {}
            }
        }
        None
    }

    /// Takes a place for a method: a free one or that of one that was unloaded, else that of any other.
    fn take(&self, function: usize) -> Option<(Place, &Creator)> {
        for (number, creator) in self.chain(function) {
            if creator.function.compare_exchange(0, function, SeqCst, SeqCst).is_ok() {
                return Some((Place { number, life: creator.life.load(SeqCst) }, creator));
            }
            let state = creator.state.load(SeqCst);
            if state & GONE != 0
                && let Some(life) = creator.give_up(state, function)
            {
                return Some((Place { number, life }, creator));
            }
        }
        let turn = self.evicted.fetch_add(1, SeqCst).checked_rem(STEPS)?;
        let (number, creator) = self.chain(function).nth(turn)?;
        let life = creator.give_up(creator.state.load(SeqCst), function)?;
        Some((Place { number, life }, creator))
    }

    /// The method's place, new or old.
    ///
    /// # Safety
    /// `function` is a `FunctionID` that cannot be unloaded meanwhile.
    unsafe fn place(&self, info: Info, function: usize) -> Option<Place> {
        if let Some(place) = self.find(function) {
            return Some(place);
        }
        // Where another thread puts in the same one just now, it is there twice then.
        let (place, creator) = self.take(function)?;
        // SAFETY: by the contract.
        let state = match unsafe { info.function_info(function, &mut []) } {
            Ok(facts) if is_definition(facts.module, facts.token) => {
                creator.module.store(facts.module, SeqCst);
                creator.token.store(facts.token, SeqCst);
                let helper = if self.is_helper(facts.module, facts.token) { HELPER } else { 0 };
                let plain = facts.args == 0
                    && facts.class != 0
                    // SAFETY: a method keeps its class.
                    && unsafe { info.class_info(facts.class, &mut []) }.is_ok_and(|class| class.args == 0);
                KNOWN | helper | if plain { 0 } else { GENERIC }
            }
            _ => {
                creator.module.store(0, SeqCst);
                UNNAMED
            }
        };
        creator.state.store(state, SeqCst);
        Some(place)
    }

    /// The first of a thread's own frames that is no helper, where that is known.
    pub(super) fn of_stack(&self, info: Info) -> Option<Place> {
        if !self.are_ready() {
            return None;
        }
        let (mut frames, mut room) = ([0; FRAMES], [0; FRAMES]);
        for function in own_methods(info, &mut frames, &mut room)?.iter().copied() {
            if function == CODE_WITHOUT_METHOD {
                return None;
            }
            // SAFETY: its frame is on the calling thread's stack.
            let place = unsafe { self.place(info, function) }?;
            let state = self.get(place)?.state.load(SeqCst);
            if state & HELPER == 0 {
                return (state & KNOWN != 0).then_some(place);
            }
        }
        None
    }

    /// The creator at a place, if it is still there.
    fn get(&self, place: Place) -> Option<&Creator> {
        let creator = self.all().get(usize::from(place.number).checked_sub(1)?)?;
        (creator.life.load(SeqCst) == place.life).then_some(creator)
    }

    /// What is known of the method at a place, unless it was unloaded or lost it.
    pub(super) fn facts(&self, place: Place) -> Option<Facts> {
        let creator = self.get(place)?;
        let facts = Facts {
            function: creator.function.load(SeqCst),
            module: creator.module.load(SeqCst),
            token: creator.token.load(SeqCst),
        };
        let is_known = creator.state.load(SeqCst) & (KNOWN | GONE) == KNOWN;
        // Whoever takes a place begins a new life of it before it writes there.
        (is_known && creator.life.load(SeqCst) == place.life).then_some(facts)
    }

    /// A module goes: its methods, and those that may be made of its types, are not known any more.
    pub(super) fn unloaded(&self, module: usize) {
        for creator in self.all() {
            let _ = creator.state.fetch_update(SeqCst, SeqCst, |state| {
                // Where a thread is at it, its method is on that thread's stack and cannot go.
                let goes = state & GENERIC != 0 || creator.module.load(SeqCst) == module;
                (state != 0 && goes).then_some(state | GONE)
            });
        }
    }
}

impl Creator {
    /// Takes the place from the method that has it, and gives its new life.
    fn give_up(&self, state: u32, function: usize) -> Option<u32> {
        if state == 0 || self.state.compare_exchange(state, 0, SeqCst, SeqCst).is_err() {
            return None;
        }
        let life = self.life.fetch_add(1, SeqCst).wrapping_add(1);
        self.function.store(function, SeqCst);
        Some(life)
    }
}

impl Profiler {
    /// Finds the types that make handles for others, if this is their module.
    pub(super) fn find_helpers(&self, module: usize, metadata: &crate::metadata::Metadata) {
        const NAMES: [&str; HELPERS] = [
            "System.Runtime.InteropServices.GCHandle",
            "System.Runtime.InteropServices.GCHandle`1",
            "System.Runtime.InteropServices.PinnedGCHandle`1",
            "System.Runtime.InteropServices.WeakGCHandle`1",
            "System.Runtime.InteropServices.GCHandleExtensions",
            "System.WeakReference",
            "System.WeakReference`1",
            "System.Runtime.DependentHandle",
            "System.Runtime.CompilerServices.ConditionalWeakTable`2",
            "System.Memory`1",
            "System.ReadOnlyMemory`1",
            "System.Buffers.MemoryHandle",
        ];
        let mut ranges = [(1, 0); HELPERS];
        for (name, range) in NAMES.iter().zip(&mut ranges) {
            let name: [u16; 72] = crate::agent::text::utf16(name);
            if let Some(token) = metadata.find_type(crate::agent::text::terminated(&name))
                && let Some(methods) = metadata.method_range(token)
            {
                *range = methods;
            }
        }
        let [handle, ..] = ranges;
        if handle != (1, 0) {
            self.names.creators.set_helpers(module, &ranges);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn creators() -> Creators {
        let creators = Creators::new();
        assert!(creators.prepare());
        creators
    }

    /// As `place` does it, with facts that follow from the function.
    fn put(creators: &Creators, function: usize, module: usize) -> Place {
        let (place, creator) = creators.take(function).expect("there is always one");
        creator.module.store(module, SeqCst);
        creator.token.store(function as u32, SeqCst);
        creator.state.store(KNOWN, SeqCst);
        place
    }

    fn facts(function: usize, module: usize) -> Option<Facts> {
        Some(Facts { function, module, token: function as u32 })
    }

    #[test]
    fn places_are_used_again() {
        let creators = creators();
        for life in 0..20 {
            // Other functions each time, of modules that go one after the other.
            let functions = (1..=CAPACITY / 2).map(|number| (life * CAPACITY + number) * 8);
            let places: Vec<_> =
                functions.map(|function| (function, put(&creators, function, life))).collect();
            let known = places.iter().filter(|(f, place)| creators.facts(*place) == facts(*f, life)).count();
            assert!(known > CAPACITY / 2 * 9 / 10, "life {life}: {known}");
            creators.unloaded(life);
            assert!(places.iter().all(|(_, place)| creators.facts(*place).is_none()));
        }
    }

    #[test]
    fn who_lost_a_place_is_not_taken_for_who_has_it() {
        let creators = creators();
        let functions = (1..=3 * CAPACITY).map(|number| number * 8);
        let places: Vec<_> = functions.map(|function| (function, put(&creators, function, 1))).collect();
        for (function, place) in &places {
            let found = creators.facts(*place);
            assert!(found.is_none() || found == facts(*function, 1), "{found:?}");
        }
        let (function, place) = places[places.len() - 1];
        assert_eq!(creators.facts(place), facts(function, 1), "the last one has one");
        assert_eq!(creators.find(function), Some(place));
    }

    #[test]
    fn facts_are_whole_while_places_change_hands() {
        let creators = creators();
        let stop = core::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (creators, stop) = (&creators, &stop);
                scope.spawn(move || {
                    for number in (1..).take_while(|_| !stop.load(SeqCst)) {
                        let function = (number * 2 + thread) * 8;
                        put(creators, function, function ^ 1);
                    }
                });
            }
            for number in (1..=CAPACITY as u16).cycle().take(500_000) {
                let life = creators.all()[usize::from(number) - 1].life.load(SeqCst);
                if let Some(found) = creators.facts(Place { number, life }) {
                    assert_eq!(Some(found), facts(found.function, found.function ^ 1));
                }
            }
            stop.store(true, SeqCst);
        });
    }
}
