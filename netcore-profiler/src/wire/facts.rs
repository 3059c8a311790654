//! What identifiers stand for, and who asked for a collection: structure, without names.

use super::cursor::{Reader, WireError, Writer};

/// The most frames of a [`Trigger`].
pub const MAX_FRAMES: usize = 32;

/// A list of identifiers, at most 255.
#[derive(Debug, Clone, Copy)]
pub struct Ids<'a>(List<'a>);

#[derive(Debug, Clone, Copy)]
enum List<'a> {
    /// Little-endian, on the wire.
    Bytes(&'a [u8]),
    Native(&'a [u64]),
}

impl<'a> Ids<'a> {
    /// Identifiers to be written.
    #[must_use]
    pub const fn new(ids: &'a [u64]) -> Self {
        Self(List::Native(ids))
    }

    /// The identifiers.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        let (bytes, native): (&[u8], &[u64]) = match self.0 {
            List::Bytes(bytes) => (bytes, &[]),
            List::Native(ids) => (&[], ids),
        };
        let ids = bytes.as_chunks::<8>().0;
        ids.iter().map(|id| u64::from_le_bytes(*id)).chain(native.iter().copied())
    }

    /// How many there are.
    #[must_use]
    pub const fn len(self) -> usize {
        match self.0 {
            List::Bytes(bytes) => bytes.len() / 8,
            List::Native(ids) => ids.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    fn decode(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let count = usize::from(reader.u8()?);
        Ok(Self(List::Bytes(reader.take(count.saturating_mul(8))?)))
    }

    fn encode(self, writer: &mut Writer<'_>) {
        const MOST: usize = u8::MAX as usize;
        writer.u8(u8::try_from(self.len()).unwrap_or(u8::MAX));
        self.iter().take(MOST).for_each(|id| writer.u64(id));
    }
}

impl PartialEq for Ids<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Ids<'_> {}

/// What is known of a class. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClassShape(pub u8);

impl ClassShape {
    /// A type definition, or an instance of a generic one.
    pub const PLAIN: Self = Self(0);
    /// An array.
    pub const ARRAY: Self = Self(1);
    /// Nothing.
    pub const UNKNOWN: Self = Self(2);
}

/// A class: the type of an object, or one that another class is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class<'a> {
    /// Its identifier, never 0.
    pub class_id: u64,
    /// What is known.
    pub shape: ClassShape,
    /// Module of the type definition; 0 of arrays.
    pub module_id: u64,
    /// `mdTypeDef`; 0 of arrays.
    pub token: u32,
    /// Number of dimensions of an array.
    pub rank: u8,
    /// Class of an array's elements; 0 where only `element_type` is known.
    pub element_class: u64,
    /// `CorElementType` of an array's elements.
    pub element_type: u8,
    /// Classes that stand for the generic parameters, 0 for one that is not known.
    pub args: Ids<'a>,
}

impl<'a> Class<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(payload);
        Ok(Self {
            class_id: r.u64()?,
            shape: ClassShape(r.u8()?),
            module_id: r.u64()?,
            token: r.u32()?,
            rank: r.u8()?,
            element_class: r.u64()?,
            element_type: r.u8()?,
            args: Ids::decode(&mut r)?,
        })
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut w = Writer::new(buffer);
        w.u64(self.class_id);
        w.u8(self.shape.0);
        w.u64(self.module_id);
        w.u32(self.token);
        w.u8(self.rank);
        w.u64(self.element_class);
        w.u8(self.element_type);
        self.args.encode(&mut w);
        w.finish()
    }
}

/// What is known of a method. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MethodShape(pub u8);

impl MethodShape {
    /// It has a definition.
    pub const NAMED: Self = Self(0);
    /// Made at run time, without metadata.
    pub const DYNAMIC: Self = Self(1);
    /// The runtime's own code, or nothing is known.
    pub const UNNAMED: Self = Self(2);
}

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method<'a> {
    /// Its identifier, never 0.
    pub function_id: u64,
    /// What is known.
    pub shape: MethodShape,
    /// The exact class it belongs to; 0 where only the definition is known.
    pub class_id: u64,
    /// Module of the definition.
    pub module_id: u64,
    /// `mdMethodDef`.
    pub token: u32,
    /// Classes that stand for its own generic parameters, 0 for one that is not known.
    pub args: Ids<'a>,
}

impl<'a> Method<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(payload);
        Ok(Self {
            function_id: r.u64()?,
            shape: MethodShape(r.u8()?),
            class_id: r.u64()?,
            module_id: r.u64()?,
            token: r.u32()?,
            args: Ids::decode(&mut r)?,
        })
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut w = Writer::new(buffer);
        w.u64(self.function_id);
        w.u8(self.shape.0);
        w.u64(self.class_id);
        w.u64(self.module_id);
        w.u32(self.token);
        self.args.encode(&mut w);
        w.finish()
    }
}

/// In [`Trigger::frames`]: between two methods there is code that the runtime does not name. On .NET 8 and 9 that is a
/// method made at run time, or the runtime's own code where it passes a call on. No `FunctionID` is that small.
pub const CODE_WITHOUT_METHOD: u64 = 1;

/// A collection was asked for by the program. It precedes that collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger<'a> {
    /// `Reason` of the runtime's `GCTriggered` event.
    pub reason: u32,
    /// The thread that asked: the system's number where the runtime told it.
    pub os_thread: u64,
    /// `FunctionID`s of its frames, innermost first; 0 for a frame without one, and [`CODE_WITHOUT_METHOD`].
    pub frames: Ids<'a>,
}

impl<'a> Trigger<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(payload);
        Ok(Self { reason: r.u32()?, os_thread: r.u64()?, frames: Ids::decode(&mut r)? })
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut w = Writer::new(buffer);
        w.u32(self.reason);
        w.u64(self.os_thread);
        self.frames.encode(&mut w);
        w.finish()
    }
}
