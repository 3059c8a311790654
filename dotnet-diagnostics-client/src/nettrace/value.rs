//! The fields of a payload and their values. A struct has fields, and a field can be a struct.

use std::time::{Duration, SystemTime};

use super::bytes::{Bytes, Malformed, Result};
use super::field::{ArrayLength, Field, FieldType, Sizes};
use super::text::Text;
use super::trace;
use crate::guid::Guid;

/// The value of a field. Texts, arrays and structs are slices of the payload and are decoded when they are used.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Any number but 0 is true.
    Bool(bool),
    /// A signed number of any size.
    Int(i64),
    /// An unsigned number of any size.
    Uint(u64),
    /// An address, or another value that has the size of a pointer.
    Pointer(u64),
    /// A floating-point number of four bytes.
    F32(f32),
    /// A floating-point number of eight bytes.
    F64(f64),
    /// A point in time, in steps of 100 ns or 1 ms. Times that [`SystemTime`] cannot represent are 1970.
    Time(SystemTime),
    /// A GUID.
    Guid(Guid),
    /// A text, or a code unit of one.
    Text(Text<'a>),
    /// An array of bytes.
    Bytes(&'a [u8]),
    /// Any other array.
    Array(Array<'a>),
    /// Fields within the field.
    Struct(Fields<'a>),
}

impl<'a> Value<'a> {
    /// A number that is not negative: of [`Uint`](Self::Uint), [`Pointer`](Self::Pointer), [`Int`](Self::Int), or
    /// [`Bool`](Self::Bool) as 0 or 1.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Uint(value) | Self::Pointer(value) => Some(value),
            Self::Int(value) => value.try_into().ok(),
            Self::Bool(value) => Some(value.into()),
            _ => None,
        }
    }

    /// A number of any kind as floating point. Large integers lose their last digits.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Uint(value) => Some(value as f64),
            Self::Int(value) => Some(value as f64),
            Self::F32(value) => Some(value.into()),
            Self::F64(value) => Some(value),
            _ => None,
        }
    }

    /// The text.
    pub fn as_text(&self) -> Option<Text<'a>> {
        match *self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// An array in a payload.
#[derive(Clone)]
pub struct Array<'a> {
    element: &'a FieldType,
    len: usize,
    /// At the first element.
    bytes: Bytes<'a>,
    sizes: Sizes,
}

impl<'a> Array<'a> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + 'a {
        let Self { element, len, mut bytes, sizes } = *self;
        (0..len).map_while(move |_| read(element, &mut bytes, sizes, &|_| None).ok())
    }
}

impl PartialEq for Array<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Structs without a name within each other that are read as one.
const MAX_UNNAMED: usize = 8;

/// The fields of an event or of a struct in it, as names and values, in their order in the payload.
///
/// It ends before the first field that the payload does not have or that has an unknown type;
/// [`unread_fields`](Self::unread_fields) then says how many are left. The fields of a struct that has no name come as if
/// they were the event's own. So an event of EventCounters has one field, the struct `Payload`, with `Name`, `Mean` or
/// `Increment`, and others.
#[derive(Clone)]
pub struct Fields<'a> {
    fields: &'a [Field],
    next: usize,
    /// At the next field, in the whole payload.
    bytes: Bytes<'a>,
    /// At the first field.
    start: Bytes<'a>,
    sizes: Sizes,
    /// The fields after a struct without a name.
    outer: [&'a [Field]; MAX_UNNAMED],
    depth: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(fields: &'a [Field], bytes: Bytes<'a>, sizes: Sizes) -> Self {
        Self { fields, next: 0, bytes, start: bytes, sizes, outer: [&[]; MAX_UNNAMED], depth: 0 }
    }

    /// How many fields of the definition have not come. After the last one that can be read: how many cannot.
    pub fn unread_fields(&self) -> usize {
        let outer: usize = self.outer[..self.depth].iter().map(|fields| fields.len()).sum();
        self.fields.len() - self.next + outer
    }

    /// The bytes of the payload after the fields that have come. After the last one this is what the definition does
    /// not mention: later versions of an event append fields.
    pub fn unread_bytes(&self) -> &'a [u8] {
        self.bytes.rest()
    }

    /// The value of the first field with this name, among those that have not come yet. The position does not change.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.clone().find_map(|(known, value)| (known == name).then_some(value))
    }

    /// The fields of an event that the stream itself defines. An `EventSource` with a manifest writes a bool in four
    /// bytes, one that describes itself in one byte, and the stream does not say which it is: only one of them uses up
    /// the payload.
    pub(super) fn of_stream(fields: &'a [Field], bytes: Bytes<'a>, sizes: Sizes) -> Self {
        let usual = Self::new(fields, bytes, sizes);
        if !fields.iter().any(Field::has_bool) || usual.is_exact() {
            return usual;
        }
        let other = Self::new(fields, bytes, Sizes { bool: 1, ..sizes });
        if other.is_exact() { other } else { usual }
    }

    /// Whether the fields use up the payload.
    fn is_exact(&self) -> bool {
        let mut end = self.clone();
        end.skip_all().is_ok() && end.bytes.is_empty()
    }

    pub(super) fn bytes(&self) -> Bytes<'a> {
        self.bytes
    }

    /// Goes to the end.
    pub(super) fn skip_all(&mut self) -> Result<()> {
        while self.advance()?.is_some() {}
        Ok(())
    }

    /// The next field. `None` after the last.
    fn advance(&mut self) -> Result<Option<(&'a str, Value<'a>)>> {
        loop {
            let Some(field) = self.fields.get(self.next) else {
                let Some(depth) = self.depth.checked_sub(1) else { return Ok(None) };
                (self.fields, self.next, self.depth) = (self.outer[depth], 0, depth);
                continue;
            };
            if let (true, FieldType::Struct(inner)) = (field.name.is_empty(), &field.field_type) {
                let place = self.outer.get_mut(self.depth);
                *place.ok_or(Malformed("structs without names are nested too deeply"))? =
                    &self.fields[self.next + 1..];
                (self.fields, self.next, self.depth) = (inner, 0, self.depth + 1);
                continue;
            }
            let mut bytes = self.bytes;
            let value = read(&field.field_type, &mut bytes, self.sizes, &|index| self.number(index))?;
            self.bytes = bytes;
            self.next += 1;
            if matches!(field.field_type, FieldType::Padding { .. }) {
                continue;
            }
            return Ok(Some((&field.name, value)));
        }
    }

    /// The number in an earlier field of this struct. Only manifests need it, which have no structs without names.
    fn number(&self, index: u16) -> Option<u64> {
        let index = usize::from(index);
        let mut again = Self::new(self.fields.get(..self.next)?, self.start, self.sizes);
        again.nth(index).and_then(|(_, value)| value.as_u64())
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().ok().flatten()
    }
}

impl PartialEq for Fields<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.clone().eq(other.clone())
    }
}

/// Gives the number in an earlier field of the same struct.
type Earlier<'f> = &'f dyn Fn(u16) -> Option<u64>;

/// Reads a value. `bytes` is positioned in the whole payload.
pub(super) fn read<'a>(
    field_type: &'a FieldType,
    bytes: &mut Bytes<'a>,
    sizes: Sizes,
    earlier: Earlier<'_>,
) -> Result<Value<'a>> {
    Ok(match field_type {
        FieldType::Bool if sizes.bool == 1 => Value::Bool(bytes.u8()? != 0),
        FieldType::Bool => Value::Bool(bytes.u32()? != 0),
        FieldType::Utf16Unit => Value::Text(Text::utf16(bytes.take(2)?)),
        FieldType::Utf8Unit => Value::Text(Text::utf8(bytes.take(1)?)),
        FieldType::I8 => Value::Int(i8::from_le_bytes(bytes.array()?).into()),
        FieldType::U8 => Value::Uint(bytes.u8()?.into()),
        FieldType::I16 => Value::Int(bytes.i16()?.into()),
        FieldType::U16 => Value::Uint(bytes.u16()?.into()),
        FieldType::I32 => Value::Int(i32::from_le_bytes(bytes.array()?).into()),
        FieldType::U32 => Value::Uint(bytes.u32()?.into()),
        FieldType::I64 => Value::Int(bytes.i64()?),
        FieldType::U64 => Value::Uint(bytes.u64()?),
        FieldType::VarInt => Value::Int(bytes.varint()?),
        FieldType::VarUint => Value::Uint(bytes.varu64()?),
        FieldType::Pointer if sizes.pointer == 4 => Value::Pointer(bytes.u32()?.into()),
        FieldType::Pointer => Value::Pointer(bytes.u64()?),
        FieldType::F32 => Value::F32(f32::from_le_bytes(bytes.array()?)),
        FieldType::F64 => Value::F64(f64::from_le_bytes(bytes.array()?)),
        FieldType::FileTime => Value::Time(file_time(bytes.i64()?)),
        FieldType::SystemTime => {
            let mut parts = [0; 8];
            for part in &mut parts {
                *part = bytes.i16()?;
            }
            Value::Time(trace::system_time(trace::unix_ns(parts)))
        }
        FieldType::Guid => Value::Guid(Guid::from_bytes(bytes.array()?)),
        FieldType::Utf16 => Value::Text(Text::utf16(bytes.until_nul16()?)),
        FieldType::Utf8 => Value::Text(Text::utf8(bytes.until_nul8()?)),
        FieldType::Struct(fields) => {
            let whole = Fields::new(fields, *bytes, sizes);
            let mut end = whole.clone();
            end.skip_all()?;
            *bytes = end.bytes();
            Value::Struct(whole)
        }
        FieldType::Array(array) => {
            let (element, length) = (&array.element, array.length);
            read_array(element, length, bytes, sizes, earlier)?
        }
        FieldType::Padding { .. } => {
            Value::Bytes(bytes.take(field_type.fixed_size(sizes).unwrap_or_default())?)
        }
        FieldType::Unknown(_) => return Err(Malformed("a field of an unknown type")),
    })
}

fn read_array<'a>(
    element: &'a FieldType,
    length: ArrayLength,
    bytes: &mut Bytes<'a>,
    sizes: Sizes,
    earlier: Earlier<'_>,
) -> Result<Value<'a>> {
    let len = match length {
        ArrayLength::Prefixed => bytes.u16()?.into(),
        ArrayLength::Fixed(len) => len.into(),
        ArrayLength::Field(index) => earlier(index)
            .and_then(|len| usize::try_from(len).ok())
            .ok_or(Malformed("the field with an array's length is no number"))?,
        ArrayLength::RelativeLocation | ArrayLength::DataLocation => {
            return elsewhere(element, length, bytes, sizes);
        }
    };
    let first = *bytes;
    match element.fixed_size(sizes) {
        Some(size) => drop(bytes.take(len.saturating_mul(size))?),
        None => skip_elements(element, len, bytes, sizes)?,
    }
    Ok(array(element, len, first, *bytes, sizes))
}

/// Elements without bytes would let a few bytes stand for billions of them.
fn skip_elements<'a>(element: &'a FieldType, len: usize, bytes: &mut Bytes<'a>, sizes: Sizes) -> Result<()> {
    for _ in 0..len {
        let before = bytes.position();
        read(element, bytes, sizes, &|_| None)?;
        if bytes.position() == before {
            return Err(Malformed("an array has elements without bytes"));
        }
    }
    Ok(())
}

/// An array whose bytes are not at its place.
fn elsewhere<'a>(
    element: &'a FieldType,
    length: ArrayLength,
    bytes: &mut Bytes<'a>,
    sizes: Sizes,
) -> Result<Value<'a>> {
    let (offset, size) = (usize::from(bytes.u16()?), usize::from(bytes.u16()?));
    let from = if length == ArrayLength::DataLocation { 0 } else { bytes.position() };
    let mut first = *bytes;
    first.go_to(from + offset);
    let mut end = first;
    end.take(size)?;
    let element_bytes = element
        .fixed_size(sizes)
        .filter(|bytes| *bytes > 0)
        .ok_or(Malformed("an array elsewhere in the payload has elements without a fixed size"))?;
    Ok(array(element, size / element_bytes, first, end, sizes))
}

fn array<'a>(
    element: &'a FieldType,
    len: usize,
    first: Bytes<'a>,
    end: Bytes<'a>,
    sizes: Sizes,
) -> Value<'a> {
    match element {
        FieldType::Utf16Unit => Value::Text(Text::utf16(first.between(&end))),
        FieldType::Utf8Unit => Value::Text(Text::utf8(first.between(&end))),
        FieldType::U8 => Value::Bytes(first.between(&end)),
        _ => Value::Array(Array { element, len, bytes: first, sizes }),
    }
}

/// A Windows FILETIME: units of 100 ns since 1601.
fn file_time(ticks: i64) -> SystemTime {
    const UNIX_EPOCH_TICKS: i64 = 116_444_736_000_000_000;
    let since = ticks.saturating_sub(UNIX_EPOCH_TICKS);
    let (seconds, rest) = (since.unsigned_abs() / 10_000_000, since.unsigned_abs() % 10_000_000);
    let distance = Duration::new(seconds, rest as u32 * 100);
    let time = match since {
        0.. => SystemTime::UNIX_EPOCH.checked_add(distance),
        _ => SystemTime::UNIX_EPOCH.checked_sub(distance),
    };
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}
