//! Event definitions of versions 4 and 5.

use super::bytes::{Bytes, Malformed, Result};
use super::metadata::{Field, FieldType, Metadata};

/// Objects within objects are read to this depth.
const MAX_DEPTH: u32 = 8;
/// Shortest fields: a count that does not fit the record is refused before memory is allocated for it.
const MIN_FIELD_V1_BYTES: usize = 6;
const MIN_FIELD_V2_BYTES: usize = 10;
const TAG_OPCODE: u8 = 1;
const TAG_PARAMETERS: u8 = 2;

/// Parses the payload of a metadata event.
pub(super) fn parse(payload: &[u8]) -> Result<Metadata> {
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
    // Events are understood without their fields: a list of fields that cannot be read is left out.
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

fn field_count(bytes: &mut Bytes<'_>, min_field_bytes: usize, depth: u32) -> Result<u32> {
    let count = bytes.u32()?;
    if count as usize > bytes.remaining() / min_field_bytes || depth > MAX_DEPTH {
        return Err(Malformed("a field list is longer than its record"));
    }
    Ok(count)
}

fn fields_v1(bytes: &mut Bytes<'_>, depth: u32) -> Result<Vec<Field>> {
    (0..field_count(bytes, MIN_FIELD_V1_BYTES, depth)?)
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
    (0..field_count(bytes, MIN_FIELD_V2_BYTES, depth)?)
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
