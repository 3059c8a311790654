//! Event definitions of versions 4 and 5.

use super::bytes::{Bytes, Result};
use super::field_codes::{Encoding, fields};
use super::metadata::Metadata;

const TAG_OPCODE: u8 = 1;
const TAG_PARAMETERS: u8 = 2;

/// Parses the payload of a metadata event.
pub(super) fn parse(payload: &[u8]) -> Result<Metadata> {
    let mut bytes = Bytes::new(payload);
    let (id, provider, event_id, name) = (bytes.u32()?, bytes.utf16z()?, bytes.u32()?, bytes.utf16z()?);
    let mut metadata = Metadata {
        keywords: bytes.u64()?,
        version: bytes.u32()?,
        level: bytes.u32()?,
        ..Metadata::new(id, provider, event_id, name)
    };
    // Events are understood without their fields: a list of fields that cannot be read is left out.
    if let Ok(fields) = fields(&mut bytes, Encoding::V1) {
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
            if let Ok(fields) = fields(&mut content, Encoding::V2) {
                metadata.fields = fields;
            }
        }
        _ => {}
    }
    Ok(())
}
