//! The addresses of frames, and the methods whose code lies there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::code_events::CodeRange;
use super::frame::Method;

/// Different addresses that are kept. Large programs have some 10,000 in the stacks of a watch.
const MAX_ADDRESSES: usize = 1 << 17;

/// A process that ends unloads its collectible assemblies, and then lists its methods. No code comes to their place
/// meanwhile.
const END_OF_PROCESS_NS: u64 = 1_000_000_000;

/// The number of an address, for as long as the same code lies there.
pub(super) type AddressNumber = u32;

/// Addresses by number. When other code comes to an address, it gets another number.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    current: BTreeMap<u64, AddressNumber>,
    /// Those that no event has named yet and that one may still name. What has its name is not looked at again, so many
    /// events for the same place take no more time than few.
    nameless: BTreeSet<(u64, AddressNumber)>,
    /// Those of `nameless` from before an assembly was unloaded, and when that was.
    before_unload: Vec<(u64, AddressNumber)>,
    unloaded_ns: Option<u64>,
    /// By number; `None`: no event has told yet whose code it is.
    methods: Vec<Option<Method>>,
}

impl Addresses {
    /// The number of an address; `None`: there is no room for another one.
    pub(super) fn number(&mut self, address: u64) -> Option<AddressNumber> {
        if let Some(number) = self.current.get(&address) {
            return Some(*number);
        }
        if self.methods.len() >= MAX_ADDRESSES {
            return None;
        }
        let number = self.methods.len() as AddressNumber;
        self.methods.push(None);
        self.current.insert(address, number);
        self.nameless.insert((address, number));
        Some(number)
    }

    /// Other code comes to this place, or what is there goes: the numbers so far never meet what comes later.
    pub(super) fn replaced(&mut self, range: CodeRange) {
        let Some((first, end)) = behind_calls(range) else { return };
        let gone: Vec<u64> = self.current.range(first..=end).map(|(address, _)| *address).collect();
        for address in gone {
            self.current.remove(&address);
        }
        self.take_nameless(range);
    }

    /// An assembly was unloaded, no event says from where: other code may come to any address so far.
    pub(super) fn unloaded(&mut self, at_ns: u64) {
        if self.unloaded_ns.is_none_or(|before_ns| at_ns.saturating_sub(before_ns) > END_OF_PROCESS_NS) {
            self.forget_before_unload();
            self.before_unload.extend(&self.nameless);
            self.current.clear();
            self.unloaded_ns = Some(at_ns);
        }
    }

    /// The runtime lists its methods. If an assembly was unloaded long before, the addresses from before it get no name.
    pub(super) fn listed(&mut self, at_ns: u64) {
        if self.unloaded_ns.is_some_and(|before_ns| at_ns.saturating_sub(before_ns) > END_OF_PROCESS_NS) {
            self.forget_before_unload();
        }
        self.unloaded_ns = None;
    }

    fn forget_before_unload(&mut self) {
        for place in self.before_unload.drain(..) {
            self.nameless.remove(&place);
        }
    }

    /// Whether any address lies in this code and has no method yet.
    pub(super) fn wanted(&self, range: CodeRange) -> bool {
        let places = behind_calls(range).map(places);
        places.is_some_and(|places| self.nameless.range(places).next().is_some())
    }

    /// The method whose code is at this place.
    pub(super) fn name(&mut self, range: CodeRange, method: &Method) {
        for number in self.take_nameless(range) {
            if let Some(known) = self.methods.get_mut(number as usize) {
                *known = Some(method.clone());
            }
        }
    }

    pub(super) fn method(&self, number: AddressNumber) -> Option<&Method> {
        self.methods.get(number as usize)?.as_ref()
    }

    /// All of them, for what is decided when all is known.
    pub(super) fn methods_mut(&mut self) -> impl Iterator<Item = &mut Method> {
        self.methods.iter_mut().flatten()
    }

    fn take_nameless(&mut self, range: CodeRange) -> Vec<AddressNumber> {
        let Some(addresses) = behind_calls(range) else { return Vec::new() };
        let taken: Vec<(u64, AddressNumber)> = self.nameless.range(places(addresses)).copied().collect();
        for place in &taken {
            self.nameless.remove(place);
        }
        taken.into_iter().map(|(_, number)| number).collect()
    }
}

/// The first and the last address behind a call in this code. A frame has the address behind its call, so that of a call at
/// the end of a method is the first one behind it.
fn behind_calls(range: CodeRange) -> Option<(u64, u64)> {
    let CodeRange { start, bytes } = range;
    let (first, end) = (start.saturating_add(1), start.saturating_add(u64::from(bytes)));
    (first <= end).then_some((first, end))
}

fn places((first, end): (u64, u64)) -> RangeInclusive<(u64, AddressNumber)> {
    (first, 0)..=(end, AddressNumber::MAX)
}
