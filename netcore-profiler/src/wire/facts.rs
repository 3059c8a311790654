//! What identifiers stand for, and the stacks that induced collections: without names.

use super::cursor::{Reader, WireError, Writer};
use super::payload::{Field, List, field, fields, payload};

/// The maximum number of frames in a [`Trigger`].
pub const MAX_FRAMES: usize = 32;

/// A list of identifiers, at most 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids<'a>(List<'a, u64>);

impl<'a> Ids<'a> {
    /// Identifiers to write.
    #[must_use]
    pub const fn new(ids: &'a [u64]) -> Self {
        Self(List::Native(ids))
    }

    /// The identifiers.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        self.0.iter()
    }

    /// The number of identifiers.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// Whether the list is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl<'a> Field<'a> for Ids<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let count = usize::from(reader.u8()?);
        Ok(Self(List::Bytes(reader.take(count.saturating_mul(8))?)))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        const MAX_IDS: usize = u8::MAX as usize;
        writer.u8(u8::try_from(self.len()).unwrap_or(u8::MAX));
        self.iter().take(MAX_IDS).for_each(|id| writer.u64(id));
    }
}

/// What is known of a class. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClassShape(pub u8);

impl ClassShape {
    /// A type definition, or an instantiation of a generic one.
    pub const PLAIN: Self = Self(0);
    /// An array.
    pub const ARRAY: Self = Self(1);
    /// Nothing is known.
    pub const UNKNOWN: Self = Self(2);
}

field! { ClassShape }

/// A class: the type of an object, or a type argument or element type of another class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class<'a> {
    /// Its identifier, never 0.
    pub class_id: u64,
    /// What is known.
    pub shape: ClassShape,
    /// Module of the type definition; 0 for arrays.
    pub module_id: u64,
    /// `mdTypeDef`; 0 for arrays.
    pub token: u32,
    /// Number of dimensions of an array.
    pub rank: u8,
    /// Class of an array's elements; 0: only `element_type` is known.
    pub element_class: u64,
    /// `CorElementType` of an array's elements.
    pub element_type: u8,
    /// Type arguments; 0: unknown.
    pub args: Ids<'a>,
}

impl Class<'_> {
    /// A class of which nothing else is known.
    pub const fn unknown(class_id: u64) -> Self {
        Class {
            class_id,
            shape: ClassShape::UNKNOWN,
            module_id: 0,
            token: 0,
            rank: 0,
            element_class: 0,
            element_type: 0,
            args: Ids::new(&[]),
        }
    }
}

payload! { CLASS, Class<'a>: class_id, shape, module_id, token, rank, element_class, element_type, args }

/// What is known of a method. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MethodShape(pub u8);

impl MethodShape {
    /// It has a definition.
    pub const NAMED: Self = Self(0);
    /// A dynamic method, without metadata.
    pub const DYNAMIC: Self = Self(1);
    /// Code of the runtime itself, or nothing is known.
    pub const UNNAMED: Self = Self(2);
}

field! { MethodShape }

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method<'a> {
    /// Its identifier, never 0.
    pub function_id: u64,
    /// What is known.
    pub shape: MethodShape,
    /// Its exact class; 0: only the definition is known.
    pub class_id: u64,
    /// Module of the definition.
    pub module_id: u64,
    /// `mdMethodDef`.
    pub token: u32,
    /// Its own type arguments; 0: unknown.
    pub args: Ids<'a>,
}

payload! { METHOD, Method<'a>: function_id, shape, class_id, module_id, token, args }

/// In [`Trigger::frames`]: between two methods there is code that the runtime does not name. On .NET 8 and 9 that is a
/// dynamic method, or a stub of the runtime that passes a call on. No `FunctionID` has this value.
pub const CODE_WITHOUT_METHOD: u64 = 1;

/// The program induced a collection. This event comes before that collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger<'a> {
    /// `Reason` of the runtime's `GCTriggered` event.
    pub reason: u32,
    /// The operating system's id of the thread; 0: unknown.
    pub os_thread: u64,
    /// `FunctionID`s of its frames, innermost first; 0: a frame without one; or [`CODE_WITHOUT_METHOD`].
    pub frames: Ids<'a>,
}

payload! { TRIGGER, Trigger<'a>: reason, os_thread, frames }
