//! Addresses within objects, and what is found at them.

use std::collections::HashMap;
use std::ops::Range;

/// Addresses that are looked for.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Sorted.
    addresses: Vec<u64>,
    found: HashMap<u64, u32>,
}

impl Slots {
    pub(super) fn new(mut addresses: Vec<u64>) -> Self {
        addresses.sort_unstable();
        addresses.dedup();
        Self { addresses, found: HashMap::new() }
    }

    /// Tells that a number belongs to an address, if it is looked for.
    pub(super) fn found(&mut self, address: u64, number: u32) {
        let (Some(first), Some(last)) = (self.addresses.first(), self.addresses.last()) else { return };
        if (*first..=*last).contains(&address) && self.addresses.binary_search(&address).is_ok() {
            self.found.insert(address, number);
        }
    }

    /// Tells that a number belongs to all addresses of a range.
    pub(super) fn found_all(&mut self, range: Range<u64>, number: u32) {
        let start = self.addresses.partition_point(|slot| *slot < range.start);
        for slot in self.addresses.iter().skip(start).take_while(|slot| range.contains(slot)) {
            self.found.insert(*slot, number);
        }
    }

    pub(super) fn get(&self, address: u64) -> Option<u32> {
        self.found.get(&address).copied()
    }
}
