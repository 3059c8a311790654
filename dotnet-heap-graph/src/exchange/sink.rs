//! Writes objects that come from elsewhere, and counts them.

use std::io::Write;

use super::counts::Counts;
use super::error::Result;
use crate::format::{ClassRecord, EdgeRecord, GraphWriter, ObjectRecord, Reference, RootRecord};

/// No heap is larger.
const MAX_HEAP_BYTES: u64 = 1 << 60;

pub(super) struct Sink<'a, W> {
    pub(super) writer: &'a mut GraphWriter<W>,
    pub(super) counts: Counts,
}

/// Whether an object can be at this address.
pub(super) fn is_possible(address: u64) -> bool {
    address != 0 && address.is_multiple_of(8)
}

impl<'a, W: Write> Sink<'a, W> {
    pub(super) fn new(writer: &'a mut GraphWriter<W>) -> Self {
        Self { writer, counts: Counts::default() }
    }

    pub(super) fn class(&mut self, class: &ClassRecord) -> Result<()> {
        self.counts.classes += 1;
        Ok(self.writer.class(class)?)
    }

    /// Writes an object, unless its address or size cannot be. The targets are multiples of 8.
    pub(super) fn object(
        &mut self,
        class: &ClassRecord,
        object: &ObjectRecord,
        references: &[Reference],
    ) -> Result<()> {
        let size_bytes = object.size_units.saturating_mul(8);
        let object_bytes = self.counts.object_bytes.saturating_add(size_bytes);
        let fits = object.address.checked_add(size_bytes).is_some() && object_bytes <= MAX_HEAP_BYTES;
        if !is_possible(object.address) || !fits {
            self.counts.impossible += 1;
            return Ok(());
        }
        self.counts.objects += 1;
        self.counts.object_bytes = object_bytes;
        self.counts.references += references.len() as u64;
        Ok(self.writer.object(class, object, references)?)
    }

    /// Writes a root, unless there can be no object at its address. A root without an object is none.
    pub(super) fn root(&mut self, root: &RootRecord) -> Result<()> {
        if root.address == 0 {
            return Ok(());
        }
        self.counts.roots += 1;
        Ok(self.writer.root(root)?)
    }

    pub(super) fn edge(&mut self, edge: &EdgeRecord) -> Result<()> {
        self.counts.edges += 1;
        Ok(self.writer.edge(edge)?)
    }
}
