//! Objects and their references, which come in separate blocks.

use std::collections::VecDeque;

use super::kinds::Kinds;
use super::payload::Payload;
use crate::exchange::classes::size_units;
use crate::format::bytes::{Bytes, put_signed, put_varint, unzigzag};

/// An object of the snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) address: u64,
    pub(super) size_bytes: u64,
    /// Index of its class.
    pub(super) class: u32,
}

/// The objects so far.
#[derive(Debug, Default)]
pub(super) struct Heap {
    /// Complete objects, each with its references, in few bytes.
    log: Vec<u8>,
    last_address: u64,
    /// Objects that wait for references, and how many they have in all.
    waiting: VecDeque<(Object, u64)>,
    /// References so far of the object that has waited longest.
    collected: Vec<u64>,
    /// References that have come before their object.
    early: VecDeque<u64>,
    next_node_block: u32,
    next_edge_block: u32,
    /// A block of objects is missing: nobody knows which references are of the objects behind it.
    lost_nodes: bool,
    /// A block of references is missing, so no further reference can be assigned.
    lost_edges: bool,
    pub(super) has_objects: bool,
    pub(super) missing_blocks: u64,
    /// Objects whose references are not all known.
    pub(super) objects_without_references: u64,
    /// References to addresses where no object can be.
    pub(super) impossible: u64,
}

/// Whether a block follows the last one of its kind; counts those that are missing.
fn follows(index: u32, next: &mut u32, missing: &mut u64) -> bool {
    let expected = std::mem::replace(next, index.wrapping_add(1));
    *missing += u64::from(index.saturating_sub(expected));
    index == expected
}

impl Heap {
    /// Reads the event `GCBulkNode`.
    pub(super) fn nodes(&mut self, mut payload: Payload<'_>, kinds: &mut Kinds) -> Option<()> {
        let (index, count, _clr) = (payload.u32()?, payload.u32()?, payload.u16()?);
        self.has_objects = true;
        self.lost_nodes |= !follows(index, &mut self.next_node_block, &mut self.missing_blocks);
        for _node in 0..count {
            let (address, size_bytes) = (payload.u64()?, payload.u64()?);
            let (kind, references) = (payload.u64()?, payload.u64()?);
            let class = kinds.index(kind);
            kinds.saw(class, size_units(size_bytes));
            let object = Object { address, size_bytes, class };
            if self.lost_nodes {
                // It comes before those that still wait, which does not matter.
                self.objects_without_references += u64::from(references > 0);
                self.store(object, &[]);
            } else if references == 0 && self.waiting.is_empty() {
                self.store(object, &[]);
            } else {
                self.waiting.push_back((object, references));
                self.assign();
            }
        }
        Some(())
    }

    /// Reads the event `GCBulkEdge`.
    pub(super) fn edges(&mut self, mut payload: Payload<'_>) -> Option<()> {
        let (index, count, _clr) = (payload.u32()?, payload.u32()?, payload.u16()?);
        self.lost_edges |= !follows(index, &mut self.next_edge_block, &mut self.missing_blocks);
        if self.lost_edges {
            return Some(());
        }
        for _edge in 0..count {
            let (target, _field) = (payload.u64()?, payload.u32()?);
            match self.waiting.front() {
                Some((_, references)) => {
                    self.collected.push(target);
                    if self.collected.len() as u64 >= *references {
                        self.complete();
                    }
                }
                None if self.lost_nodes => {}
                None => self.early.push_back(target),
            }
        }
        Some(())
    }

    /// Gives references that came early to the objects that wait.
    fn assign(&mut self) {
        while let Some((_, references)) = self.waiting.front() {
            let missing = references.saturating_sub(self.collected.len() as u64);
            let known = usize::try_from(missing).unwrap_or(usize::MAX).min(self.early.len());
            self.collected.extend(self.early.drain(..known));
            if (known as u64) < missing {
                return;
            }
            self.complete();
        }
    }

    /// Stores the object that has waited longest.
    fn complete(&mut self) {
        if let Some((object, _)) = self.waiting.pop_front() {
            let mut references = std::mem::take(&mut self.collected);
            self.store(object, &references);
            references.clear();
            self.collected = references;
        }
        // Objects without references may wait behind it.
        while let Some((object, 0)) = self.waiting.front().copied() {
            self.waiting.pop_front();
            self.store(object, &[]);
        }
    }

    fn store(&mut self, object: Object, references: &[u64]) {
        let possible = |target: &&u64| **target != 0 && target.is_multiple_of(8);
        let count = references.iter().filter(possible).count();
        self.impossible += (references.len() - count) as u64;
        put_varint(&mut self.log, object.class.into());
        put_signed(&mut self.log, object.address.wrapping_sub(self.last_address).cast_signed());
        put_varint(&mut self.log, object.size_bytes);
        put_varint(&mut self.log, count as u64);
        for target in references.iter().filter(possible) {
            put_signed(&mut self.log, target.wrapping_sub(object.address).cast_signed());
        }
        self.last_address = object.address;
    }

    /// Stores the objects that wait for references in vain.
    pub(super) fn end(&mut self) {
        let unknown = self.waiting.iter().filter(|(_, references)| *references > 0).count();
        self.objects_without_references += unknown as u64;
        while !self.waiting.is_empty() {
            self.complete();
        }
        // The objects of these references were in a block at the end.
        self.missing_blocks += u64::from(!self.early.is_empty());
        self.early = VecDeque::new();
    }

    /// Calls `each` with all objects and their references, in the order in which they came.
    pub(super) fn for_each<E>(&self, mut each: impl FnMut(Object, &[u64]) -> Result<(), E>) -> Result<(), E> {
        let mut log = Bytes::new(&self.log);
        let (mut last_address, mut references) = (0_u64, Vec::new());
        while let Some(object) = next(&mut log, &mut last_address, &mut references) {
            each(object, &references)?;
        }
        Ok(())
    }
}

/// The next object of the log. `None` at its end.
fn next(log: &mut Bytes<'_>, last_address: &mut u64, references: &mut Vec<u64>) -> Option<Object> {
    let class = log.varint().ok()? as u32;
    let address = last_address.wrapping_add_signed(unzigzag(log.varint().ok()?));
    *last_address = address;
    let size_bytes = log.varint().ok()?;
    references.clear();
    for _reference in 0..log.varint().ok()? {
        references.push(address.wrapping_add_signed(unzigzag(log.varint().ok()?)));
    }
    Some(Object { address, size_bytes, class })
}
