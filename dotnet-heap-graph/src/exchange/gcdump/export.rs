//! Makes a `.gcdump` file out of a `.gcgraph` file.

use std::io::Write;

use super::blob::{Blob, Size};
use super::description::Description;
use super::file::{File, NodeKind};
use super::groups::Groups;
use super::slots::Slots;
use super::tables::{addresses, kinds};
use crate::exchange::{Counts, Result};
use crate::format::{
    ClassRecord, EdgeRecord, Frame, FrameBuffer, FrameKind, MoreDecoder, ObjectRecord, ObjectsDecoder,
    RangeRecord, Reader, Reference, RootRecord, StaticName, malformed,
};

/// Writes a `.gcdump` file with the objects, references, roots and generations of a graph. A dependent handle becomes a
/// reference from its key to its value. Weak roots are left out, as dotnet-gcdump does.
///
/// It needs about 30 bytes of memory for each object.
///
/// # Errors
/// The files cannot be read or written; the `.gcgraph` file makes no sense; or [`Error::TooLarge`](crate::exchange::Error::TooLarge), as a `.gcdump` file can
/// have 2 GiB of nodes, about 100 million objects. Of a file that is cut or damaged, what is whole is written.
pub fn write<W: Write>(reader: &Reader, description: &Description, output: W) -> Result<(W, Counts)> {
    let classes = reader.classes()?;
    let mut export = Export::new(reader, &classes)?;
    export.read_references()?;
    export.read_roots()?;
    let (kinds, counts) = export.write_groups()?;
    let mut ranges = Vec::new();
    reader.for_each_record(|range: RangeRecord| ranges.push(range))?;
    let Export { addresses, blob, first_group, .. } = export;
    let file = File { kinds: &kinds, blob: &blob, addresses: &addresses, root: first_group, ranges: &ranges };
    Ok((file.write(description, output)?, counts))
}

struct Export<'a> {
    reader: &'a Reader,
    classes: &'a [ClassRecord],
    /// Sorted. The place of an address is the number of its node.
    addresses: Vec<u64>,
    /// From and to, sorted.
    edges: Vec<(u32, u32)>,
    statics: Vec<StaticName>,
    /// The static fields that references are in, and roots that point into objects: by their addresses.
    slots: Slots,
    interior: Slots,
    groups: Groups,
    blob: Blob,
    first_group: u32,
    counts: Counts,
}

/// An object whose references may go on in the next frame.
#[derive(Default)]
struct Pending {
    object: ObjectRecord,
    children: Vec<u32>,
}

impl<'a> Export<'a> {
    fn new(reader: &'a Reader, classes: &'a [ClassRecord]) -> Result<Self> {
        let addresses = addresses(reader, classes)?;
        let mut statics = Vec::new();
        reader.for_each_names(|names| statics.extend(names.statics))?;
        statics.sort_by_key(|field| field.slot);
        let mut interior = Vec::new();
        reader.for_each_record(|root: RootRecord| {
            if root.flags & RootRecord::INTERIOR != 0 && addresses.binary_search(&root.address).is_err() {
                interior.push(root.address);
            }
        })?;
        let mut export = Self {
            reader,
            classes,
            edges: Vec::new(),
            slots: Slots::new(statics.iter().map(|field| field.slot).collect()),
            interior: Slots::new(interior),
            statics,
            groups: Groups::new(),
            blob: Blob::new(addresses.len()),
            first_group: 0,
            addresses,
            counts: Counts::default(),
        };
        export.read_edges()?;
        Ok(export)
    }

    /// The number of the object at an address. An object that is not there is counted.
    fn number(&mut self, address: u64) -> Option<u32> {
        let found = self.addresses.binary_search(&address).ok();
        self.counts.references_to_nowhere += u64::from(found.is_none());
        found.map(|number| number as u32)
    }

    fn read_edges(&mut self) -> Result<()> {
        let mut edges = Vec::new();
        self.reader.for_each_record(|edge: EdgeRecord| {
            if let (Some(from), Some(to)) = (self.number(edge.from), self.number(edge.to)) {
                edges.push((from, to));
            }
        })?;
        edges.sort_unstable();
        self.counts.edges = edges.len() as u64;
        self.edges = edges;
        Ok(())
    }

    fn read_references(&mut self) -> Result<()> {
        let mut buffer = FrameBuffer::default();
        let mut pending: Option<Pending> = None;
        for frame in self.reader.frames() {
            match frame.kind() {
                FrameKind::OBJECTS => self.read_frame(frame, &mut buffer, &mut pending)?,
                FrameKind::MORE => {
                    let decoder = MoreDecoder::new(self.reader.payload(frame, &mut buffer)?);
                    let decoder = decoder.map_err(|why| malformed(frame, why))?;
                    let owner =
                        pending.as_mut().filter(|pending| pending.object.address == decoder.address());
                    let Some(owner) = owner else { continue };
                    for reference in decoder {
                        let reference = reference.map_err(|why| malformed(frame, why))?;
                        self.reference(&mut owner.children, &owner.object, reference);
                    }
                }
                _ => {}
            }
        }
        pending.map_or(Ok(()), |pending| self.object(pending).map(drop))
    }

    fn read_frame(
        &mut self,
        frame: &Frame,
        buffer: &mut FrameBuffer,
        pending: &mut Option<Pending>,
    ) -> Result<()> {
        let payload = self.reader.payload(frame, buffer)?;
        let mut objects = ObjectsDecoder::new(payload, self.classes).map_err(|why| malformed(frame, why))?;
        while let Some(object) = objects.next_object() {
            let object = object.map_err(|why| malformed(frame, why))?;
            let children = match pending.take() {
                Some(before) => self.object(before)?,
                None => Vec::new(),
            };
            let mut next = Pending { object, children };
            while let Some(reference) = objects.next_reference() {
                let reference = reference.map_err(|why| malformed(frame, why))?;
                self.reference(&mut next.children, &object, reference);
            }
            *pending = Some(next);
        }
        Ok(())
    }

    fn reference(&mut self, children: &mut Vec<u32>, object: &ObjectRecord, reference: Reference) {
        let Some(target) = self.number(reference.target) else { return };
        children.push(target);
        self.slots.found(object.address.wrapping_add(reference.offset_bytes), target);
    }

    /// Encodes an object. Returns memory for the references of the next.
    fn object(&mut self, pending: Pending) -> Result<Vec<u32>> {
        let Pending { object, mut children } = pending;
        let Ok(number) = self.addresses.binary_search(&object.address) else {
            self.counts.impossible += 1;
            children.clear();
            return Ok(children);
        };
        let number = number as u32;
        let size_bytes = object.size_units.saturating_mul(8);
        let start = self.edges.partition_point(|(from, _)| *from < number);
        let edges = self.edges.iter().skip(start).take_while(|(from, _)| *from == number);
        children.extend(edges.map(|(_, to)| *to));
        let varies = self.classes.get(object.class as usize).is_none_or(ClassRecord::varies);
        let size = if varies { Size::Own(size_bytes) } else { Size::OfType(size_bytes) };
        if self.blob.node(number, object.class + 1, size, &children)? {
            // Objects may lie over each other in a file that is wrong.
            let next = self.addresses.get(number as usize + 1).copied().unwrap_or(u64::MAX);
            let end = object.address.saturating_add(size_bytes).min(next);
            self.interior.found_all(object.address..end, number);
            self.counts.objects += 1;
            self.counts.object_bytes = self.counts.object_bytes.saturating_add(size_bytes);
        } else {
            self.counts.impossible += 1;
        }
        children.clear();
        Ok(children)
    }

    fn read_roots(&mut self) -> Result<()> {
        let reader = self.reader;
        reader.for_each_record(|root: RootRecord| {
            if root.flags & RootRecord::WEAK != 0 {
                return;
            }
            let inner = self.interior.get(root.address);
            let Some(object) = inner.or_else(|| self.number(root.address)) else { return };
            self.counts.roots += 1;
            if root.kind == RootRecord::STATIC {
                let field = self.statics.binary_search_by_key(&root.id, |field| field.slot).ok();
                self.groups.static_field(root.id, field.and_then(|field| self.statics.get(field)), object);
            } else {
                self.groups.root(&root, object);
            }
        })?;
        for field in &self.statics {
            if let Some(object) = self.slots.get(field.slot) {
                self.groups.static_field(field.slot, Some(field), object);
            }
        }
        Ok(())
    }

    /// Encodes the groups of roots behind the objects. Returns all types.
    fn write_groups(&mut self) -> Result<(Vec<NodeKind>, Counts)> {
        let mut kinds = kinds(self.reader, self.classes)?;
        self.counts.classes = self.classes.len() as u64;
        let groups = std::mem::take(&mut self.groups.nodes);
        self.counts.references = self.blob.references;
        self.first_group = self.blob.add_room(groups.len())?;
        for (number, group) in (0..).zip(&groups) {
            let mut children: Vec<u32> =
                group.groups.iter().map(|group| self.first_group + *group as u32).collect();
            children.extend(&group.objects);
            self.blob.node(self.first_group + number, kinds.len() as u32, Size::OfType(0), &children)?;
            kinds.push(NodeKind { name: group.name.clone(), module: None, size_bytes: 0 });
        }
        self.addresses.resize(self.blob.places().len(), 0);
        self.counts.oversized = self.blob.oversized;
        Ok((kinds, self.counts))
    }
}
