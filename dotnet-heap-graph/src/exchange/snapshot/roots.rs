//! Roots, dependent handles and static fields.

use super::payload::Payload;
use crate::format::{EdgeRecord, RootRecord};

/// The runtime's numbers of kinds of roots, in the event.
const STACK: u8 = 0;
const FINALIZER: u8 = 1;
const HANDLE: u8 = 2;

/// Flag of static fields of which each thread has one.
const THREAD: u32 = 1;

/// A static field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Static {
    /// The address of its reference.
    pub(super) slot: u64,
    pub(super) object: u64,
    pub(super) name: String,
    pub(super) is_thread: bool,
}

#[derive(Debug, Default)]
pub(super) struct Roots {
    pub(super) roots: Vec<RootRecord>,
    pub(super) edges: Vec<EdgeRecord>,
    pub(super) statics: Vec<Static>,
    next_root_block: u32,
    next_edge_block: u32,
    pub(super) missing_blocks: u64,
}

impl Roots {
    fn check(&mut self, index: u32, of_edges: bool) {
        let next = if of_edges { &mut self.next_edge_block } else { &mut self.next_root_block };
        let expected = std::mem::replace(next, index.wrapping_add(1));
        self.missing_blocks += u64::from(index.saturating_sub(expected));
    }

    /// Reads the event `GCBulkRootEdge`.
    pub(super) fn bulk_roots(&mut self, mut payload: Payload<'_>) -> Option<()> {
        let (index, count, _clr) = (payload.u32()?, payload.u32()?, payload.u16()?);
        self.check(index, false);
        for _root in 0..count {
            let (address, kind) = (payload.u64()?, payload.u8()?);
            let (flags, id) = (payload.u32()?, payload.u64()?);
            let kind = match kind {
                STACK => RootRecord::STACK,
                FINALIZER => RootRecord::FINALIZER,
                HANDLE => RootRecord::HANDLE,
                _ => RootRecord::OTHER,
            };
            // The flags are the same as those of the file.
            let known =
                RootRecord::PINNED | RootRecord::WEAK | RootRecord::INTERIOR | RootRecord::REFERENCE_COUNTED;
            self.roots.push(RootRecord { address, kind, flags: flags as u8 & known, id });
        }
        Some(())
    }

    /// Reads the event `GCBulkRootConditionalWeakTableElementEdge`.
    pub(super) fn bulk_dependent(&mut self, mut payload: Payload<'_>) -> Option<()> {
        let (index, count, _clr) = (payload.u32()?, payload.u32()?, payload.u16()?);
        self.check(index, true);
        for _edge in 0..count {
            let (from, to, id) = (payload.u64()?, payload.u64()?, payload.u64()?);
            if from != 0 && to != 0 {
                self.edges.push(EdgeRecord { from, to, kind: EdgeRecord::DEPENDENT, id });
            }
        }
        Some(())
    }

    /// Reads the event `GCBulkRootStaticVar`.
    pub(super) fn bulk_statics(&mut self, mut payload: Payload<'_>) -> Option<()> {
        let (count, _app_domain, _clr) = (payload.u32()?, payload.u64()?, payload.u16()?);
        for _field in 0..count {
            let (slot, object) = (payload.u64()?, payload.u64()?);
            // The type is that of the object, not the one that declares the field.
            let (_kind, flags, name) = (payload.u64()?, payload.u32()?, payload.text()?);
            self.statics.push(Static { slot, object, name, is_thread: flags & THREAD != 0 });
        }
        Some(())
    }
}
