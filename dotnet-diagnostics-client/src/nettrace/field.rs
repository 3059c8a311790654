//! Fields of events and their types.

/// Memory of an entry of a hash table and of the allocator's bookkeeping for a piece of memory, in bytes.
pub(super) const OVERHEAD_BYTES: usize = 64;

/// One field of an event's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Name of the field, of at most 256 characters. Empty for a struct around all other fields, as EventCounters have.
    pub name: Box<str>,
    /// Type of the field.
    pub field_type: FieldType,
}

/// Type of a field, which says how its value is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldType {
    /// 0 or 1 in four bytes, or in one, as [`Event::fields`](super::Event::fields) finds out.
    Bool,
    /// A code unit of UTF-16, two bytes.
    Utf16Unit,
    /// A code unit of UTF-8 (version 6).
    Utf8Unit,
    /// Signed, one byte.
    I8,
    /// Unsigned, one byte.
    U8,
    /// Signed, two bytes.
    I16,
    /// Unsigned, two bytes.
    U16,
    /// Signed, four bytes.
    I32,
    /// Unsigned, four bytes.
    U32,
    /// Signed, eight bytes.
    I64,
    /// Unsigned, eight bytes.
    U64,
    /// Signed, zigzag LEB128 (version 6).
    VarInt,
    /// Unsigned, LEB128 (version 6).
    VarUint,
    /// As many bytes as a pointer of the traced process has (the runtime's manifest).
    Pointer,
    /// Floating point, four bytes.
    F32,
    /// Floating point, eight bytes.
    F64,
    /// Units of 100 ns since 1601 in eight bytes, as `EventSource` writes it.
    FileTime,
    /// Year to millisecond in eight 16-bit numbers (version 6).
    SystemTime,
    /// 16 bytes.
    Guid,
    /// UTF-16 that ends with a NUL.
    Utf16,
    /// UTF-8 that ends with a NUL (the runtime's manifest).
    Utf8,
    /// Fields one after another.
    Struct(Vec<Field>),
    /// Elements of one type.
    Array(Box<ArrayType>),
    /// Bytes without a meaning before an aligned field, by the size of a pointer. [`Fields`](super::Fields) leaves them
    /// out (the runtime's manifest).
    Padding {
        /// In a process with 32 bits.
        bytes_32: u8,
        /// In a process with 64 bits.
        bytes_64: u8,
    },
    /// A type code that this reader does not know. The field and those after it cannot be read.
    Unknown(u32),
}

/// Type of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayType {
    /// Type of the elements.
    pub element: FieldType,
    /// Where the number of elements is.
    pub length: ArrayLength,
}

/// Where the number of an array's elements is, and where the elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayLength {
    /// Two bytes with the number, and then the elements.
    Prefixed,
    /// This number, in the definition (version 6, and the runtime's manifest).
    Fixed(u16),
    /// In the field of the same struct that has this index, which comes earlier (the runtime's manifest).
    Field(u16),
    /// Elsewhere in the payload: four bytes with an offset from their end, and a length in bytes (version 6).
    RelativeLocation,
    /// Elsewhere in the payload: four bytes with an offset from its start, and a length in bytes (version 6).
    DataLocation,
}

/// Sizes in bytes that the stream determines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// 4 or 8.
    pub(super) pointer: u8,
    /// 4 or 1.
    pub(super) bool: u8,
}

impl Sizes {
    /// Those of a process in which a pointer has so many bytes.
    pub(super) fn new(pointer: u8) -> Self {
        Self { pointer, bool: 4 }
    }
}

impl Field {
    pub(super) fn new(name: impl Into<Box<str>>, field_type: FieldType) -> Self {
        Self { name: name.into(), field_type }
    }

    /// Whether it is a bool or has one in it.
    pub(super) fn has_bool(&self) -> bool {
        self.field_type.has_bool()
    }

    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + OVERHEAD_BYTES + self.name.len() + self.field_type.memory()
    }
}

impl FieldType {
    /// The type with a code of the format: a .NET `TypeCode`, or a number that the format adds. Those that have parts
    /// (object and arrays) are the caller's.
    pub(super) fn from_code(code: u32, version6: bool) -> Self {
        match code {
            3 => Self::Bool,
            4 => Self::Utf16Unit,
            5 => Self::I8,
            6 => Self::U8,
            7 => Self::I16,
            8 => Self::U16,
            9 => Self::I32,
            10 => Self::U32,
            11 => Self::I64,
            12 => Self::U64,
            13 => Self::F32,
            14 => Self::F64,
            // A decimal, which an EventSource writes as a floating-point number.
            15 if !version6 => Self::F64,
            16 if version6 => Self::SystemTime,
            16 => Self::FileTime,
            17 => Self::Guid,
            18 => Self::Utf16,
            20 if version6 => Self::VarInt,
            21 if version6 => Self::VarUint,
            23 if version6 => Self::Utf8Unit,
            other => Self::Unknown(other),
        }
    }

    pub(super) fn array(element: Self, length: ArrayLength) -> Self {
        Self::Array(Box::new(ArrayType { element, length }))
    }

    /// Size in bytes of every value, if all have the same.
    pub(super) fn fixed_size(&self, sizes: Sizes) -> Option<usize> {
        Some(match self {
            Self::I8 | Self::U8 | Self::Utf8Unit => 1,
            Self::I16 | Self::U16 | Self::Utf16Unit => 2,
            Self::Bool => sizes.bool.into(),
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::FileTime => 8,
            Self::Guid | Self::SystemTime => 16,
            Self::Pointer => sizes.pointer.into(),
            Self::Padding { bytes_32, .. } if sizes.pointer == 4 => (*bytes_32).into(),
            Self::Padding { bytes_64, .. } => (*bytes_64).into(),
            _ => return None,
        })
    }

    /// Whether no value of it takes any bytes.
    pub(super) fn is_without_bytes(&self) -> bool {
        match self {
            Self::Struct(fields) => fields.is_empty(),
            Self::Array(array) => match array.length {
                ArrayLength::Fixed(len) => len == 0 || array.element.is_without_bytes(),
                _ => false,
            },
            _ => false,
        }
    }

    fn has_bool(&self) -> bool {
        match self {
            Self::Bool => true,
            Self::Struct(fields) => fields.iter().any(Field::has_bool),
            Self::Array(array) => array.element.has_bool(),
            _ => false,
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::Struct(fields) => fields.iter().map(Field::memory).sum(),
            Self::Array(array) => size_of::<ArrayType>() + OVERHEAD_BYTES + array.element.memory(),
            _ => 0,
        }
    }
}
