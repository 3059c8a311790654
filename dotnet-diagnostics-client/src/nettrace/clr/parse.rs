//! Reads the table of events. Its lines are described in `xtask/src/clr_events`.

use super::corrections::correct;
use super::table::{ClrEvent, ClrKeyword, Provider, Table};
use crate::nettrace::field::{ArrayLength, Field, FieldType};

/// Reads the whole table. A line that is not understood is left out, which a unit test excludes.
pub(super) fn table(text: &'static str) -> Table {
    let mut table = Table::default();
    let mut provider = "";
    for line in text.lines() {
        let Some((kind, rest)) = line.split_once(' ') else { continue };
        let current: &mut Provider = match kind {
            "provider" => {
                provider = rest;
                continue;
            }
            _ => table.providers.entry(provider).or_default(),
        };
        match kind {
            "keyword" => current.keywords.extend(keyword(rest)),
            "event" => {
                if let Some(mut event) = event(rest) {
                    correct(&mut event);
                    current.events.entry(event.id).or_default().push(event);
                }
            }
            _ => {}
        }
    }
    for versions in table.providers.values_mut().flat_map(|provider| provider.events.values_mut()) {
        versions.sort_by_key(|event| event.version);
    }
    table
}

fn keyword(line: &'static str) -> Option<ClrKeyword> {
    let (mask, name) = line.split_once(' ')?;
    Some(ClrKeyword { name, mask: hex(mask)? })
}

fn event(line: &'static str) -> Option<ClrEvent> {
    let mut parts = line.splitn(7, ' ');
    let mut next = || parts.next();
    let (id, version, name, display_name) = (next()?, next()?, next()?, next()?);
    let (level, keywords) = (next()?, next()?);
    let mut text = next().unwrap_or_default();
    let fields = fields(&mut text)?;
    text.is_empty().then_some(ClrEvent {
        name,
        display_name,
        id: id.parse().ok()?,
        version: version.parse().ok()?,
        level: level.parse().ok()?,
        keywords: hex(keywords)?,
        fields,
    })
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Fields up to the end or to a closing brace.
fn fields(text: &mut &'static str) -> Option<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    loop {
        *text = text.trim_start();
        if text.is_empty() || text.starts_with('}') {
            return Some(fields);
        }
        let (name, rest) = text.split_once(':')?;
        *text = rest;
        let (name, length) = match name.strip_suffix(']').map(|name| name.split_once('[')) {
            Some(Some((name, length))) => (name, Some(array_length(length, &fields)?)),
            Some(None) => return None,
            None => (name, None),
        };
        let field_type = field_type(text)?;
        let field_type = match length {
            Some(length) => FieldType::array(field_type, length),
            None => field_type,
        };
        fields.push(Field::new(name, field_type));
    }
}

/// A number, or the name of an earlier field.
fn array_length(length: &str, earlier: &[Field]) -> Option<ArrayLength> {
    if let Ok(fixed) = length.parse() {
        return Some(ArrayLength::Fixed(fixed));
    }
    let index = earlier.iter().position(|field| &*field.name == length)?;
    index.try_into().ok().map(ArrayLength::Field)
}

fn field_type(text: &mut &'static str) -> Option<FieldType> {
    if let Some(inner) = text.strip_prefix('{') {
        *text = inner;
        let fields = fields(text)?;
        *text = text.strip_prefix('}')?;
        return Some(FieldType::Struct(fields));
    }
    let end = text.find([' ', '}']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    *text = rest;
    Some(match name {
        "bool" => FieldType::Bool,
        "i8" => FieldType::I8,
        "u8" | "bytes" => FieldType::U8,
        "i16" => FieldType::I16,
        "u16" => FieldType::U16,
        "i32" => FieldType::I32,
        "u32" => FieldType::U32,
        "i64" => FieldType::I64,
        "u64" => FieldType::U64,
        "f32" => FieldType::F32,
        "f64" => FieldType::F64,
        "ptr" => FieldType::Pointer,
        "guid" => FieldType::Guid,
        "utf16" => FieldType::Utf16,
        "utf8" => FieldType::Utf8,
        _ => return None,
    })
}
