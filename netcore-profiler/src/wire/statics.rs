//! The values of static fields.

use super::batch::row;
use super::payload::field;
use super::typed_root::Generation;

/// Which fields a batch has. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StaticsPhase(pub u8);

impl StaticsPhase {
    /// Fields whose value has changed since it was last sent.
    pub const CHANGES: Self = Self(0);
    /// All fields; one without a row is null.
    pub const FULL: Self = Self(1);
}

field! { StaticsPhase }

/// Value of a static field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticRow {
    /// [`FieldDef::field`](super::FieldDef::field).
    pub field: u32,
    /// Address of the object after the collection; 0: null.
    pub object: u64,
    /// Class of the object; 0: unknown.
    pub class_id: u64,
    /// Its size in bytes; 0: unknown.
    pub bytes: u64,
    /// Generation of the object.
    pub generation: Generation,
}

row! { StaticRow, 29 bytes, StaticsPhase: field, object, class_id, bytes, generation }
