//! Writes a whole graph: cuts what it is given into frames, and counts it.

use std::io::Write;

use super::class::ClassRecord;
use super::edge::EdgeRecord;
use super::end::EndRecord;
use super::frame::FrameKind;
use super::identity::IdentityRecord;
use super::names::Names;
use super::objects::ObjectRecord;
use super::objects_encoder::ObjectsEncoder;
use super::range::RangeRecord;
use super::records::{Encoder, Record};
use super::references::Reference;
use super::root::RootRecord;
use super::text::TextRecord;
use super::writer::Writer;
use crate::error::Result;

/// Writes objects, roots and all else into a `.gcgraph` file, for who has no ready frames.
///
/// ```
/// use dotnet_heap_graph::format::{ClassRecord, GraphWriter, ObjectRecord, Reference};
///
/// # fn main() -> dotnet_heap_graph::Result<()> {
/// let mut writer = GraphWriter::new(Vec::new())?;
/// let node = ClassRecord { index: 0, id: 1, size_units: 3, ..Default::default() };
/// writer.class(&node)?;
/// let object = ObjectRecord { address: 0x1000, size_units: 3, ..Default::default() };
/// writer.object(&node, &object, &[Reference { offset_bytes: 8, target: 0x1000 }])?;
/// let file: Vec<u8> = writer.finish()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GraphWriter<W> {
    writer: Writer<W>,
    classes: Encoder<ClassRecord>,
    objects: ObjectsEncoder,
    roots: Encoder<RootRecord>,
    edges: Encoder<EdgeRecord>,
    ranges: Encoder<RangeRecord>,
    end: EndRecord,
}

impl<W: Write> GraphWriter<W> {
    /// Writes the head of the file.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(output: W) -> Result<Self> {
        Ok(Self {
            writer: Writer::new(output)?,
            classes: Encoder::new(),
            objects: ObjectsEncoder::new(),
            roots: Encoder::new(),
            edges: Encoder::new(),
            ranges: Encoder::new(),
            end: EndRecord::default(),
        })
    }

    /// Writes what was taken of which process.
    ///
    /// # Errors
    /// The output cannot be written, or the JSON is too large.
    pub fn info(&mut self, info: &serde_json::Value) -> Result<()> {
        self.writer.write_frame(FrameKind::INFO, info.to_string().as_bytes())
    }

    /// Writes names. More than a frame can have are to be given in parts.
    ///
    /// # Errors
    /// The output cannot be written, or the names are too large.
    pub fn names(&mut self, names: &Names) -> Result<()> {
        let json = serde_json::to_vec(names).map_err(std::io::Error::from)?;
        self.writer.write_frame(FrameKind::NAMES, &json)
    }

    /// Writes a class. Their indexes count from 0, and each comes before its first object.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn class(&mut self, class: &ClassRecord) -> Result<()> {
        self.end.classes += 1;
        push(&mut self.writer, &mut self.classes, class)
    }

    /// Writes an object of a class, and its references in the order of their offsets.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn object(
        &mut self,
        class: &ClassRecord,
        object: &ObjectRecord,
        references: &[Reference],
    ) -> Result<()> {
        let size_units = if class.varies() { object.size_units } else { class.size_units };
        self.end.objects += 1;
        self.end.object_bytes += size_units * 8;
        self.end.references += references.len() as u64;
        self.end.strings += u64::from(class.is_string());
        let more = self.objects.push(class, object, references);
        if self.objects.is_full() {
            self.flush_objects()?;
        }
        more.iter().try_for_each(|payload| self.writer.write_frame(FrameKind::MORE, payload))
    }

    /// Writes a root.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn root(&mut self, root: &RootRecord) -> Result<()> {
        self.end.roots += 1;
        push(&mut self.writer, &mut self.roots, root)
    }

    /// Writes a reference that is in no field.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn edge(&mut self, edge: &EdgeRecord) -> Result<()> {
        self.end.edges += 1;
        push(&mut self.writer, &mut self.edges, edge)
    }

    /// Writes the place of a generation.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn range(&mut self, range: &RangeRecord) -> Result<()> {
        push(&mut self.writer, &mut self.ranges, range)
    }

    /// Writes contents of strings, as many as fit into a frame.
    ///
    /// # Errors
    /// The output cannot be written, or the contents are too large.
    pub fn texts(&mut self, texts: &[TextRecord<'_>]) -> Result<()> {
        let mut encoder = Encoder::new();
        texts.iter().for_each(|text| encoder.push(text));
        self.writer.write_frame(FrameKind::TEXTS, &encoder.take())
    }

    /// Writes which objects were in an earlier graph, as [`Writer::write_identity`] does.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn identity(&mut self, objects: impl IntoIterator<Item = IdentityRecord>) -> Result<()> {
        self.writer.write_identity(objects)
    }

    /// Writes what is left, and the frame `END`.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.flush_objects()?;
        flush(&mut self.writer, &mut self.roots)?;
        flush(&mut self.writer, &mut self.edges)?;
        flush(&mut self.writer, &mut self.ranges)?;
        self.writer.finish(self.end)
    }

    fn flush_objects(&mut self) -> Result<()> {
        flush(&mut self.writer, &mut self.classes)?;
        if self.objects.is_empty() {
            return Ok(());
        }
        self.writer.write_frame(FrameKind::OBJECTS, &self.objects.take())
    }
}

fn push<'a, W: Write, T: Record<'a>>(
    writer: &mut Writer<W>,
    encoder: &mut Encoder<T>,
    record: &T,
) -> Result<()> {
    encoder.push(record);
    if encoder.is_full() { flush(writer, encoder) } else { Ok(()) }
}

fn flush<'a, W: Write, T: Record<'a>>(writer: &mut Writer<W>, encoder: &mut Encoder<T>) -> Result<()> {
    if encoder.is_empty() {
        return Ok(());
    }
    writer.write_frame(T::KIND, &encoder.take())
}
