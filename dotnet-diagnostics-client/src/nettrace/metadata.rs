//! Definitions of events. A stream has them itself.

/// The definition of a kind of event in the stream.
///
/// The runtime's own providers leave the name empty and list no fields. Provider, event id and version then identify
/// the kind of event, and the layout of its payload is documented elsewhere: in `ClrEtwAll.man` of dotnet/runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// Id of this definition in the stream.
    pub id: u32,
    /// Name of the provider, such as `Microsoft-Windows-DotNETRuntime`.
    pub provider: Box<str>,
    /// Number of the event in its provider.
    pub event_id: u32,
    /// Name of the event, often empty.
    pub name: Box<str>,
    /// Keywords of the event, a bit set.
    pub keywords: u64,
    /// Version of the payload's layout.
    pub version: u32,
    /// Verbosity: 1 critical to 5 verbose, 0 always.
    pub level: u32,
    /// Opcode, if the stream has it.
    pub opcode: Option<u8>,
    /// Fields of the payload in order. Empty or incomplete if the stream does not define them.
    pub fields: Vec<Field>,
}

/// One field of an event's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Name of the field.
    pub name: Box<str>,
    /// Type of the field.
    pub field_type: FieldType,
    /// Type of the elements, if the field is an array.
    pub element_type: Option<FieldType>,
    /// Fields of the object, if the field is an object or an array of objects.
    pub fields: Vec<Field>,
}

/// Type of a field: a .NET `TypeCode`, or a number that the nettrace format adds. Other values can occur.
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
    /// UTF-16 that ends with a NUL.
    pub const UTF16_STRING: Self = Self(18);
    /// A 16-bit count and the elements.
    pub const ARRAY: Self = Self(19);
    /// Zigzag LEB128. This and the following types exist in version 6 only.
    pub const VAR_INT: Self = Self(20);
    pub const VAR_UINT: Self = Self(21);
    /// The number of elements is in the definition.
    pub const FIXED_ARRAY: Self = Self(22);
    pub const UTF8_CODE_UNIT: Self = Self(23);
    pub const RELATIVE_LOCATION: Self = Self(24);
    pub const DATA_LOCATION: Self = Self(25);
}

/// Memory of an entry of a hash table and of the allocator's bookkeeping for a piece of memory, in bytes.
const OVERHEAD_BYTES: usize = 64;

impl Metadata {
    /// Memory of the definition in bytes. It can be many times as large as the definition in the stream.
    pub(super) fn memory(&self) -> usize {
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
