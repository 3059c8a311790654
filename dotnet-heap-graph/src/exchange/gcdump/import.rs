//! Makes a `.gcgraph` file out of a `.gcdump` file.

use std::collections::HashMap;
use std::io::{Read, Seek, Write};

use super::description::Description;
use super::graph::Contents;
use super::roots::{Group, is_com, static_field, within};
use super::type_names::as_in_csharp;
use crate::exchange::classes::{Draft, size_units};
use crate::exchange::names::NamesOut;
use crate::exchange::sink::{Sink, is_possible};
use crate::exchange::{Counts, Error, Result};
use crate::format::{ClassRecord, GraphWriter, ObjectRecord, RangeRecord, Reference, RootRecord};

/// dotnet-gcdump and PerfView make several types of one that has large objects: `Byte[] (Bytes > 10K)`.
const SUFFIX: &str = " (Bytes > ";

/// Writes all that a `.gcdump` file has: classes, objects, references, roots and the ranges of the generations. `INFO` and
/// the end of the file are left to the caller.
///
/// Static fields are roots of the kind [`RootRecord::STATIC`]; the file does not tell their addresses, so their slots are
/// numbers from 1.
///
/// # Errors
/// The files cannot be read or written; the file is no `.gcdump` file, has an unknown version, is cut or makes no sense, or
/// is of a 32-bit process.
pub fn read<W: Write>(input: impl Read + Seek, writer: &mut GraphWriter<W>) -> Result<(Description, Counts)> {
    let contents = Contents::read(input)?;
    let mut import = Import::new(&contents, Sink::new(writer));
    import.find_objects()?;
    import.write_classes()?;
    import.write_objects()?;
    import.write_roots()?;
    import.write_ranges()?;
    let counts = import.sink.counts;
    Ok((contents.description, counts))
}

struct Import<'a, 'w, W> {
    contents: &'a Contents,
    sink: Sink<'w, W>,
    /// Of each type: its class, or that its nodes stand for groups of roots.
    classes_of: Vec<Option<u32>>,
    /// With name and module.
    classes: Vec<(Draft, Option<String>, Option<u32>)>,
    /// Of each class that has objects.
    records: Vec<Option<ClassRecord>>,
    /// The nodes that are objects, in the order of their addresses.
    order: Vec<u32>,
}

impl<'a, 'w, W: Write> Import<'a, 'w, W> {
    fn new(contents: &'a Contents, sink: Sink<'w, W>) -> Self {
        let mut known = HashMap::new();
        let (mut classes_of, mut classes) = (Vec::new(), Vec::new());
        for (number, kind) in (0_u32..).zip(&contents.types) {
            let name = kind.name.as_deref();
            let name = name.map(|name| name.split_once(SUFFIX).map_or(name, |(name, _)| name));
            if name.is_some_and(is_com) {
                classes_of.push(None);
                continue;
            }
            // Types without a name are all different.
            let key = name.map_or(Err(number), |name| Ok((name, kind.module)));
            let class = *known.entry(key).or_insert_with(|| {
                let is_array = name.is_some_and(|name| name.ends_with(']') && !name.starts_with('['));
                let flags = if is_array { ClassRecord::ARRAY } else { 0 };
                let id = u64::from(number) + 1;
                classes.push((Draft::new(id, flags), name.map(as_in_csharp), kind.module));
                classes.len() as u32 - 1
            });
            classes_of.push(Some(class));
        }
        Self { contents, sink, classes_of, classes, records: Vec::new(), order: Vec::new() }
    }

    /// The class of a node. `None`: it stands for a group of roots.
    fn class_of(&self, kind: u32) -> Option<u32> {
        self.classes_of.get(kind as usize).copied().flatten()
    }

    /// Finds the objects, and which sizes each class has.
    fn find_objects(&mut self) -> Result<()> {
        let mut budget = self.contents.budget();
        for (node, address) in (0..).zip(&self.contents.addresses) {
            if *address == 0 || !self.contents.is_defined(node) {
                continue;
            }
            let found = self.contents.node(node, None, &mut budget)?;
            let Some(class) = self.class_of(found.kind) else { continue };
            if !is_possible(*address) {
                self.sink.counts.impossible += 1;
                continue;
            }
            if let Some((draft, ..)) = self.classes.get_mut(class as usize) {
                draft.saw(size_units(found.size_bytes.into()));
            }
            self.order.push(node);
        }
        let contents = self.contents;
        self.order.sort_unstable_by_key(|node| (contents.address(*node), *node));
        let before = self.order.len();
        self.order.dedup_by_key(|node| contents.address(*node));
        self.sink.counts.impossible += (before - self.order.len()) as u64;
        Ok(())
    }

    fn write_classes(&mut self) -> Result<()> {
        let mut indexes = 0..;
        for (draft, ..) in &self.classes {
            let index = if draft.has_objects() { indexes.next() } else { None };
            let record = index.map(|index| draft.record(index));
            record.iter().try_for_each(|record| self.sink.class(record))?;
            self.records.push(record);
        }
        let mut names = NamesOut::new(self.sink.writer);
        for (record, (_, name, module)) in self.records.iter().zip(std::mem::take(&mut self.classes)) {
            let module = module.and_then(|module| self.contents.modules.get(module as usize)).cloned();
            if let (Some(record), Some(name)) = (record, name) {
                names.class(record.index, name, module)?;
            }
        }
        names.flush()
    }

    fn write_objects(&mut self) -> Result<()> {
        let is_object = self.is_object();
        let (mut children, mut references) = (Vec::new(), Vec::new());
        let mut budget = self.contents.budget();
        for node in std::mem::take(&mut self.order) {
            let found = self.contents.node(node, Some(&mut children), &mut budget)?;
            let class = self.class_of(found.kind).and_then(|class| self.records.get(class as usize));
            let Some(Some(class)) = class else { continue };
            references.clear();
            let mut offset_bytes = class.first_offset_bytes();
            for child in &children {
                if !is_object.get(*child as usize).is_some_and(|is_object| *is_object) {
                    self.sink.counts.references_to_nowhere += 1;
                    continue;
                }
                references.push(Reference { offset_bytes, target: self.contents.address(*child) });
                offset_bytes += 8;
            }
            let object = ObjectRecord {
                address: self.contents.address(node),
                class: class.index,
                size_units: size_units(found.size_bytes.into()),
                ..ObjectRecord::default()
            };
            self.sink.object(class, &object, &references)?;
        }
        Ok(())
    }

    /// Of each node whether it is an object. A node at the address of another is none.
    fn is_object(&self) -> Vec<bool> {
        let mut is_object = vec![false; self.contents.places.len()];
        for node in &self.order {
            if let Some(is_object) = is_object.get_mut(*node as usize) {
                *is_object = true;
            }
        }
        is_object
    }

    /// Follows the nodes that stand for groups of roots down to the objects.
    fn write_roots(&mut self) -> Result<()> {
        let contents = self.contents;
        let Some(root) = u32::try_from(contents.root).ok().filter(|root| contents.has(*root)) else {
            return Err(Error::Malformed { offset: 0, why: "there is no node of the roots" });
        };
        let mut budget = contents.budget();
        let (mut children, mut statics) = (Vec::new(), HashMap::new());
        let mut seen = vec![false; contents.places.len()];
        if let Some(seen) = seen.get_mut(root as usize) {
            *seen = true;
        }
        let mut waiting = vec![(root, Group::default())];
        while let Some((node, outer)) = waiting.pop() {
            if !contents.is_defined(node) {
                self.sink.counts.references_to_nowhere += u64::from(contents.address(node) != 0);
                continue;
            }
            let found = contents.node(node, Some(&mut children), &mut budget)?;
            let name = contents.types.get(found.kind as usize).and_then(|kind| kind.name.as_deref());
            let mut group = within(outer, name.unwrap_or_default());
            if let Some(field) = name.and_then(static_field) {
                // By its type: many nodes with one long name would make a large file out of a small one.
                let next = statics.len() as u64 + 1;
                group.id = statics.entry(found.kind).or_insert((next, field, group.is_thread)).0;
            }
            for child in &children {
                if self.is_group(*child) {
                    if let Some(seen) = seen.get_mut(*child as usize).filter(|seen| !**seen) {
                        *seen = true;
                        waiting.push((*child, group));
                    }
                    continue;
                }
                let Group { kind, flags, id, .. } = group;
                self.sink.root(&RootRecord { address: contents.address(*child), kind, flags, id })?;
            }
        }
        let mut statics: Vec<_> = statics.into_values().collect();
        statics.sort_unstable();
        let mut names = NamesOut::new(self.sink.writer);
        for (slot, name, is_thread) in statics {
            names.static_field(slot, as_in_csharp(name), is_thread)?;
        }
        names.flush()
    }

    fn is_group(&self, node: u32) -> bool {
        if self.contents.address(node) == 0 || !self.contents.is_defined(node) {
            return true;
        }
        let mut budget = self.contents.budget();
        let found = self.contents.node(node, None, &mut budget);
        found.is_ok_and(|found| self.class_of(found.kind).is_none())
    }

    fn write_ranges(&mut self) -> Result<()> {
        for segment in &self.contents.segments {
            let mut start = segment.start;
            // The oldest generation comes first.
            for (generation, end) in (0..5).zip(segment.generation_ends).rev() {
                let end = end.min(segment.end);
                let Some(used_bytes) = end.checked_sub(start).filter(|bytes| *bytes > 0) else { continue };
                let range = RangeRecord { generation, start, used_bytes, reserved_bytes: used_bytes };
                self.sink.writer.range(&range)?;
                start = end;
            }
        }
        Ok(())
    }
}
