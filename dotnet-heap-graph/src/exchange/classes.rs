//! Classes, while their objects are counted.

use crate::format::ClassRecord;

/// What is known of a class so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Draft {
    pub(super) id: u64,
    pub(super) flags: u32,
    pub(super) element: Option<u32>,
    size_units: u64,
    has_two_sizes: bool,
}

impl Draft {
    pub(super) fn new(id: u64, flags: u32) -> Self {
        Self { id, flags: flags | ClassRecord::UNPLACED, ..Self::default() }
    }

    /// Takes the size of an object into account.
    pub(super) fn saw(&mut self, size_units: u64) {
        if self.size_units == 0 {
            self.size_units = size_units;
        }
        self.has_two_sizes |= self.size_units != size_units;
    }

    pub(super) fn has_objects(&self) -> bool {
        self.size_units > 0
    }

    /// The record, once all objects were seen.
    pub(super) fn record(&self, index: u32) -> ClassRecord {
        let varies = self.has_two_sizes || self.flags & (ClassRecord::ARRAY | ClassRecord::VARIES) != 0;
        ClassRecord {
            index,
            id: self.id,
            flags: self.flags | if varies { ClassRecord::VARIES } else { 0 },
            size_units: if varies { 0 } else { self.size_units },
            parent: None,
            element: self.element,
        }
    }
}

/// A size in units of 8 bytes. Both formats have the sizes of strings and arrays without what the runtime rounds up.
pub(super) fn size_units(size_bytes: u64) -> u64 {
    size_bytes.div_ceil(8).max(1)
}
