//! Reads lists of fields in event definitions.

use super::bytes::{Bytes, Malformed, Result};
use super::field::{ArrayLength, Field, FieldType};

/// Types within types are read to this depth.
const MAX_DEPTH: u32 = 8;
/// Fields of one definition, with those of structs. A million fields in one definition would cost a million steps for
/// each of its events. ETW allows 128.
const MAX_FIELDS: usize = 1024;

const OBJECT: u32 = 1;
const ARRAY: u32 = 19;
const FIXED_ARRAY: u32 = 22;
const RELATIVE_LOCATION: u32 = 24;
const DATA_LOCATION: u32 = 25;

/// Arrays elsewhere in the payload that one definition can have: each can name the same bytes.
const MAX_LOCATED: usize = 32;
/// Longer names are cut. They appear once for each element of an array of structs.
const MAX_NAME_CHARS: usize = 256;

/// The three encodings of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Versions 4 and 5, without arrays.
    V1,
    /// Version 5: each field has its size.
    V2,
    /// Version 6: the same with smaller numbers.
    V6,
}

/// Reads the list of fields of one definition.
pub(super) fn fields(bytes: &mut Bytes<'_>, encoding: Encoding) -> Result<Vec<Field>> {
    FieldReader { encoding, left: MAX_FIELDS, located: MAX_LOCATED, in_array: false }.fields(bytes, 0)
}

struct FieldReader {
    encoding: Encoding,
    /// How many fields the definition may still have.
    left: usize,
    /// How many of its fields may still be elsewhere in the payload.
    located: usize,
    /// Within the element of an array.
    in_array: bool,
}

impl FieldReader {
    fn fields(&mut self, bytes: &mut Bytes<'_>, depth: u32) -> Result<Vec<Field>> {
        let count = match self.encoding {
            Encoding::V1 | Encoding::V2 => bytes.u32()? as usize,
            Encoding::V6 => bytes.u16()?.into(),
        };
        if depth > MAX_DEPTH {
            return Err(Malformed("fields are nested too deeply"));
        }
        self.left = self
            .left
            .checked_sub(count)
            .ok_or(Malformed("a definition has more fields than the reader's limit allows"))?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let mut field = self.field(bytes, depth)?;
            // Fields without bytes say nothing, and could be repeated without end.
            if !field.field_type.is_without_bytes() {
                if let Some((end, _)) = field.name.char_indices().nth(MAX_NAME_CHARS) {
                    field.name = field.name[..end].into();
                }
                fields.push(field);
            }
        }
        Ok(fields)
    }

    fn field(&mut self, bytes: &mut Bytes<'_>, depth: u32) -> Result<Field> {
        match self.encoding {
            // The name follows the type.
            Encoding::V1 => {
                let field_type = self.field_type(bytes, depth)?;
                Ok(Field::new(bytes.utf16z()?, field_type))
            }
            // The size counts itself.
            Encoding::V2 => {
                let size = (bytes.u32()? as usize).checked_sub(4);
                let mut field = bytes.split(size.ok_or(Malformed("a field is shorter than its size"))?)?;
                let name = field.utf16z()?;
                Ok(Field::new(name, self.field_type(&mut field, depth)?))
            }
            Encoding::V6 => {
                let size = bytes.u16()?.into();
                let mut field = bytes.split(size)?;
                let name = field.utf8()?;
                Ok(Field::new(name, self.field_type(&mut field, depth)?))
            }
        }
    }

    fn field_type(&mut self, bytes: &mut Bytes<'_>, depth: u32) -> Result<FieldType> {
        let version6 = self.encoding == Encoding::V6;
        let code = if version6 { bytes.u8()?.into() } else { bytes.u32()? };
        let length = match code {
            OBJECT => return self.fields(bytes, depth + 1).map(FieldType::Struct),
            ARRAY if self.encoding != Encoding::V1 => ArrayLength::Prefixed,
            FIXED_ARRAY if version6 => ArrayLength::Fixed(0),
            RELATIVE_LOCATION if version6 => ArrayLength::RelativeLocation,
            DATA_LOCATION if version6 => ArrayLength::DataLocation,
            _ => return Ok(FieldType::from_code(code, version6)),
        };
        if depth > MAX_DEPTH {
            return Err(Malformed("fields are nested too deeply"));
        }
        if matches!(length, ArrayLength::RelativeLocation | ArrayLength::DataLocation) {
            match self.located.checked_sub(1).filter(|_| !self.in_array) {
                Some(left) => self.located = left,
                None => return Ok(FieldType::Unknown(code)),
            }
        }
        let within = std::mem::replace(&mut self.in_array, true);
        let element = self.field_type(bytes, depth + 1)?;
        self.in_array = within;
        // The length of such an array follows its element type.
        let length = match length {
            ArrayLength::Fixed(_) => ArrayLength::Fixed(bytes.u16()?),
            other => other,
        };
        Ok(FieldType::array(element, length))
    }
}
