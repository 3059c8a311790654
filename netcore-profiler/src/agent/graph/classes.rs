//! The classes of the objects: each gets an index when it is first seen.

use super::buffer::Room;
use crate::info::FieldOffset;

/// Places in the table, a power of two, and how many are used at most.
const PLACES: usize = 1 << 18;
const MAX_CLASSES: usize = PLACES / 4 * 3;
const MAX_FIELDS: usize = 512;

pub(super) const ARRAY: u64 = 1;
pub(super) const STRING: u64 = 2;
pub(super) const VARIES: u64 = 4;
pub(super) const OF_REFERENCES: u64 = 8;

/// A class that was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Known {
    pub(super) id: usize,
    pub(super) index: u32,
    /// Size of its objects in words; 0: it varies, or none was seen.
    pub(super) words: u32,
    pub(super) flags: u8,
    /// What it is was sent.
    pub(super) told: bool,
    /// It has an index in the file.
    pub(super) numbered: bool,
}

impl Known {
    pub(super) fn varies(self) -> bool {
        u64::from(self.flags) & VARIES != 0
    }

    pub(super) fn is_array(self) -> bool {
        u64::from(self.flags) & ARRAY != 0
    }

    pub(super) fn is_string(self) -> bool {
        u64::from(self.flags) & STRING != 0
    }

    /// Whether an object of this size fits what was sent of the class.
    pub(super) fn serves(self, words: u32) -> bool {
        self.numbered && (self.varies() || words == 0 || self.words != 0)
    }
}

/// All classes that were seen.
#[derive(Debug)]
pub(super) struct Classes {
    places: &'static mut [Known],
    used: usize,
    /// The class of the last object.
    pub(super) last: Known,
    pub(super) count: u32,
    pub(super) fields: &'static mut [FieldOffset],
}

impl Classes {
    pub(super) fn new(room: &mut Room) -> Option<Self> {
        let places = room.take(PLACES.saturating_mul(size_of::<Known>()))?;
        let fields = room.take(MAX_FIELDS.saturating_mul(size_of::<FieldOffset>()))?;
        // SAFETY: parts of these lengths. Zeros are valid values, and nobody else has the pointers.
        let (places, fields) = unsafe {
            (
                core::slice::from_raw_parts_mut(places.cast().as_ptr(), PLACES),
                core::slice::from_raw_parts_mut(fields.cast().as_ptr(), MAX_FIELDS),
            )
        };
        Some(Self { places, used: 0, last: Known::default(), count: 0, fields })
    }

    /// The place of a class, which may be free. `None`: there are too many classes.
    pub(super) fn place(&mut self, id: usize) -> Option<&mut Known> {
        let mask = PLACES.wrapping_sub(1);
        let mut at = (id >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 46 & mask;
        loop {
            let place = *self.places.get(at)?;
            if place.id == id {
                break;
            }
            if place.id == 0 {
                if self.used >= MAX_CLASSES {
                    return None;
                }
                self.used = self.used.saturating_add(1);
                break;
            }
            at = at.wrapping_add(1) & mask;
        }
        let place = self.places.get_mut(at)?;
        place.id = id;
        Some(place)
    }

    pub(super) fn next_index(&mut self) -> u32 {
        let index = self.count;
        self.count = self.count.saturating_add(1);
        index
    }
}
