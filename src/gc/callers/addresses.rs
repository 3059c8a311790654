//! The addresses of frames, and the methods whose code lies there.

use std::collections::BTreeMap;

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
    /// Those from before an assembly was unloaded, and when that was.
    before_unload: BTreeMap<u64, AddressNumber>,
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
        Some(number)
    }

    /// Other code comes to this place, or what is there goes: the numbers so far never meet what comes later.
    pub(super) fn replaced(&mut self, range: CodeRange) {
        let gone: Vec<u64> = self.within(range).map(|(address, _)| address).collect();
        for address in gone {
            self.current.remove(&address);
            self.before_unload.remove(&address);
        }
    }

    /// An assembly was unloaded, no event says from where: other code may come to any address so far.
    pub(super) fn unloaded(&mut self, at_ns: u64) {
        if self.unloaded_ns.is_none_or(|before_ns| at_ns.saturating_sub(before_ns) > END_OF_PROCESS_NS) {
            self.before_unload = std::mem::take(&mut self.current);
            self.unloaded_ns = Some(at_ns);
        }
    }

    /// The runtime lists its methods. If an assembly was unloaded long before, the addresses from before it get no name.
    pub(super) fn listed(&mut self, at_ns: u64) {
        if self.unloaded_ns.is_some_and(|before_ns| at_ns.saturating_sub(before_ns) > END_OF_PROCESS_NS) {
            self.before_unload.clear();
        }
        self.unloaded_ns = None;
    }

    /// Whether any address lies in this code and has no method yet.
    pub(super) fn wanted(&self, range: CodeRange) -> bool {
        self.within(range).any(|(_, number)| self.method(number).is_none())
    }

    /// The method whose code is at this place.
    pub(super) fn name(&mut self, range: CodeRange, method: &Method) {
        let numbers: Vec<AddressNumber> = self.within(range).map(|(_, number)| number).collect();
        for number in numbers {
            if let Some(known) = self.methods.get_mut(number as usize) {
                known.get_or_insert_with(|| method.clone());
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

    /// A frame has the address behind its call, so that of a call at the end of a method is the first one behind it.
    fn within(&self, range: CodeRange) -> impl Iterator<Item = (u64, AddressNumber)> {
        let CodeRange { start, bytes } = range;
        let end = start.saturating_add(u64::from(bytes));
        let first = start.saturating_add(1);
        let places = [&self.current, &self.before_unload];
        let there =
            places.into_iter().filter(move |_| first <= end).flat_map(move |of| of.range(first..=end));
        there.map(|(address, number)| (*address, *number))
    }
}
