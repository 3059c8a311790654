//! Handles that were allocated while the profiler was loaded: their kind, and the method that allocated them as far as
//! there was time to look it up.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use super::allocated_by::Place;
use super::pace::Pace;
use crate::agent::table::{Atomics, Table};

/// Size of the table; a power of two.
const CAPACITY: usize = 65_536;
/// How many places a search looks at. Freed places do not end a search, so in time every search for an unknown handle
/// looks at all of them, for each of thousands of roots.
const STEPS: usize = 16;
/// How many handles that are neighbours in the runtime's tables are neighbours here.
const PAGE: usize = 512;
/// Address of a place that was used and is free again.
const FREED: u64 = 1;

#[derive(Debug)]
struct Handle {
    address: AtomicU64,
    /// [`Allocation::packed`]; 0: unknown.
    allocation: AtomicU64,
}

// SAFETY: atomics only.
unsafe impl Atomics for Handle {}

/// How a handle was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allocation {
    /// [`HandleKind`](crate::wire::HandleKind).
    pub(super) kind: u8,
    pub(super) allocated_by: Option<Place>,
}

impl Allocation {
    /// 16 bits kind plus one, 16 bits number of the method's place or 0, 32 bits version of the place.
    fn packed(self) -> u64 {
        let (number, version) = self.allocated_by.map_or((0, 0), |place| (place.number, place.version));
        u64::from(version) << 32 | u64::from(number) << 16 | u64::from(self.kind).wrapping_add(1)
    }

    fn unpacked(packed: u64) -> Option<Self> {
        let kind = u8::try_from((packed & 0xffff).checked_sub(1)?).ok()?;
        let place = Place { number: (packed >> 16) as u16, version: (packed >> 32) as u32 };
        Some(Self { kind, allocated_by: (place.number != 0).then_some(place) })
    }
}

zeroed! {
    #[derive(Debug)]
    pub(super) struct Handles {
        table: Table<Handle, CAPACITY>,
        /// The in-process session for handle events; 0: none.
        pub(super) session: AtomicU64,
        /// Whether a thread is stopping the session.
        pub(super) is_stopping: AtomicBool,
        pub(super) pace: Pace,
    }
}

impl Handles {
    pub(super) fn prepare(&self) -> bool {
        if !self.table.map() {
            return false;
        }
        for handle in self.table.all().iter().filter(|handle| handle.address.load(SeqCst) != 0) {
            handle.address.store(0, SeqCst);
        }
        self.session.store(0, SeqCst);
        true
    }

    pub(super) fn is_session_stopping(&self) -> bool {
        self.is_stopping.load(SeqCst)
    }

    /// The places where a handle may be. Neighbouring handles have neighbouring places: the runtime reports roots in
    /// the order of their handles, so that most look-ups hit the cache.
    fn places(&self, address: u64) -> impl Iterator<Item = &Handle> {
        let handle = address >> 3;
        let page = (handle >> PAGE.trailing_zeros()).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let first = (page as usize).wrapping_mul(PAGE) | handle as usize & PAGE.wrapping_sub(1);
        let all = self.table.all();
        (0..STEPS).filter_map(move |step| {
            all.get(first.wrapping_add(step.wrapping_mul(PAGE)) & CAPACITY.wrapping_sub(1))
        })
    }

    fn find(&self, address: u64) -> Option<&Handle> {
        for handle in self.places(address) {
            match handle.address.load(SeqCst) {
                0 => return None,
                found if found == address => return Some(handle),
                _ => {}
            }
        }
        None
    }

    pub(super) fn add(&self, address: u64, allocation: Allocation) {
        let allocation = allocation.packed();
        if address <= FREED {
            return;
        }
        // The event of the older handle's end was lost.
        if let Some(handle) = self.find(address) {
            handle.allocation.store(allocation, SeqCst);
            return;
        }
        for handle in self.places(address) {
            let found = handle.address.load(SeqCst);
            if found <= FREED && handle.address.compare_exchange(found, address, SeqCst, SeqCst).is_ok() {
                handle.allocation.store(allocation, SeqCst);
                return;
            }
        }
    }

    pub(super) fn remove(&self, address: u64) {
        if let Some(handle) = self.find(address).filter(|_| address > FREED) {
            handle.allocation.store(0, SeqCst);
            handle.address.store(FREED, SeqCst);
        }
    }

    /// How a handle was allocated, if that was seen.
    pub(super) fn allocation(&self, address: u64) -> Option<Allocation> {
        // In a storm the table is out of date, because events are ignored.
        if self.pace.is_storm() {
            return None;
        }
        Allocation::unpacked(self.find(address)?.allocation.load(SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::zero::Zero;

    fn handles() -> Handles {
        let handles = Handles::ZERO;
        assert!(handles.prepare());
        handles
    }

    fn allocation(kind: u8, number: u16) -> Allocation {
        let place = Place { number, version: u32::from(number) << 16 | 5 };
        Allocation { kind, allocated_by: (number != 0).then_some(place) }
    }

    #[test]
    fn a_handle_is_known_from_its_allocation_to_its_end() {
        let handles = handles();
        for round in 0..5_u16 {
            for address in (0x7f00_0000..0x7f00_0000 + 8 * 20_000).step_by(8) {
                handles.add(address, allocation(3, round));
                assert_eq!(handles.allocation(address), Some(allocation(3, round)));
            }
            for address in (0x7f00_0000..0x7f00_0000 + 8 * 20_000).step_by(8) {
                handles.remove(address);
                assert_eq!(handles.allocation(address), None);
            }
        }
        handles.add(0x1000, allocation(0, 7));
        handles.add(0x1000, allocation(2, 8));
        assert_eq!(handles.allocation(0x1000), Some(allocation(2, 8)), "the event of its end was lost");
        handles.remove(0x1000);
        assert_eq!(handles.allocation(0x1000), None);
    }

    #[test]
    fn more_than_there_is_room_for_are_unknown() {
        let handles = handles();
        let all = (0x10..).step_by(8).take(2 * CAPACITY);
        all.clone().for_each(|address| handles.add(address, allocation(2, 1)));
        let known = all.clone().filter(|address| handles.allocation(*address).is_some()).count();
        assert!(known > CAPACITY / 10 * 8 && known <= CAPACITY, "{known}");
        all.for_each(|address| handles.remove(address));
        handles.add(0x40, allocation(1, 2));
        assert_eq!(handles.allocation(0x40), Some(allocation(1, 2)));
    }

    /// Handles are allocated and freed at ever new addresses.
    #[test]
    fn places_do_not_wear_out() {
        let handles = handles();
        for address in (0x7f00_0000_u64..).step_by(8).take(20 * CAPACITY) {
            handles.add(address, allocation(2, 1));
            assert_eq!(handles.allocation(address), Some(allocation(2, 1)));
            handles.remove(address);
        }
    }
}
