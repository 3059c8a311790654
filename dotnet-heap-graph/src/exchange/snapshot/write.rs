//! Writes a snapshot.

use std::io::Write;

use super::collector::Snapshot;
use super::statics::Statics;
use super::text::type_name;
use crate::exchange::classes::size_units;
use crate::exchange::names::NamesOut;
use crate::exchange::sink::Sink;
use crate::exchange::{Counts, Error, Result};
use crate::format::{ClassRecord, GraphWriter, ObjectRecord, Reference, RootRecord};

/// How whole a snapshot is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Taken {
    /// The process, if the stream tells it.
    pub process_id: Option<u32>,
    /// The number of its collection in the process. `None`: its start was lost.
    pub gc_number: Option<u32>,
    /// Whether the end of the collection was seen. If not, the stream ended before.
    pub is_complete: bool,
    /// How many snapshots the stream has.
    pub snapshots: u32,
    /// Events that are missing anywhere in the stream.
    pub lost_events: u64,
    /// Blocks of objects, references or roots that are missing in the snapshot, as far as their numbers tell.
    pub missing_blocks: u64,
    /// Objects whose references are not all known, because blocks are missing.
    pub objects_without_references: u64,
    /// Classes whose name is unknown, because their description is missing.
    pub classes_without_name: u64,
    /// Events whose data ends too early, and damaged parts of the stream.
    pub damaged: u64,
}

impl Taken {
    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        let Self { missing_blocks, objects_without_references, classes_without_name, damaged, .. } = *self;
        let missing =
            [self.lost_events, missing_blocks, objects_without_references, classes_without_name, damaged];
        self.is_complete && missing == [0; 5]
    }
}

impl Snapshot {
    /// Writes the snapshot that was wanted: classes, objects, references, roots, dependent handles, and the ranges of the
    /// generations if the session asked for them. `INFO` and the end of the file are left to the caller.
    ///
    /// The places of static fields are known where the runtime keeps them in arrays of the heap. All others are roots of the
    /// kind [`RootRecord::STATIC`]. The names of static fields are without that of their class, which the runtime does not
    /// tell.
    ///
    /// # Errors
    /// [`Error::NoSnapshot`] if there was no such snapshot; or the file cannot be written.
    pub fn write<W: Write>(self, writer: &mut GraphWriter<W>) -> Result<(Taken, Counts)> {
        self.write_with(writer, &type_name)
    }

    /// The same, with other names of types: `name` makes them of the runtime's, such as ``List`1[System.String]``.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_with<W: Write>(
        mut self,
        writer: &mut GraphWriter<W>,
        name: &dyn Fn(&str) -> String,
    ) -> Result<(Taken, Counts)> {
        if !self.content.heap.has_objects {
            return Err(Error::NoSnapshot { found: self.count() });
        }
        self.content.heap.end();
        self.content.kinds.complete();
        let mut sink = Sink::new(writer);
        let drafts = &self.content.kinds.drafts;
        let records: Vec<ClassRecord> = (0..).zip(drafts).map(|(index, draft)| draft.record(index)).collect();
        records.iter().try_for_each(|record| sink.class(record))?;
        let classes_without_name = self.write_class_names(sink.writer, &records, name)?;
        self.write_objects(&mut sink, &records)?;
        self.write_method_names(sink.writer)?;

        let content = &self.content;
        content.ranges.iter().try_for_each(|range| sink.writer.range(range))?;
        sink.counts.impossible += content.heap.impossible;
        let taken = Taken {
            process_id: None,
            gc_number: content.gc_number,
            is_complete: content.is_complete,
            snapshots: self.count(),
            lost_events: self.lost_events,
            missing_blocks: content.heap.missing_blocks.saturating_add(content.roots.missing_blocks),
            objects_without_references: content.heap.objects_without_references,
            classes_without_name,
            damaged: self.damaged_payloads,
        };
        Ok((taken, sink.counts))
    }

    /// Returns how many have no name.
    fn write_class_names<W: Write>(
        &self,
        writer: &mut GraphWriter<W>,
        records: &[ClassRecord],
        name: &dyn Fn(&str) -> String,
    ) -> Result<u64> {
        let mut names = NamesOut::new(writer);
        let mut nameless = 0;
        for record in records {
            let kind = self.content.kinds.get(record.id).filter(|kind| !kind.name.is_empty());
            match kind {
                Some(kind) => {
                    names.class(record.index, name(&kind.name), self.modules.get(&kind.module).cloned())?;
                }
                None => nameless += 1,
            }
        }
        names.flush()?;
        Ok(nameless)
    }

    fn write_method_names<W: Write>(&self, writer: &mut GraphWriter<W>) -> Result<()> {
        let mut names = NamesOut::new(writer);
        for (id, name) in self.methods.iter().filter(|(_, name)| !name.is_empty()) {
            names.method(*id, name.clone())?;
        }
        names.flush()
    }

    /// Writes objects, and roots and dependent handles after them.
    fn write_objects<W: Write>(&mut self, sink: &mut Sink<'_, W>, records: &[ClassRecord]) -> Result<()> {
        let mut statics = Statics::new(std::mem::take(&mut self.content.roots.statics));
        let mut references = Vec::new();
        let kinds = &self.content.kinds;
        self.content.heap.for_each(|object, targets| {
            let Some(class) = records.get(object.class as usize) else { return Ok(()) };
            references.clear();
            let is_placed = class.is_array()
                && !targets.is_empty()
                && statics.place(object.address, object.size_bytes, targets, &mut references);
            if !is_placed {
                let offsets = (class.first_offset_bytes()..).step_by(8);
                let all = offsets.zip(targets);
                references
                    .extend(all.map(|(offset_bytes, target)| Reference { offset_bytes, target: *target }));
            }
            let record = ObjectRecord {
                address: object.address,
                class: object.class,
                size_units: size_units(object.size_bytes),
                length: kinds.length(class.id, object.size_bytes),
                ..ObjectRecord::default()
            };
            sink.object(class, &record, &references)
        })?;
        let roots = &self.content.roots;
        roots.roots.iter().try_for_each(|root| sink.root(root))?;
        roots.edges.iter().try_for_each(|edge| sink.edge(edge))?;
        for field in statics.unplaced() {
            sink.root(&RootRecord {
                address: field.object,
                kind: RootRecord::STATIC,
                flags: 0,
                id: field.slot,
            })?;
        }
        let mut names = NamesOut::new(sink.writer);
        for field in statics.all() {
            names.static_field(field.slot, field.name.clone(), field.is_thread)?;
        }
        names.flush()
    }
}
