//! Descriptions of events, which streams carry themselves.

use std::collections::HashMap;

use super::blob::BlobReader;
use super::bytes::{Bytes, Malformed, Result};
use super::deferred::LeftOut;
use super::v6;

/// Objects nested deeper than this are not followed.
const MAX_DEPTH: u32 = 8;
const TAG_OPCODE: u8 = 1;
const TAG_PARAMETERS: u8 = 2;

/// One kind of event, as the stream describes it.
///
/// The runtime's own providers leave the name empty and list no fields: their events are known by provider, event id
/// and version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// Id of this description in the stream.
    pub id: u32,
    /// Name of the provider, such as `Microsoft-Windows-DotNETRuntime`.
    pub provider: Box<str>,
    /// Number of the event in its provider.
    pub event_id: u32,
    /// Name of the event, often empty.
    pub name: Box<str>,
    /// Keyword bits the event belongs to.
    pub keywords: u64,
    /// Version of the payload's layout.
    pub version: u32,
    /// Verbosity: 1 critical to 5 verbose, 0 always.
    pub level: u32,
    /// Opcode, where the stream tells it.
    pub opcode: Option<u8>,
    /// Fields of the payload in order, as far as they are described.
    pub fields: Vec<Field>,
}

/// One field of an event's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub field_type: FieldType,
    /// Type of the elements, where it is an array.
    pub element_type: Option<FieldType>,
    /// Fields of the object (or of each element), where it is one.
    pub fields: Vec<Field>,
}

/// Type of a field: a .NET `TypeCode`, or one of the numbers the format adds. An open set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldType(pub u32);

#[allow(missing_docs)]
impl FieldType {
    pub const OBJECT: Self = Self(1);
    /// Four bytes, 0 or 1.
    pub const BOOLEAN: Self = Self(3);
    pub const UTF16_CODE_UNIT: Self = Self(4);
    pub const INT8: Self = Self(5);
    pub const UINT8: Self = Self(6);
    pub const INT16: Self = Self(7);
    pub const UINT16: Self = Self(8);
    pub const INT32: Self = Self(9);
    pub const UINT32: Self = Self(10);
    pub const INT64: Self = Self(11);
    pub const UINT64: Self = Self(12);
    pub const FLOAT32: Self = Self(13);
    pub const FLOAT64: Self = Self(14);
    pub const DATE_TIME: Self = Self(16);
    pub const GUID: Self = Self(17);
    /// UTF-16 up to a NUL.
    pub const UTF16_STRING: Self = Self(18);
    /// A 16-bit count, then the elements.
    pub const ARRAY: Self = Self(19);
    /// Zigzag LEB128 (version 6, as all below).
    pub const VAR_INT: Self = Self(20);
    pub const VAR_UINT: Self = Self(21);
    /// As many elements as the description says.
    pub const FIXED_ARRAY: Self = Self(22);
    pub const UTF8_CODE_UNIT: Self = Self(23);
    pub const RELATIVE_LOCATION: Self = Self(24);
    pub const DATA_LOCATION: Self = Self(25);
}

/// Memory of a map's entry, and what the allocator adds to each piece.
const OVERHEAD_BYTES: usize = 64;

impl Metadata {
    /// Memory that it takes once it is kept: a field of a few bytes in the stream can be many times as large here.
    fn memory(&self) -> usize {
        let own = size_of::<Self>() + OVERHEAD_BYTES + self.provider.len() + self.name.len();
        own + self.fields.iter().map(Field::memory).sum::<usize>()
    }
}

impl Field {
    fn memory(&self) -> usize {
        let own = size_of::<Self>() + OVERHEAD_BYTES + self.name.len();
        own + self.fields.iter().map(Self::memory).sum::<usize>()
    }
}

/// All descriptions of a stream. Earlier ones stay, so that held events keep theirs when an id is defined again.
#[derive(Debug, Default)]
pub(super) struct MetadataTable {
    records: Vec<Metadata>,
    by_id: HashMap<u32, u32>,
    last: Option<(u32, u32)>,
    bytes: usize,
    /// Whose payloads are left out.
    defer: Option<fn(&Metadata) -> bool>,
    deferred: Vec<u32>,
}

impl MetadataTable {
    /// Descriptions that come from now on are shown to `which`.
    pub(super) fn defer(&mut self, which: fn(&Metadata) -> bool) {
        self.defer = Some(which);
    }

    /// Ids of those among the last ones that `which` picked.
    pub(super) fn take_deferred(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.deferred)
    }

    /// Fails where all of them together exceed `limit` bytes of memory.
    pub(super) fn insert(&mut self, record: Metadata, limit: usize) -> Result<()> {
        self.last = None;
        if self.defer.is_some_and(|which| which(&record)) {
            self.deferred.push(record.id);
        }
        if self.get_index(record.id).and_then(|index| self.records.get(index as usize)) == Some(&record) {
            return Ok(());
        }
        let bytes = self.bytes.saturating_add(record.memory());
        if bytes > limit {
            return Err(Malformed("there are more event descriptions than the reader's limit allows"));
        }
        self.bytes = bytes;
        let index =
            u32::try_from(self.records.len()).map_err(|_| Malformed("too many event descriptions"))?;
        self.by_id.insert(record.id, index);
        self.records.push(record);
        Ok(())
    }

    /// Index of what is defined as `id` at present.
    #[inline]
    pub(super) fn index_of(&mut self, id: u32) -> Option<u32> {
        match self.last {
            Some((last, index)) if last == id => Some(index),
            _ => {
                let index = self.get_index(id)?;
                self.last = Some((id, index));
                Some(index)
            }
        }
    }

    fn get_index(&self, id: u32) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// The record with an index that [`index_of`](Self::index_of) gave.
    #[inline]
    pub(super) fn record(&self, index: u32) -> &Metadata {
        &self.records[index as usize]
    }

    /// Reads a metadata block. A record that is damaged is left out, and the first such is told.
    pub(super) fn read_v4(
        &mut self,
        block: &[u8],
        limit: usize,
    ) -> std::result::Result<(), (usize, Malformed)> {
        let mut blobs = BlobReader::new(block, false).map_err(|why| (0, why))?;
        let mut first_damage = Ok(());
        loop {
            let at = blobs.position();
            let Some(blob) = blobs.next(block, &LeftOut::default()).map_err(|why| (at, why))? else { break };
            let payload = Bytes::starting_at(block, blob.payload as usize).take(blob.payload_size as usize);
            let read = payload.and_then(|payload| {
                let record = parse_v4(payload)?;
                self.insert(record, limit)
            });
            first_damage = first_damage.and(read.map_err(|why| (at, why)));
        }
        first_damage
    }

    pub(super) fn read_v6(&mut self, bytes: &mut Bytes<'_>, limit: usize) -> Result<()> {
        v6::metadata_header(bytes)?;
        while !bytes.is_empty() {
            self.insert(v6::metadata_row(bytes)?, limit)?;
        }
        Ok(())
    }

    /// Forgets every id (version 6 can ask for it). Only while no event is held.
    pub(super) fn clear(&mut self) {
        *self = Self { defer: self.defer, ..Self::default() };
    }
}

/// The payload of a metadata event in versions 4 and 5.
fn parse_v4(payload: &[u8]) -> Result<Metadata> {
    let mut bytes = Bytes::new(payload);
    let mut metadata = Metadata {
        id: bytes.u32()?,
        provider: bytes.utf16z()?,
        event_id: bytes.u32()?,
        name: bytes.utf16z()?,
        keywords: bytes.u64()?,
        version: bytes.u32()?,
        level: bytes.u32()?,
        opcode: None,
        fields: Vec::new(),
    };
    // What events mean does not hang on the fields: a list that cannot be read is left out, the event stays.
    if let Ok(fields) = fields_v1(&mut bytes, 0) {
        metadata.fields = fields;
        while !bytes.is_empty() && tag(&mut bytes, &mut metadata).is_ok() {}
    }
    Ok(metadata)
}

fn tag(bytes: &mut Bytes<'_>, metadata: &mut Metadata) -> Result<()> {
    let len = bytes.u32()? as usize;
    let kind = bytes.u8()?;
    let mut content = bytes.split(len)?;
    match kind {
        TAG_OPCODE => metadata.opcode = Some(content.u8()?),
        TAG_PARAMETERS => {
            if let Ok(fields) = fields_v2(&mut content, 0) {
                metadata.fields = fields;
            }
        }
        _ => {}
    }
    Ok(())
}

fn fields_v1(bytes: &mut Bytes<'_>, depth: u32) -> Result<Vec<Field>> {
    let count = bytes.u32()?;
    // A field has at least 6 bytes: a count beyond that is not worth an allocation.
    if count as usize > bytes.remaining() / 6 || depth > MAX_DEPTH {
        return Err(Malformed("a field list is longer than its record"));
    }
    (0..count)
        .map(|_| {
            let field_type = FieldType(bytes.u32()?);
            let fields = match field_type {
                FieldType::OBJECT => fields_v1(bytes, depth + 1)?,
                _ => Vec::new(),
            };
            Ok(Field { name: bytes.utf16z()?, field_type, element_type: None, fields })
        })
        .collect()
}

fn fields_v2(bytes: &mut Bytes<'_>, depth: u32) -> Result<Vec<Field>> {
    let count = bytes.u32()?;
    if count as usize > bytes.remaining() / 10 || depth > MAX_DEPTH {
        return Err(Malformed("a field list is longer than its record"));
    }
    (0..count)
        .map(|_| {
            let size = (bytes.u32()? as usize)
                .checked_sub(4)
                .ok_or(Malformed("a field is shorter than its size"))?;
            let mut field = bytes.split(size)?;
            let name = field.utf16z()?;
            let field_type = FieldType(field.u32()?);
            let element_type = match field_type {
                FieldType::ARRAY => Some(FieldType(field.u32()?)),
                _ => None,
            };
            let fields = match element_type.unwrap_or(field_type) {
                FieldType::OBJECT => fields_v2(&mut field, depth + 1)?,
                _ => Vec::new(),
            };
            Ok(Field { name, field_type, element_type, fields })
        })
        .collect()
}
