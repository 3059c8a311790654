//! The places of static fields.
//!
//! The runtime keeps the references of static fields in arrays of objects on the heap, and tells the address of each. So of
//! these arrays it is known where some references are.

use std::collections::{HashMap, HashSet, VecDeque};

use super::roots::Static;
use crate::format::Reference;

/// Where the elements of an array start.
const ELEMENTS_OFFSET_BYTES: u64 = 16;

/// All static fields of a snapshot.
#[derive(Debug)]
pub(super) struct Statics {
    /// In the order of their slots, each once.
    all: Vec<Static>,
    /// Of each: whether an object has its slot.
    is_placed: Vec<bool>,
}

impl Statics {
    pub(super) fn new(mut all: Vec<Static>) -> Self {
        all.sort_by_key(|field| field.slot);
        all.dedup_by_key(|field| field.slot);
        Self { is_placed: vec![false; all.len()], all }
    }

    pub(super) fn all(&self) -> &[Static] {
        &self.all
    }

    /// Those that no object of the heap has.
    pub(super) fn unplaced(&self) -> impl Iterator<Item = &Static> {
        self.all.iter().zip(&self.is_placed).filter(|(_, is_placed)| !**is_placed).map(|(field, _)| field)
    }

    /// Puts the references of an array to the places of the static fields in it. The others get places between, in their
    /// order. `false` if there is no static field in it.
    pub(super) fn place(
        &mut self,
        address: u64,
        size_bytes: u64,
        targets: &[u64],
        out: &mut Vec<Reference>,
    ) -> bool {
        let first = address.saturating_add(ELEMENTS_OFFSET_BYTES);
        let start = self.all.partition_point(|field| field.slot < first);
        let end = self.all.partition_point(|field| field.slot < address.saturating_add(size_bytes));
        if start >= end {
            return false;
        }
        let fields = self.all.iter().zip(&mut self.is_placed).skip(start).take(end - start);
        let offsets = offsets(address, targets, fields);
        fill(targets, &offsets, out);
        true
    }
}

/// Of each reference the offset, if it is that of a static field. Both come in the order of their places.
fn offsets<'a>(
    address: u64,
    targets: &[u64],
    fields: impl Iterator<Item = (&'a Static, &'a mut bool)>,
) -> Vec<Option<u64>> {
    let mut left: HashMap<u64, u32> = HashMap::new();
    targets.iter().for_each(|target| *left.entry(*target).or_default() += 1);
    let mut offsets = vec![None; targets.len()];
    let mut places = targets.iter().zip(&mut offsets);
    for (field, is_placed) in fields.filter(|(field, _)| field.slot.is_multiple_of(8)) {
        // A field whose object does not follow has another place than the runtime says.
        while left.get(&field.object).is_some_and(|count| *count > 0)
            && let Some((target, place)) = places.next()
        {
            left.entry(*target).and_modify(|count| *count -= 1);
            if *target == field.object {
                *place = Some(field.slot - address);
                *is_placed = true;
                break;
            }
        }
    }
    offsets
}

/// Gives the other references places that no static field has.
fn fill(targets: &[u64], offsets: &[Option<u64>], out: &mut Vec<Reference>) {
    let taken: HashSet<u64> = offsets.iter().flatten().copied().collect();
    let mut waiting = VecDeque::new();
    let mut free = ELEMENTS_OFFSET_BYTES;
    for (target, offset_bytes) in targets.iter().zip(offsets) {
        match offset_bytes {
            None => waiting.push_back(*target),
            Some(end) => {
                while free < *end {
                    let Some(target) = waiting.pop_front() else { break };
                    out.push(Reference { offset_bytes: free, target });
                    free += 8;
                }
                free = end + 8;
                out.push(Reference { offset_bytes: *end, target: *target });
            }
        }
    }
    for target in waiting {
        while taken.contains(&free) {
            free += 8;
        }
        out.push(Reference { offset_bytes: free, target });
        free += 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(slot: u64, object: u64) -> Static {
        Static { slot, object, name: format!("f{slot}"), is_thread: false }
    }

    #[test]
    fn references_go_to_the_slots() {
        let mut statics = Statics::new(vec![
            field(0x1020, 0x30),
            field(0x1010, 0x20),
            field(0x1028, 0x20),
            field(0x2000, 0x20),
            field(0x1018, 0x99),
        ]);
        let mut out = Vec::new();
        assert!(statics.place(0x1000, 64, &[0x20, 0x70, 0x30, 0x20, 0x80], &mut out));
        let out: Vec<_> = out.iter().map(|reference| (reference.offset_bytes, reference.target)).collect();
        assert_eq!(out, [(0x10, 0x20), (0x18, 0x70), (0x20, 0x30), (0x28, 0x20), (0x30, 0x80)]);
        let unplaced: Vec<_> = statics.unplaced().map(|field| field.slot).collect();
        assert_eq!(unplaced, [0x1018, 0x2000]);
        assert!(!statics.place(0x3000, 64, &[0x20], &mut Vec::new()));
    }
}
