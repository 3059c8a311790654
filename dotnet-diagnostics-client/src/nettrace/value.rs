//! Values of fields.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::bytes::{Bytes, Malformed, Result};
use super::field::{ArrayLength, FieldType, Sizes};
use super::fields::Fields;
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

/// In one line. Texts are in quotes, and control characters in them are escaped, so that it is safe in a terminal.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Uint(value) => value.fmt(f),
            Self::Pointer(value) => write!(f, "{value:#x}"),
            Self::F32(value) => value.fmt(f),
            Self::F64(value) => value.fmt(f),
            Self::Time(time) => match time.duration_since(SystemTime::UNIX_EPOCH) {
                Ok(after) => write!(f, "{:.7} s", after.as_secs_f64()),
                Err(before) => write!(f, "-{:.7} s", before.duration().as_secs_f64()),
            },
            Self::Guid(guid) => guid.fmt(f),
            Self::Text(text) => fmt::Debug::fmt(text, f),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Array(array) => separated(f, '[', ']', array.iter(), |f, value| value.fmt(f)),
            Self::Struct(fields) => {
                separated(f, '{', '}', fields.clone(), |f, (name, value)| write!(f, "{name}={value}"))
            }
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    start: char,
    end: char,
    items: impl Iterator<Item = T>,
    write: impl Fn(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{start}")?;
    for (index, item) in items.enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    write!(f, "{end}")
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

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Array<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
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
